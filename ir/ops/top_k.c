// TopK: the k largest elements along `axis` (smallest when largest=0), best first, and their indices; among equals the
// first. They are sorted whatever `sorted` says. The gradient goes to the selected elements.
#include "ir/ops/elements.h"

enum { VALUES, INDICES };

static dp_status infer(dp_node *node) {
  dp_shape y = *dp_common_shape(node, 0);
  int64_t k = dp_node_int(node, "K", 0);
  char text[256];
  int axis;
  if (!dp_node_attr(node, "K")) return dp_fail(EX_DATAERR, "K is missing");
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", -1), y.rank, &axis));
  if (dp_dim_is_symbolic(y.dims[axis]) || k < 0 || k > y.dims[axis].offset)
    return dp_fail(EX_DATAERR, "%lld elements are requested along dim %d of shape %s", (long long)k, axis,
                   dp_shape_print(&y, text, sizeof text));
  y.dims[axis] = dp_dim_of(k);
  dp_common_set(node, VALUES, node->inputs[0]->type->dtype, &y);
  dp_common_set(node, INDICES, DP_INT64, &y);
  return DP_OK;
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  if (!dy[VALUES]) return;
  dp_attr axis = dp_attr_int("axis", dp_elements_axis(node, -1));
  dp_value *indices = dp_common_result(node, INDICES);
  if (!indices) {
    dp_value *again = dp_build(b, "TopK", 1, node->inputs, 2, node->n_attrs, node->attrs);
    if (b->status) return;
    indices = again->producer->outputs[INDICES];
  }
  dp_attr zeros[] = {dp_attr_dims(b->graph->arena, "shape", dp_common_shape(node, 0)),
                     dp_attr_int("dtype", dy[VALUES]->type->dtype)};
  dp_value *in[] = {dp_build(b, "dp.Fill", 0, NULL, 1, 2, zeros), indices, dy[VALUES]};
  dx[0] = dp_build(b, "ScatterElements", 3, in, 1, 1, &axis);
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, 0);
  int axis = dp_elements_axis(rules->node, -1);
  for (int d = 0; d < x->rank; d++)
    if (d != axis) dp_sharding_split(rules, x->dims[d], (int[]){d, DP_WHOLE}, (int[]){d, d});
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,7]", .attrs = "K=3", .n = 4},
    {.inputs = "float32[5,N,2]", .attrs = "K=2, axis=0, largest=0, sorted=0", .n = 3},
    {.inputs = "int32[N,6]", .attrs = "K=6, axis=1", .n = 3, .low = 0, .high = 3},
    {.inputs = "int64[9]", .attrs = "K=4, largest=0", .low = 0, .high = 3},
    {.inputs = "uint8[2,5]", .attrs = "K=1", .low = 0, .high = 200},
    {0},
};

const dp_op dp_op_TopK = {
    .name = "TopK",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 2,
    .inputs = {DP_OPERAND("X", DP_NUMBERS, 'T'), DP_AS_ATTR("K", DP_BIT(DP_INT64), false)},
    .outputs = {DP_OPERAND("Values", DP_NUMBERS, 'T'), DP_OPERAND("Indices", DP_BIT(DP_INT64), 0)},
    .attrs = {DP_INT_ATTR("axis", -1),
              {.name = "K", .kind = DP_ATTR_INT},
              DP_INT_ATTR("largest", 1),
              DP_INT_ATTR("sorted", 1)},
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
