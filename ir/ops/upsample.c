// Upsample (ONNX until opset 9): resamples each dim to its scale; position i of the result lies at i / scale.
// Specialized into a Gather (nearest) or a product with a table of weights for each dim.
#include <string.h>

#include "ir/ops/resize.h"

static dp_status read_attributes(const dp_node *node, dp_resize *r) {
  const dp_shape *x = dp_common_shape(node, 0);
  const dp_attr *scales = dp_node_attr(node, "scales");
  *r = (dp_resize){.mode = dp_node_string(node, "mode", "nearest"),
                   .coordinates = "asymmetric",
                   .nearest = "floor",
                   .rank = x->rank};
  if (strcmp(r->mode, "nearest") && strcmp(r->mode, "linear"))
    return dp_fail(EX_DATAERR, "mode is '%s' where nearest or linear is expected", r->mode);
  if (!scales || scales->count != (size_t)x->rank) return dp_fail(EX_DATAERR, "scales must have %d numbers", x->rank);
  for (int d = 0; d < x->rank; d++) {
    if (!(scales->floats[d] >= 1))
      return dp_fail(EX_DATAERR, "scales has %g where 1 or more is expected", scales->floats[d]);
    DP_TRY(dp_resize_by_scale(x->dims[d], scales->floats[d], &r->dims[d]));
  }
  return DP_OK;
}

static dp_status infer(dp_node *node) { return dp_resize_infer(node, read_attributes); }

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_resize_specialize(b, node, read_attributes, in, out);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,1,2,3]", .attrs = "scales=[1.0,1.0,2.5,1.5]", .n = 2},
    {.inputs = "float32[N,2,3,2]", .attrs = "scales=[1.0,1.0,2.0,1.5], mode=\"linear\"", .n = 2},
    {.inputs = "int32[3]", .attrs = "scales=[2.0]", .low = -9, .high = 9},
    {.inputs = "int64[3]", .attrs = "scales=[2.0]", .low = -9, .high = 9},
    {.inputs = "uint8[3]", .attrs = "scales=[2.0]", .low = 0, .high = 255},
    {.inputs = "bool[3]", .attrs = "scales=[2.0]", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Upsample = {
    .name = "Upsample",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_ANY_TYPE, 'T'), DP_AS_ATTR("scales", DP_FLOATS, true)},
    .outputs = {DP_OPERAND("Y", DP_ANY_TYPE, 'T')},
    .attrs = {DP_STRING_ATTR("mode", "nearest"), {.name = "scales", .kind = DP_ATTR_FLOATS}},
    .precision = DP_PRECISION_WITHIN,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
