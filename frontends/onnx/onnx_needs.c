// Which inputs a compilation must know: a walk from the last node to the first, by the operators' schemas alone.
//
// An operand is needed when our operator takes it as an attribute, when the node has no operator and can only be
// evaluated, or when a result of the node is needed itself. Of what Shape and Size see nothing is: extents are known.
// Functions of the model are not looked into; their operands count as data.
#include <string.h>

#include "frontends/onnx/onnx.h"
#include "frontends/onnx/onnx_reader.h"

typedef struct {
  const dp_onnx_reader *reader;
  int64_t opset;
  dp_names *needed;
} needs;

static void need(needs *n, const char *name) {
  if (*name && dp_names_find(n->needed, name) < 0) dp_names_add(n->needed, name, 0);
}

static bool is_result_needed(const needs *n, const Dp__Onnx__Node *node) {
  for (size_t i = 0; i < node->n_output; i++)
    if (*node->output[i] && dp_names_find(n->needed, node->output[i]) >= 0) return true;
  return false;
}

static const char *plain_domain(const char *domain) { return strcmp(domain, "ai.onnx") ? domain : ""; }

// Without an operator of ours, but computed when everything about it is known.
static bool is_evaluated(const char *name) { return dp_onnx_arithmetic_find(name) || dp_onnx_move_find(name); }

bool dp_onnx_knows(const char *domain, const char *op, int64_t opset) {
  if (*plain_domain(domain)) return dp_op_find(domain, op);
  const char *name = dp_onnx_opset_name(op, opset);
  return dp_op_find("", name) || is_evaluated(name) || dp_onnx_opset_chain(name) || dp_onnx_special_knows(name) ||
         !strcmp(name, "Constant");
}

static dp_status look_at(needs *n, const Dp__Onnx__Node *node) {
  const char *domain = plain_domain(node->domain);
  const char *name = *domain ? node->op_type : dp_onnx_opset_name(node->op_type, n->opset);
  const dp_op *op = dp_op_find(domain, name);
  bool all = is_result_needed(n, node);
  if (!*domain && (!strcmp(name, "Shape") || !strcmp(name, "Size"))) return DP_OK;
  if (!op && !dp_onnx_function_find(n->reader, node)) {
    if (!dp_onnx_knows(domain, node->op_type, n->opset))
      return dp_fail(EX_UNAVAILABLE,
                     "the operator %s%s%s (opset %lld) is not supported; `dpc ops` lists those that are", domain,
                     *domain ? "." : "", node->op_type, (long long)n->opset);
    all |= is_evaluated(name) && !dp_onnx_opset_chain(name);
  }
  for (size_t i = 0; i < node->n_input; i++)
    if (all || (op && i < (size_t)op->n_inputs && op->inputs[i].attribute)) need(n, node->input[i]);
  return DP_OK;
}

dp_status dp_onnx_needs_find(const dp_onnx_reader *reader, bool *needed) {
  const Dp__Onnx__Graph *graph = reader->message->graph;
  needs n = {.reader = reader, .needed = dp_names_create(reader->arena)};
  DP_TRY(dp_onnx_opset(reader->message->n_opset_import, reader->message->opset_import, &n.opset));
  for (size_t i = graph->n_node; i-- > 0;) DP_TRY(look_at(&n, graph->node[i]));
  for (size_t i = 0; i < graph->n_input; i++) needed[i] = dp_names_find(n.needed, graph->input[i]->name) >= 0;
  return DP_OK;
}
