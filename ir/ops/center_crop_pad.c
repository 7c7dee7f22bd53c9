// CenterCropPad {shape, axes}: crops each dim, or pads it with 0, to its extent, equally at both ends; an odd number
// puts the larger half at the end. Specialized into Slice and Concat.
#include "ir/ops/compose.h"

static dp_status read_attributes(const dp_node *node, dp_shape *y) {
  const dp_shape *x = dp_common_shape(node, 0);
  const dp_attr *wanted = dp_node_attr(node, "shape");
  size_t count;
  const int64_t *axes = dp_node_ints(node, "axes", &count);
  bool taken[DP_MAX_RANK] = {0}, all = !dp_node_attr(node, "axes");
  if (!wanted) return dp_fail(EX_DATAERR, "shape is missing");
  if (all) count = (size_t)x->rank;
  if (wanted->count != count || count > (size_t)x->rank)
    return dp_fail(EX_DATAERR, "shape has %zu extents for %zu axes of %d", wanted->count, count, x->rank);
  *y = *x;
  for (size_t i = 0; i < count; i++) {
    int axis;
    dp_dim extent = wanted->dims[i];
    DP_TRY(dp_common_axis("axes", all ? (int64_t)i : axes[i], x->rank, &axis));
    if (taken[axis]) return dp_fail(EX_DATAERR, "axes names dim %d twice", axis);
    taken[axis] = true;
    bool plain = !dp_dim_is_symbolic(extent) && !dp_dim_is_symbolic(x->dims[axis]) && extent.offset >= 0;
    if (!plain && !dp_dim_equal(extent, x->dims[axis]))
      return dp_fail(EX_DATAERR, "dim %d depends on the number of samples, or its new extent is negative", axis);
    y->dims[axis] = extent;
  }
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  dp_shape y;
  DP_TRY(read_attributes(node, &y));
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static dp_value *zeros(dp_builder *b, const dp_value *x, int axis, int64_t count) {
  dp_shape shape = x->type->shape;
  shape.dims[axis] = dp_dim_of(count);
  return dp_compose_filled(b, x->type->dtype, &shape, 0);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  const dp_shape *x = dp_common_shape(node, 0), *y = &node->outputs[0]->type->shape;
  dp_value *made = dp_build1(b, "Identity", in[0]);
  for (int d = 0; d < x->rank; d++) {
    int64_t from = x->dims[d].offset, to = y->dims[d].offset, before = (from > to ? from - to : to - from) / 2;
    if (dp_dim_equal(x->dims[d], y->dims[d])) continue;
    if (from > to) {
      made = dp_compose_slice(b, made, d, before, before + to);
      continue;
    }
    if (before) made = dp_compose_concat(b, zeros(b, made, d, before), made, d);
    made = dp_compose_concat(b, made, zeros(b, made, d, to - from - before), d);
  }
  out[0] = made;
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,5,4]", .attrs = "shape=[N,2,7]", .n = 3},
    {.inputs = "float32[6,N,3]", .attrs = "shape=[6,3], axes=[-1,0]", .n = 3},
    {.inputs = "int32[5]", .attrs = "shape=[9]", .low = -9, .high = 9},
    {.inputs = "int64[5]", .attrs = "shape=[6]", .low = -9, .high = 9},
    {.inputs = "uint8[5]", .attrs = "shape=[4]", .low = 0, .high = 255},
    {.inputs = "bool[5]", .attrs = "shape=[8]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_CenterCropPad = {
    .name = "CenterCropPad",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input_data", DP_ANY_TYPE, 'T'),
               DP_AS_ATTR("shape", DP_BIT(DP_INT32) | DP_BIT(DP_INT64), false)},
    .outputs = {DP_OPERAND("output_data", DP_ANY_TYPE, 'T')},
    .attrs = {DP_INTS_ATTR("axes"), {.name = "shape", .kind = DP_ATTR_DIMS}},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
