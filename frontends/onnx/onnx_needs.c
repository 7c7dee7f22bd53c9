// Finds the inputs that a compilation must know, by walking from the last node to the first, using only the operators'
// schemas.
//
// An operand is needed if our operator takes it as an attribute, if the node has no operator and can only be evaluated,
// or if a result of the node is needed. Shape and Size need nothing, since extents are known. The bodies of functions
// are not examined; their operands count as data.
#include <string.h>

#include "frontends/onnx/onnx.h"
#include "frontends/onnx/onnx_reader.h"

typedef struct {
  dp_onnx_reader *reader;
  int64_t opset;
  dp_names *needed;
} needs;

static dp_status look_at_all(needs *n, const Dp__Onnx__Graph *graph);

static void need(needs *n, const char *name) {
  if (*name && dp_names_find(n->needed, name) < 0) dp_names_add(n->needed, name, 0);
}

static bool is_needed(const needs *n, const char *name) { return dp_names_find(n->needed, name) >= 0; }

static bool is_result_needed(const needs *n, const Dp__Onnx__Node *node) {
  for (size_t i = 0; i < node->n_output; i++)
    if (*node->output[i] && is_needed(n, node->output[i])) return true;
  return false;
}

static const char *plain_domain(const char *domain) { return strcmp(domain, "ai.onnx") ? domain : ""; }

// Operators that we do not have, but evaluate if everything about them is known.
static bool is_evaluated(const char *name) { return dp_onnx_arithmetic_find(name) || dp_onnx_move_find(name); }

bool dp_onnx_knows(const char *domain, const char *op, int64_t opset) {
  if (*plain_domain(domain)) return dp_op_find(domain, op) || dp_onnx_special_knows(domain, op);
  const char *name = dp_onnx_opset_name(op, opset);
  return dp_op_find("", name) || is_evaluated(name) || dp_onnx_opset_chain(name) || dp_onnx_special_knows("", name) ||
         dp_onnx_sequence_knows(name) || !strcmp(name, "Constant");
}

// Operands that must be known for operators without an equivalent of ours; -1: all operands.
static const struct {
  const char *op;
  int operand;
} told[] = {{"HannWindow", -1},     {"HammingWindow", -1}, {"BlackmanWindow", -1}, {"MelWeightMatrix", -1},
            {"SplitToSequence", 1}, {"SequenceAt", 1},     {"SequenceErase", 1},   {"SequenceInsert", 2}};

static bool is_told(const char *op, size_t operand) {
  for (size_t i = 0; i < DP_COUNT(told); i++)
    if (!strcmp(op, told[i].op) && (told[i].operand < 0 || (size_t)told[i].operand == operand)) return true;
  return false;
}

static bool has_bodies(const char *domain, const char *op) {
  static const char *const names[] = {"If", "Loop", "Scan", "SequenceMap"};
  for (size_t i = 0; i < DP_COUNT(names); i++)
    if (!*domain && !strcmp(op, names[i])) return true;
  return *domain && dp_onnx_special_knows(domain, op);
}

// If, Loop, Scan, SequenceMap, FlexAttention: the operands that decide are needed. What a body needs of its inputs is
// needed of the node's. The states (inputs from `skip` on, results from `given` on) pass from one iteration to the
// next, so bodies are examined twice.
static dp_status look_at_bodies(needs *n, const Dp__Onnx__Node *node, bool all) {
  bool loop = !strcmp(node->op_type, "Loop"), scan = !strcmp(node->op_type, "Scan");
  size_t skip = loop ? 2 : 0, given = loop, deciding = !strcmp(node->op_type, "If") ? 1 : 2 * loop;
  size_t scanned = scan ? (size_t)dp_onnx_attr_int(node, "num_scan_inputs", 0) : 0;
  for (size_t i = 0; i < node->n_input && (all || i < deciding); i++) need(n, node->input[i]);
  for (size_t a = 0; a < node->n_attribute; a++) {
    const Dp__Onnx__Graph *body = node->attribute[a]->g;
    for (int pass = 0; body && pass < (loop || scan ? 2 : 1); pass++) {
      for (size_t i = 0; i < body->n_output && (all || i < given); i++) need(n, body->output[i]->name);
      DP_TRY(look_at_all(n, body));
      for (size_t i = skip; i < body->n_input && i < node->n_input; i++) {
        if (!is_needed(n, body->input[i]->name)) continue;
        need(n, node->input[i]);
        size_t result = i - skip + given;
        if (i + scanned < node->n_input && result < body->n_output) need(n, body->output[result]->name);
      }
    }
  }
  return DP_OK;
}

static dp_status look_at(needs *n, const Dp__Onnx__Node *node) {
  const char *domain = plain_domain(node->domain);
  const char *name = *domain ? node->op_type : dp_onnx_opset_name(node->op_type, n->opset);
  const dp_op *op = dp_op_find(domain, name);
  bool all = is_result_needed(n, node);
  if (++n->reader->work > n->reader->max_work) return dp_fail(EX_DATAERR, "its graphs are nested deeper than is taken");
  if (has_bodies(domain, name)) return look_at_bodies(n, node, all);
  if (!*domain && (!strcmp(name, "Shape") || !strcmp(name, "Size"))) return DP_OK;
  if (!op && !dp_onnx_function_find(n->reader, node)) {
    if (!dp_onnx_knows(domain, node->op_type, n->opset))
      return dp_fail(EX_UNAVAILABLE,
                     "the operator %s%s%s (opset %lld) is not supported; `dpc ops` lists those that are", domain,
                     *domain ? "." : "", node->op_type, (long long)n->opset);
    all |= is_evaluated(name) && !dp_onnx_opset_chain(name);
  }
  for (size_t i = 0; i < node->n_input; i++)
    if (all || (op ? i < (size_t)op->n_inputs && op->inputs[i].attribute : !*domain && is_told(name, i)))
      need(n, node->input[i]);
  return DP_OK;
}

static dp_status look_at_all(needs *n, const Dp__Onnx__Graph *graph) {
  for (size_t i = graph->n_node; i-- > 0;) DP_TRY(look_at(n, graph->node[i]));
  return DP_OK;
}

dp_status dp_onnx_needs_find(dp_onnx_reader *reader, bool *needed) {
  const Dp__Onnx__Graph *graph = reader->message->graph;
  needs n = {.reader = reader, .needed = dp_names_create(reader->arena)};
  DP_TRY(dp_onnx_opset(reader->message->n_opset_import, reader->message->opset_import, &n.opset));
  DP_TRY(look_at_all(&n, graph));
  for (size_t i = 0; i < graph->n_input; i++) needed[i] = dp_names_find(n.needed, graph->input[i]->name) >= 0;
  return DP_OK;
}
