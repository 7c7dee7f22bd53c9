// OneHot(indices, depth, values): a new dim of extent depth at `axis`, with values[1] at the index and values[0]
// elsewhere. A negative index counts from the end; one out of range sets no element.
#include "ir/ops/common.h"

static int axis_of(const dp_node *node) {
  int64_t axis = dp_node_int(node, "axis", -1);
  return (int)(axis < 0 ? axis + dp_common_shape(node, 0)->rank + 1 : axis);
}

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  int64_t depth = dp_node_int(node, "depth", 0);
  int axis;
  dp_shape y = {.rank = x->rank + 1}, two = {.rank = 1, .dims = {dp_dim_of(2)}};
  if (y.rank > DP_MAX_RANK)
    return dp_fail(EX_DATAERR, "the result would have %d dims; up to %d are supported", y.rank, DP_MAX_RANK);
  if (depth < 1) return dp_fail(EX_DATAERR, "depth is %lld where 1 or more is expected", (long long)depth);
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", -1), y.rank, &axis));
  DP_TRY(dp_common_expect("values", dp_common_shape(node, 2), &two));
  for (int d = 0; d < y.rank; d++) y.dims[d] = d == axis ? dp_dim_of(depth) : x->dims[d - (d > axis)];
  dp_common_set(node, 0, node->inputs[2]->type->dtype, &y);
  return DP_OK;
}

// The values' gradients: dy summed over the hot positions, and over the others.
static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  static const double bits[] = {0, 1};
  dp_dtype dtype = dy[0]->type->dtype;
  int64_t axes[DP_MAX_RANK];
  int rank = dy[0]->type->shape.rank;
  dp_shape one = {.rank = 1, .dims = {dp_dim_of(1)}};
  if (node->inputs[2]->kind == DP_VALUE_CONSTANT) return;
  for (int d = 0; d < rank; d++) axes[d] = d;
  dp_tensor *tensor = dp_alloc(b->graph->arena, sizeof *tensor);
  *tensor = (dp_tensor){DP_FLOAT64, 1, {2}, sizeof bits, bits};
  dp_value *values = dp_build_cast(b, dp_graph_add_constant(b->graph, "bits", tensor), dtype);
  dp_value *in[] = {node->inputs[0], NULL, values};
  dp_value *hot = dp_build(b, "OneHot", 3, in, 1, node->n_attrs, node->attrs);
  dp_value *on = dp_build_reduce(b, "ReduceSum", dp_build2(b, "Mul", dy[0], hot), axes, (size_t)rank, false);
  dp_value *all = dp_build_reduce(b, "ReduceSum", dy[0], axes, (size_t)rank, false);
  dp_value *pair[] = {dp_build_reshape(b, dp_build2(b, "Sub", all, on), &one), dp_build_reshape(b, on, &one)};
  dp_attr axis = dp_attr_int("axis", 0);
  dx[2] = dp_build(b, "Concat", 2, pair, 1, 1, &axis);
}

static void placements(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, 0);
  int axis = axis_of(rules->node);
  for (int d = 0; d < x->rank; d++) {
    int out = d + (d >= axis);
    dp_sharding_split(rules, x->dims[d], (int[]){d, DP_WHOLE, DP_WHOLE}, &out);
  }
}

static const dp_sample samples[] = {
    {.inputs = "int64[N,2], , float32[2]", .attrs = "depth=4", .n = 4, .low = -5, .high = 5},
    {.inputs = "int32[N], , int32[2]", .attrs = "depth=5, axis=0", .n = 4, .low = 0, .high = 4},
    {.inputs = "uint8[3,2], , int64[2]", .attrs = "depth=3, axis=-2", .low = 0, .high = 2},
    {.inputs = "int64[N,2], , float32[2]", .attrs = "depth=3, axis=1", .n = 3, .low = 0, .high = 2},
    {.inputs = "int64[6], , uint8[2]", .attrs = "depth=4", .low = 0, .high = 3},
    {.inputs = "int64[6], , bool[2]", .attrs = "depth=2", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_OneHot = {
    .name = "OneHot",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("indices", DP_INTS, 0), DP_AS_ATTR("depth", DP_NUMBERS, false),
               DP_OPERAND("values", DP_ANY_TYPE, 'T')},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 'T')},
    .attrs = {DP_INT_ATTR("axis", -1), {.name = "depth", .kind = DP_ATTR_INT, .required = true}},
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
