// Writing sharding rules: one call lists a kind of row for every view of the shard that is asked about.
#ifndef DP_IR_OPS_SHARDING_H
#define DP_IR_OPS_SHARDING_H

#include "ir/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

// In place of a dim: the operand or result is Replicate; is Partial(sum).
enum { DP_WHOLE = -1, DP_SUMMED = -2 };

// Rows in which operand i is sharded along its dim in[i] and result i along out[i], which all have this extent. Absent
// operands and results are Replicate. What cannot be split in two is not split at all.
void dp_sharding_split(dp_sharding_rules *rules, dp_dim extent, const int *in, const int *out);
// Rows that split each dim of operand 0 but `except` (DP_WHOLE: none), and the same dim of result 0; the other operands
// and results stay whole.
void dp_sharding_split_but(dp_sharding_rules *rules, int except);
// The row of an operator that is linear in the operands of the set (bit i: operand i) taken together: they and every
// result are Partial(sum), the other operands Replicate. None when one of the set is left out or is bool.
void dp_sharding_linear(dp_sharding_rules *rules, unsigned operands);
// Whether a view divides the extent, whatever n is, and leaves more than one element to split.
bool dp_sharding_divides(dp_placement view, dp_dim extent);
// A row for placements in full; `in` and `out` are copied. A row that is listed already is not added again.
void dp_sharding_add_placed(dp_sharding_rules *rules, const dp_placement *in, const dp_placement *out);

#ifdef __cplusplus
}
#endif
#endif
