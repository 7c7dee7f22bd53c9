// dp.Region: several nodes as one, only in device form. Its body (dp_node.body) holds the nodes. Operand i is the
// body's input i, result k the body's output k. Other values of the body exist only while the region is computed.
#include "ir/ops/common.h"

static dp_status check_end(const char *what, int index, const dp_value *inside, const dp_value *outside) {
  if (!outside || inside->type->dtype != outside->type->dtype ||
      !dp_shape_equal(&inside->type->shape, &outside->type->shape))
    return dp_fail(EX_DATAERR, "%s %d is not what the body calls '%s'", what, index + 1, inside->name);
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  const dp_graph *body = node->body;
  if (!body) return dp_fail(EX_DATAERR, "a region has no body: it stands in programs for devices alone");
  int n_inputs = 0;
  for (int32_t i = 0; i < body->n_values; i++) {
    if (body->values[i]->kind == DP_VALUE_RESULT) continue;
    if (n_inputs == node->n_inputs) return dp_fail(EX_DATAERR, "its body has more inputs than it has operands");
    DP_TRY(check_end("operand", n_inputs, body->values[i], node->inputs[n_inputs]));
    n_inputs++;
  }
  if (n_inputs != node->n_inputs || body->n_outputs != node->n_outputs)
    return dp_fail(EX_DATAERR, "operands of it and inputs of its body: %d and %d; results and outputs: %d and %d",
                   node->n_inputs, n_inputs, node->n_outputs, body->n_outputs);
  for (int i = 0; i < node->n_outputs; i++) {
    const dp_value *made = body->outputs[i].value;
    if (made->kind != DP_VALUE_RESULT || !node->outputs[i])
      return dp_fail(EX_DATAERR, "result %d is not computed by its body", i + 1);
    node->outputs[i]->type = made->type;
  }
  return DP_OK;
}

// The members' work, and each operand and result moved once. Values inside the region move nothing.
static dp_cost cost(const dp_node *node, int64_t n) {
  dp_cost sum = {0};
  for (int32_t i = 0; i < node->body->n_nodes; i++) sum.flops += dp_op_cost(node->body->nodes[i], n).flops;
  for (int i = 0; i < node->n_inputs + node->n_outputs; i++) {
    const dp_value *v = i < node->n_inputs ? node->inputs[i] : node->outputs[i - node->n_inputs];
    sum.bytes += (double)dp_shape_count(&v->type->shape, n) * (double)dp_type_bytes(v->type->dtype);
  }
  return sum;
}

const dp_op dp_op_Region = {
    .name = "Region",
    .domain = "dp",
    .n_inputs = 1,
    .n_outputs = 1,
    .variadic = true,
    .variadic_results = true,
    .inputs = {DP_OPTIONAL("inputs", DP_STORED, 0)},
    .outputs = {DP_OPERAND("outputs", DP_STORED, 0)},
    .infer = infer,
    .cost = cost,
};
