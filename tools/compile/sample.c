// See sample.h.
#include "tools/compile/sample.h"

#include "ir/graph/builder.h"
#include "ir/text/text.h"

dp_node *dp_sample_node(dp_arena *arena, const dp_op *op, const dp_sample *sample) {
  dp_graph *graph = dp_graph_create(dp_model_create(arena, "sample"), "main");
  int n_types = 0, n_attrs = 0;
  dp_type *types = NULL;
  dp_attr *attrs = NULL;
  dp_status status = dp_text_parse_types(arena, sample->inputs, &n_types, &types);
  if (!status) status = dp_text_parse_attrs(arena, sample->attrs ? sample->attrs : "", &n_attrs, &attrs);
  dp_value *inputs[DP_MAX_OPERANDS] = {NULL};
  for (int i = 0; i < n_types && i < DP_MAX_OPERANDS; i++)
    if (types[i].dtype) inputs[i] = dp_graph_add_value(graph, DP_VALUE_INPUT, dp_printf(arena, "x%d", i), types[i]);
  int required = 0;
  while (required < op->n_outputs && !op->outputs[required].optional) required++;
  // Some results exist only in some modes.
  for (int results = op->n_outputs; results >= required && results > 0 && !status; results--) {
    dp_node *node = dp_graph_add_node(graph, op, op->name, n_types, inputs, results, NULL, n_attrs, attrs);
    dp_status refused = dp_op_infer(node);
    if (!refused) return node;
    dp_status_free(refused);
  }
  dp_status_free(status);
  return NULL;
}

static void describe(int count, dp_value *const *values, int64_t n, dp_kernel_operand *operands) {
  static const dp_mesh one;
  for (int i = 0; i < count; i++)
    if (values[i])
      operands[i] = (dp_kernel_operand){.dtype = values[i]->type->dtype,
                                        .present = true,
                                        .local = dp_shard_range(&values[i]->type->shape, NULL, &one, NULL, n)};
}

static bool runs(dp_arena *arena, const dp_kernel *kernel, const dp_node *node, int64_t n) {
  dp_kernel_operand *operands = dp_alloc_n(arena, (size_t)(node->n_inputs + node->n_outputs), sizeof *operands);
  const dp_kernel_spec spec = {.op = node->op,
                               .node = node,
                               .n_inputs = node->n_inputs,
                               .n_outputs = node->n_outputs,
                               .inputs = operands,
                               .outputs = operands + node->n_inputs,
                               .threads = 1};
  describe(node->n_inputs, node->inputs, n, operands);
  describe(node->n_outputs, node->outputs, n, operands + node->n_inputs);
  return dp_kernel_takes(kernel, &spec) && (!kernel->match || kernel->match(&spec));
}

bool dp_sample_runs(dp_arena *arena, const dp_op *op, const dp_kernel *kernel) {
  for (const dp_sample *s = op->samples; s && s->inputs; s++) {
    const dp_node *node = dp_sample_node(arena, op, s);
    if (node && runs(arena, kernel, node, s->n)) return true;
  }
  return false;
}
