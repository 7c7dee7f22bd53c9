// Piecewise functions. See piecewise.h.
#include "ir/ops/piecewise.h"

dp_value *dp_piecewise_where(dp_builder *builder, const char *comparison, dp_value *x, double number, dp_value *yes,
                             dp_value *no) {
  dp_value *in[] = {dp_elementwise_with(builder, comparison, x, number), yes, no};
  return dp_build(builder, "Where", 3, in, 1, 0, NULL);
}

dp_value *dp_piecewise_of(dp_builder *builder, const char *op, double number, dp_value *a) {
  return dp_build2(builder, op, dp_build_fill(builder, a->type->dtype, number), a);
}

dp_status dp_piecewise_infer_bool(dp_node *node) {
  DP_TRY(dp_elementwise_infer(node));
  dp_common_set(node, 0, DP_BOOL, &node->outputs[0]->type->shape);
  return DP_OK;
}

void dp_piecewise_no_slope(dp_builder *builder, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  (void)builder, (void)node, (void)dy, (void)dx;
}

const dp_sample dp_piecewise_comparison_samples[] = {
    {.inputs = "float32[N,3], float32[1,3]", .n = 5},
    {.inputs = "int32[N,3], int32[3]", .n = 8, .low = 0, .high = 2},
    {.inputs = "int64[N], int64[N]", .n = 9, .low = -1, .high = 2},
    {.inputs = "uint8[2,4], uint8[2,4]", .low = 0, .high = 3},
    {0},
};
