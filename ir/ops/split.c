// Split: divides the operand along `axis` into parts of the sizes `split`; or into num_outputs equal parts, the last of
// which may be smaller; or into as many equal parts as there are results. Linear.
#include "ir/ops/split.h"

#include "ir/ops/blocks.h"

dp_status dp_split_sizes(const dp_node *node, dp_dim extent, dp_dim sizes[DP_MAX_OPERANDS]) {
  size_t count;
  const int64_t *given = dp_node_ints(node, "split", &count);
  int64_t parts = given                               ? (int64_t)count
                  : dp_node_attr(node, "num_outputs") ? dp_node_int(node, "num_outputs", 0)
                                                      : node->n_outputs;
  if (parts != node->n_outputs)
    return dp_fail(EX_DATAERR, "%lld parts are requested, but there are %d results (up to %d are supported)",
                   (long long)parts, node->n_outputs, node->op->n_outputs);
  int64_t left = extent.offset;
  if (given && dp_dim_is_symbolic(extent))
    return dp_fail(EX_DATAERR, "the extent depends on the batch: it can only be divided into equal parts");
  for (int i = 0; given && i < parts; i++) {
    if (given[i] < 0 || given[i] > left)
      return dp_fail(EX_DATAERR, "part %d has size %lld where 0 to %lld are left", i, (long long)given[i],
                     (long long)left);
    sizes[i] = dp_dim_of(given[i]);
    left -= given[i];
  }
  if (given && left)
    return dp_fail(EX_DATAERR, "the sizes of the parts add up to %lld less than the extent", (long long)left);
  if (given) return DP_OK;
  bool even = extent.offset % parts == 0 && extent.scale % parts == 0;
  if (!even && (dp_dim_is_symbolic(extent) || !dp_node_attr(node, "num_outputs")))
    return dp_fail(EX_DATAERR, "an extent of %lld%s cannot be divided into %lld equal parts", (long long)extent.offset,
                   extent.scale ? " (and samples)" : "", (long long)parts);
  int64_t size = left / parts + (left % parts != 0);
  for (int i = 0; i < parts; i++) {
    sizes[i] = even ? (dp_dim){extent.scale / parts, extent.offset / parts} : dp_dim_of(dp_min_i64(size, left));
    left -= even ? 0 : sizes[i].offset;
  }
  return DP_OK;
}

static int axis_of(const dp_node *node) {
  int64_t axis = dp_node_int(node, "axis", 0);
  return (int)(axis < 0 ? axis + dp_common_shape(node, 0)->rank : axis);
}

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, 0);
  dp_dim sizes[DP_MAX_OPERANDS];
  int axis;
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", 0), x->rank, &axis));
  DP_TRY(dp_split_sizes(node, x->dims[axis], sizes));
  for (int i = 0; i < node->n_outputs; i++) {
    dp_shape y = *x;
    y.dims[axis] = sizes[i];
    dp_common_set(node, i, node->inputs[0]->type->dtype, &y);
  }
  return DP_OK;
}

static void gradient(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  const dp_shape *x = dp_common_shape(node, 0);
  dp_dim sizes[DP_MAX_OPERANDS];
  dp_value *parts[DP_MAX_OPERANDS];
  dp_dtype dtype = node->inputs[0]->type->dtype;
  int axis = axis_of(node);
  dp_status status = dp_split_sizes(node, x->dims[axis], sizes);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  for (int i = 0; i < node->n_outputs; i++) {
    dp_shape shape = *x;
    shape.dims[axis] = sizes[i];
    dp_attr attrs[] = {dp_attr_dims(b->graph->arena, "shape", &shape), dp_attr_int("dtype", dtype)};
    parts[i] = dy[i] ? dy[i] : dp_build(b, "dp.Fill", 0, NULL, 1, 2, attrs);
  }
  dp_attr attr = dp_attr_int("axis", axis);
  dx[0] = dp_build(b, "Concat", node->n_outputs, parts, 1, 1, &attr);
}

static void placements(dp_sharding_rules *rules) {
  const dp_node *node = rules->node;
  const dp_shape *x = dp_common_shape(node, 0);
  dp_dim sizes[DP_MAX_OPERANDS];
  int axis = axis_of(node);
  dp_status status = dp_split_sizes(node, x->dims[axis], sizes);
  for (int d = 0; d < x->rank; d++) {
    if (d == axis) continue;
    int out[DP_MAX_OPERANDS];
    for (int i = 0; i < DP_MAX_OPERANDS; i++) out[i] = d;
    dp_sharding_split(rules, x->dims[d], &d, out);
  }
  bool equal = !status;
  for (int i = 1; i < node->n_outputs && equal; i++) equal = dp_dim_equal(sizes[i], sizes[0]);
  if (equal) dp_blocks_sharding(rules, axis, sizes[0], node->n_outputs, true);
  dp_sharding_linear(rules, 1);
  dp_status_free(status);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,12]", .attrs = "axis=2, split=[4,4,4]", .n = 3},
    {.inputs = "float32[N,7]", .attrs = "axis=-1, split=[2,0,5]", .n = 4},
    {.inputs = "float32[5,N]", .attrs = "num_outputs=3", .n = 3},
    {.inputs = "float32[N,6]", .attrs = "axis=1", .n = 3},
    {.inputs = "float32[N,16]", .attrs = "axis=1", .n = 2},
    {.inputs = "int32[N,8]", .attrs = "axis=1", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[8]", .low = -9, .high = 9},
    {.inputs = "int64[7]", .attrs = "num_outputs=2", .low = -9, .high = 9},
    {.inputs = "uint8[2,8]", .attrs = "axis=1", .low = 0, .high = 255},
    {.inputs = "bool[8]", .low = 0, .high = 1},
    {0},
};

#define PART DP_OPTIONAL("output", DP_ANY_TYPE, 'T')

const dp_op dp_op_Split = {
    .name = "Split",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = DP_MAX_REPEATED,
    .inputs = {DP_OPERAND("input", DP_ANY_TYPE, 'T'), DP_AS_ATTR("split", DP_BIT(DP_INT64), true)},
    .outputs = {PART, PART, PART, PART, PART, PART, PART, PART},
    .attrs = {DP_INT_ATTR("axis", 0), DP_INTS_ATTR("split"), DP_INT_ATTR("num_outputs", 0)},
    .infer = infer,
    .gradient = gradient,
    .sharding = placements,
    .samples = samples,
};
