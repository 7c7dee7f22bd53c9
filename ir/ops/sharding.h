// Helpers to write sharding rules: one call lists one kind of row for every requested view of the shard.
#ifndef DP_IR_OPS_SHARDING_H
#define DP_IR_OPS_SHARDING_H

#include "ir/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

// Instead of a dim: the operand or result is Replicate; is Partial(sum).
enum { DP_WHOLE = -1, DP_SUMMED = -2 };

// Rows in which operand i is sharded along its dim in[i] and result i along out[i], all of this extent. Absent operands
// and results are Replicate. An extent that cannot be split gets no row.
void dp_sharding_split(dp_sharding_rules *rules, dp_dim extent, const int *in, const int *out);
// Rows that split each dim of operand 0 but `except` (DP_WHOLE: none), and the same dim of result 0; the other operands
// and results stay whole.
void dp_sharding_split_but(dp_sharding_rules *rules, int except);
// The row of an operator that is linear in a set of operands (bit i: operand i) taken together: they and every result
// are Partial(sum), the other operands Replicate. No row when one of the set is omitted or is bool.
void dp_sharding_linear(dp_sharding_rules *rules, unsigned operands);
// Whether a view divides the extent, whatever n is, and leaves more than one element to split.
bool dp_sharding_divides(dp_placement view, dp_dim extent);
// A row given by complete placements; `in` and `out` are copied. A duplicate is not added.
void dp_sharding_add_placed(dp_sharding_rules *rules, const dp_placement *in, const dp_placement *out);

#ifdef __cplusplus
}
#endif
#endif
