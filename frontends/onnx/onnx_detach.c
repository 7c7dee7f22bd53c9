// What a network computes without gradient, in files of PyTorch's newer exporter. A detach() is a node of its own. The
// exporter's optimizer removes it, but other nodes still name its result. The file does not mention torch.no_grad().
// But the nodes of such a block, like those of autocast, were traced a second time and name no line of the network's
// code.
#include <string.h>

#include "frontends/onnx/onnx_signature.h"
#include "ir/graph/op.h"

// Operators whose results have no gradient, whatever their operands have.
static const char *const steps[] = {"Shape",          "Size",  "ArgMax",      "ArgMin",  "Equal", "Greater",
                                    "GreaterOrEqual", "Less",  "LessOrEqual", "NonZero", "IsNaN", "IsInf",
                                    "Sign",           "Round", "Floor",       "Ceil"};

static bool has_gradient(const Dp__Onnx__Node *node) {
  for (size_t i = 0; i < DP_COUNT(steps); i++)
    if (!strcmp(node->op_type, steps[i])) return false;
  const int64_t to = dp_onnx_attr_int(node, "to", 0);
  return strcmp(node->op_type, "Cast") || (to > 0 && to <= DP_MAX_TYPE && dp_type_is_float((dp_dtype)to));
}

static bool is_detached(const char *name) { return !strncmp(name, "detach", 6) && (!name[6] || name[6] == '_'); }

// "File "<eval_with_key>.12", line 5, in forward" and the line.
static bool is_traced_again(const Dp__Onnx__Node *node) {
  const char *lines = dp_onnx_signature_find(node->n_metadata_props, node->metadata_props, "stack_trace");
  return lines && !strncmp(lines + strspn(lines, " \n"), "File \"<eval_with_key>", 21);
}

static bool takes(const dp_names *names, const Dp__Onnx__Node *node) {
  for (size_t k = 0; k < node->n_input; k++)
    if (dp_names_find(names, node->input[k]) >= 0) return true;
  return false;
}

// The names of parameters. The caller adds the names of what nodes compute from them.
static dp_names *find_parameters(const dp_onnx_reader *reader, const dp_onnx_scope *scope) {
  dp_names *names = dp_names_create(reader->arena);
  for (int32_t i = 0; i < scope->count; i++) {
    const dp_onnx_binding *b = scope->bindings[i];
    if (b->initializer && b->role == DP_ONNX_TRAINED && b->tensor && dp_type_is_float(b->tensor->dtype))
      dp_names_add(names, b->name, 0);
  }
  return names;
}

dp_status dp_onnx_detach(dp_onnx_reader *reader, const dp_onnx_scope *scope, const dp_onnx_signature *signature,
                         dp_onnx_reasons *reasons) {
  const Dp__Onnx__Graph *graph = reader->message->graph;
  dp_names *trained = find_parameters(reader, scope);
  const char *lost = NULL, *traced = NULL;
  for (size_t i = 0; i < graph->n_node; i++) {
    Dp__Onnx__Node *node = graph->node[i];
    const char *fx = dp_onnx_signature_of_node(node), *at = NULL, *name;
    DP_TRY(dp_onnx_count_work(reader, 1 + node->n_input));
    while (fx && !lost && (name = dp_onnx_signature_next(reader->arena, fx, &at)))
      if (is_detached(name) && dp_names_find(signature->defined, name) < 0) lost = name;
    if (!takes(trained, node) || !has_gradient(node)) continue;
    if (fx && !strcmp(node->op_type, "Identity") && !strcmp(dp_onnx_signature_op(reader->arena, fx), "detach")) {
      dp_onnx_attr_add_int(reader, node, DP_ATTR_DETACH, 1);
      continue;
    }
    if (!traced && node->n_output && is_traced_again(node)) traced = node->output[0];
    for (size_t k = 0; k < node->n_output; k++)
      if (dp_names_find(trained, node->output[k]) < 0) dp_names_add(trained, node->output[k], 0);
  }
  if (lost) dp_onnx_reasons_add(reasons, "a detach() is not in the file (at '%s')", lost);
  if (traced)
    dp_onnx_reasons_add(reasons,
                        "'%s' is in a block of torch.no_grad(), which the file does not hold (detach() in its place is "
                        "held), or of torch.autocast, where nothing is lost and --as-exported is right",
                        traced);
  return DP_OK;
}
