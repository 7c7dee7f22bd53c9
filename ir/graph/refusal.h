// Data that nodes refuse, as a value of the program.
//
// Some operators do not take all data: a label that is no class, an index out of range, an integer divisor of 0
// (dp_op.refuses). Their kernels report it, but a report comes too late for a device that has updated its parameters by
// then. So a program that trains also counts such data, by a dp.CountRefused for each node that may refuse some; the
// sum of the counts, over all devices, stages and micro-batches, is the operand `skip` of every update.
#ifndef DP_IR_GRAPH_REFUSAL_H
#define DP_IR_GRAPH_REFUSAL_H

#include "ir/graph/builder.h"

#ifdef __cplusplus
extern "C" {
#endif

// Attributes of dp.CountRefused.
#define DP_ATTR_LIMIT "limit"
#define DP_ATTR_NEGATIVE "negative"
#define DP_ATTR_OTHER "other"
#define DP_ATTR_ONCE "once"

// What the node refuses; false: it takes all data.
bool dp_refusal_of(const dp_node *node, dp_refusal *refusal);
// What a dp.CountRefused counts, of its operand 0.
dp_refusal dp_refusal_counted(const dp_node *count);
// Whether the element is refused. limit: the refusal's, at the n at hand.
static inline bool dp_refusal_holds(const dp_refusal *refusal, int64_t limit, int64_t element) {
  if (!refusal->bounded) return element == 0;
  if (refusal->has_other && element == refusal->other) return false;
  return element >= limit || element < (refusal->negative ? -limit : 0);
}
// The limit at n; the largest int64 where it is larger than any.
static inline int64_t dp_refusal_limit(const dp_refusal *refusal, int64_t n) {
  int64_t limit;
  if (__builtin_mul_overflow(refusal->limit.scale, n, &limit) ||
      __builtin_add_overflow(limit, refusal->limit.offset, &limit))
    return INT64_MAX;
  return limit;
}
// Builds the count of what is refused of `data`: an int64 of rank 0.
dp_value *dp_refusal_count(dp_builder *builder, const dp_refusal *refusal, dp_value *data);
// The operand `skip` of an update; NULL: it has none.
dp_value *dp_refusal_skip(const dp_node *update);

// Counts by the value whose elements they count.
typedef struct {
  dp_arena *arena;
  int32_t n_values;
  struct dp_refusal_entry **entries;  // (n_values) by id of the value
} dp_refusal_table;

// An empty table for a graph that has no more values than now.
dp_refusal_table dp_refusal_table_make(dp_arena *arena, const dp_graph *graph);
void dp_refusal_table_add(dp_refusal_table *table, const dp_value *data, dp_value *count);
// The count of what is refused of `data`; NULL: none was added.
dp_value *dp_refusal_table_find(const dp_refusal_table *table, const dp_value *data, const dp_refusal *refusal);

#ifdef __cplusplus
}
#endif
#endif
