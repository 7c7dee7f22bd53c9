// Compress {condition, axis}: the elements along `axis` where the constant condition is not 0; without axis, of all
// elements in order. Specialized into Gather.
#include "ir/ops/compose.h"

static dp_status read_attributes(const dp_node *node, int *axis, dp_dim *extent, int64_t *kept) {
  const dp_shape *x = dp_common_shape(node, 0);
  size_t count;
  const int64_t *condition = dp_node_ints(node, "condition", &count);
  *axis = -1;
  if (!dp_node_attr(node, "condition")) return dp_fail(EX_DATAERR, "condition is missing");
  if (dp_node_attr(node, "axis")) DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", 0), x->rank, axis));
  if (*axis >= 0) *extent = x->dims[*axis];
  if (*axis < 0 && !dp_shape_product(x, 0, x->rank, extent))
    return dp_fail(EX_DATAERR, "the number of elements is not of the form a * N + b");
  if (dp_dim_is_symbolic(*extent) || count > (size_t)dp_max_i64(extent->offset, 0))
    return dp_fail(EX_DATAERR, "the condition has %zu elements; there are %lld, or as many as samples", count,
                   (long long)extent->offset);
  *kept = 0;
  for (size_t i = 0; i < count; i++) *kept += condition[i] != 0;
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  int axis;
  int64_t kept;
  dp_dim extent;
  DP_TRY(read_attributes(node, &axis, &extent, &kept));
  dp_shape y = {.rank = 1};
  if (axis >= 0) y = *dp_common_shape(node, 0);
  y.dims[axis < 0 ? 0 : axis] = dp_dim_of(kept);
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  int axis;
  int64_t kept = 0, room;
  dp_dim extent;
  size_t count;
  const int64_t *condition = dp_node_ints(node, "condition", &count);
  dp_status status = read_attributes(node, &axis, &extent, &kept);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  dp_shape shape = {1, {dp_dim_of(kept)}};
  double *numbers = dp_compose_room(b, &shape, &room);
  for (size_t i = 0, k = 0; numbers && i < count; i++)
    if (condition[i]) numbers[k++] = (double)i;
  dp_value *x = axis < 0 ? dp_build_reshape(b, in[0], &(dp_shape){1, {extent}}) : in[0];
  out[0] = dp_compose_gather(b, x, dp_compose_constant(b, DP_INT64, &shape, numbers), axis < 0 ? 0 : axis);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,4]", .attrs = "condition=[1,0,1], axis=1", .n = 3},
    {.inputs = "float32[3,2]", .attrs = "condition=[0,1,1,0,1]"},
    {.inputs = "int32[N,3]", .attrs = "condition=[0,0,1], axis=-1", .n = 3, .low = -9, .high = 9},
    {.inputs = "int64[3]", .attrs = "condition=[0,1,1]", .low = -9, .high = 9},
    {.inputs = "uint8[3]", .attrs = "condition=[1,1,0]", .low = 0, .high = 255},
    {.inputs = "bool[3]", .attrs = "condition=[1,0,1]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Compress = {
    .name = "Compress",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_ANY_TYPE, 'T'), DP_AS_ATTR("condition", DP_BIT(DP_BOOL), false)},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 'T')},
    .attrs = {{.name = "axis", .kind = DP_ATTR_INT}, DP_INTS_ATTR("condition")},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
