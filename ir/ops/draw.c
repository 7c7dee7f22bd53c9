// ONNX's operators that draw numbers. See draw.h.
#include "ir/ops/draw.h"

dp_status dp_draw_infer_like(dp_node *node, uint32_t types) {
  int64_t dtype = dp_node_int(node, "dtype", node->inputs[0]->type->dtype);
  bool known = dtype >= 1 && dtype <= DP_MAX_TYPE;
  if (!known || !(DP_BIT(dtype) & types))
    return dp_fail(EX_DATAERR, "numbers of type %s cannot be drawn; set attribute dtype to another",
                   known ? dp_type_name((dp_dtype)dtype) : "unknown");
  dp_common_set(node, 0, (dp_dtype)dtype, dp_common_shape(node, 0));
  return DP_OK;
}

static dp_value *draw(dp_builder *b, const dp_node *node, dp_dtype dtype, const char *op, dp_attr first,
                      dp_attr second) {
  dp_value *in[] = {dp_graph_scalar(b->graph, DP_SCALAR_SEED), dp_graph_scalar(b->graph, DP_SCALAR_STEP)};
  dp_attr attrs[] = {first, second, dp_attr_int("key", dp_hash_name(node->name)),
                     dp_attr_dims(b->graph->arena, "shape", &node->outputs[0]->type->shape),
                     dp_attr_int("dtype", dtype)};
  return dp_build(b, op, 2, in, 1, 5, attrs);
}

dp_value *dp_draw_uniform(dp_builder *b, const dp_node *node, dp_dtype dtype, double low, double high) {
  return draw(b, node, dtype, "dp.RandomUniform", dp_attr_float("low", low), dp_attr_float("high", high));
}

dp_value *dp_draw_normal(dp_builder *b, const dp_node *node, dp_dtype dtype, double mean, double scale) {
  return draw(b, node, dtype, "dp.RandomNormal", dp_attr_float("mean", mean), dp_attr_float("scale", scale));
}
