// dp.CountRefused(data [, n]) {limit, negative, other, once} -> int64: how many elements of data a node would refuse
// (ir/graph/refusal.h): those that are not 0 .. limit - 1, nor -limit .. -1 with `negative`, nor `other`; without a
// limit those that are 0. n (dp.n) is needed where the limit depends on it. A part counts its own elements. once: a run
// that is issued before the host has seen the count goes on as if there were none.
#include "ir/graph/refusal.h"
#include "ir/ops/common.h"

static dp_status infer(dp_node *node) {
  const dp_shape scalar = {0};
  dp_shape limit = {.rank = 1};
  if (dp_node_attr(node, DP_ATTR_LIMIT)) DP_TRY(dp_common_shape_attr(node, DP_ATTR_LIMIT, &limit));
  if (limit.rank != 1) return dp_fail(EX_DATAERR, "limit has %d numbers where one is expected", limit.rank);
  if (dp_common_operand(node, 1)) DP_TRY(dp_common_expect("n", dp_common_shape(node, 1), &scalar));
  if (dp_dim_is_symbolic(limit.dims[0]) != (dp_common_operand(node, 1) != NULL))
    return dp_fail(EX_DATAERR, "operand n is needed where the limit depends on it, and nowhere else");
  dp_common_set(node, 0, DP_INT64, &scalar);
  return DP_OK;
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, 0);
  for (int d = 0; d < x->rank; d++) dp_sharding_split(rules, x->dims[d], (int[]){d, DP_WHOLE}, (int[]){DP_SUMMED});
}

static const dp_sample samples[] = {
    {.inputs = "int64[N,3]", .attrs = "limit=[5]", .n = 7, .low = -3, .high = 8},
    {.inputs = "int32[N]", .attrs = "limit=[4], negative=1", .n = 9, .low = -6, .high = 6},
    {.inputs = "int64[N,2]", .attrs = "limit=[3], other=-1", .n = 6, .low = -2, .high = 4},
    {.inputs = "int64[N], int64[]", .attrs = "limit=[N]", .n = 3, .low = 3, .high = 3.5},
    {.inputs = "int64[N], int64[]", .attrs = "limit=[2*N+1]", .n = 3, .low = 3, .high = 3.5},
    {.inputs = "int64[N,4]", .n = 5, .low = -1, .high = 1},
    {.inputs = "uint64[N,3]", .n = 5, .low = 0, .high = 2},
    {.inputs = "uint8[9]", .low = 0, .high = 2},
    {.inputs = "uint8[N,3]", .attrs = "once=1", .n = 4, .low = 0, .high = 2},
    {.inputs = "int32[]", .attrs = "limit=[1]", .low = 1, .high = 2},
    {.inputs = "int64[N,0]", .attrs = "limit=[0]", .n = 2, .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_CountRefused = {
    .name = "CountRefused",
    .domain = "dp",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("data", DP_INTS, 0), DP_OPTIONAL("n", DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("count", DP_BIT(DP_INT64), 0)},
    .attrs = {{.name = DP_ATTR_LIMIT, .kind = DP_ATTR_DIMS},
              DP_INT_ATTR(DP_ATTR_NEGATIVE, 0),
              {.name = DP_ATTR_OTHER, .kind = DP_ATTR_INT},
              DP_INT_ATTR(DP_ATTR_ONCE, 0)},
    .flags = DP_OP_COUNTS,
    .infer = infer,
    .sharding = placements,
    .samples = samples,
};
