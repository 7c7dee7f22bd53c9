// Elementwise operators. See elementwise.h.
#include "ir/ops/elementwise.h"

dp_status dp_elementwise_infer(dp_node *node) {
  dp_shape shape = *dp_common_shape(node, 0);
  for (int i = 1; i < node->n_inputs; i++)
    if (node->inputs[i]) DP_TRY(dp_shape_broadcast(&shape, dp_common_shape(node, i), &shape));
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &shape);
  return DP_OK;
}

void dp_elementwise_sharding(dp_sharding_rules *rules) {
  const dp_node *node = rules->node;
  const dp_shape *result = &node->outputs[0]->type->shape;
  for (int d = 0; d < result->rank; d++) {
    int in[DP_MAX_OPERANDS], out[DP_MAX_OPERANDS] = {d};
    for (int i = 0; i < node->n_inputs; i++) {
      in[i] = DP_WHOLE;
      if (!node->inputs[i]) continue;
      const dp_shape *shape = dp_common_shape(node, i);
      int own = d - (result->rank - shape->rank);
      if (own >= 0 && dp_dim_equal(shape->dims[own], result->dims[d])) in[i] = own;
    }
    dp_sharding_split(rules, result->dims[d], in, out);
  }
}

dp_cost dp_elementwise_cost(const dp_node *node, int64_t n) {
  return dp_common_cost(node, n, (double)dp_shape_count(&node->outputs[0]->type->shape, n));
}

void dp_elementwise_give(dp_builder *builder, const dp_node *node, int operand, dp_value *g, dp_value **dx) {
  dx[operand] = dp_build_reduce_to(builder, g, dp_common_shape(node, operand));
}

void dp_elementwise_chosen(dp_builder *b, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dp_dtype dtype = node->outputs[0]->type->dtype;
  dp_value *is[2];
  for (int i = 0; i < 2; i++) is[i] = dp_build_cast(b, dp_build2(b, "Equal", node->inputs[i], node->outputs[0]), dtype);
  dp_value *share = dp_build2(b, "Div", dy[0], dp_build2(b, "Add", is[0], is[1]));
  for (int i = 0; i < 2; i++) dp_elementwise_give(b, node, i, dp_build2(b, "Mul", share, is[i]), dx);
}

bool dp_elementwise_refuses_zero(const dp_node *node, dp_refusal *refusal) {
  *refusal = (dp_refusal){.operand = 1};
  return !dp_type_is_float(node->inputs[1]->type->dtype);
}

dp_value *dp_elementwise_with(dp_builder *builder, const char *op, dp_value *a, double number) {
  return dp_build2(builder, op, a, dp_build_fill(builder, a->type->dtype, number));
}

const dp_sample dp_elementwise_truths[] = {
    {.inputs = "bool[N,3], bool[N,3]", .n = 5, .low = 0, .high = 1},
    {.inputs = "bool[N,1,4], bool[3,1]", .n = 3, .low = 0, .high = 1},
    {0},
};

const dp_sample dp_elementwise_bits[] = {
    {.inputs = "int32[N,3], int32[N,3]", .n = 5, .low = -99, .high = 99},
    {.inputs = "int64[N,1,4], int64[3,1]", .n = 3, .low = -99, .high = 99},
    {.inputs = "uint8[2,3], uint8[]", .low = 0, .high = 255},
    {0},
};

const dp_sample dp_elementwise_choices[] = {
    {.inputs = "float32[N,3], float32[N,3]", .n = 5},
    {.inputs = "float32[N,1,4], float32[3,1]", .n = 6},
    {.inputs = "int32[N,3], int32[3]", .n = 4, .low = -50, .high = 50},
    {.inputs = "int64[2,3], int64[]", .low = -50, .high = 50},
    {.inputs = "uint8[5], uint8[5]", .low = 0, .high = 200},
    {0},
};
