// Inlines the model's own functions: the body's nodes enter the graph as if they were at the call, with names that
// start with the call's. Recursion is refused, and the file's size limits all calls together.
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

const Dp__Onnx__Function *dp_onnx_function_find(const dp_onnx_reader *reader, const Dp__Onnx__Node *node) {
  for (size_t i = 0; i < reader->message->n_functions; i++) {
    const Dp__Onnx__Function *f = reader->message->functions[i];
    if (!strcmp(f->name, node->op_type) && !strcmp(f->domain, node->domain) && !strcmp(f->overload, node->overload))
      return f;
  }
  return NULL;
}

// The value that the call, or else the function's default, gives an attribute; NULL: none.
static const Dp__Onnx__Attribute *given(const Dp__Onnx__Node *call, const Dp__Onnx__Function *function,
                                        const char *name) {
  const Dp__Onnx__Attribute *a = dp_onnx_attr_find(call, name);
  for (size_t i = 0; i < function->n_attribute_proto && !a; i++)
    if (!strcmp(function->attribute_proto[i]->name, name)) a = function->attribute_proto[i];
  return a;
}

// The body's node with references to attributes replaced by the call's.
static Dp__Onnx__Node *substitute(dp_onnx_reader *reader, const Dp__Onnx__Node *call,
                                  const Dp__Onnx__Function *function, const Dp__Onnx__Node *node) {
  Dp__Onnx__Node *copy = dp_memdup(reader->arena, node, sizeof *node);
  copy->n_attribute = 0;
  copy->attribute = dp_alloc_n(reader->arena, node->n_attribute, sizeof *copy->attribute);
  for (size_t i = 0; i < node->n_attribute; i++) {
    Dp__Onnx__Attribute *attribute = node->attribute[i];
    if (*attribute->ref_attr_name) {
      const Dp__Onnx__Attribute *value = given(call, function, attribute->ref_attr_name);
      if (!value) continue;  // not given: the operator's own default
      char *name = attribute->name;
      attribute = dp_memdup(reader->arena, value, sizeof *value);
      attribute->name = name;
    }
    copy->attribute[copy->n_attribute++] = attribute;
  }
  return copy;
}

static dp_status bind_operands(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *call,
                               const Dp__Onnx__Function *function, dp_onnx_scope *inner) {
  if (call->n_input > function->n_input || call->n_output > function->n_output)
    return dp_fail(EX_DATAERR, "%zu operands and %zu results; the function has %zu and %zu", call->n_input,
                   call->n_output, function->n_input, function->n_output);
  for (size_t i = 0; i < function->n_input; i++) {
    dp_onnx_binding *binding = NULL;
    if (i < call->n_input) DP_TRY(dp_onnx_scope_find(scope, call->input[i], &binding));
    DP_TRY(dp_onnx_scope_alias(reader, inner, function->input[i], binding));
  }
  return DP_OK;
}

static dp_status run(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *call,
                     const Dp__Onnx__Function *function) {
  int64_t opset;
  DP_TRY(dp_onnx_opset(function->n_opset_import, function->opset_import, &opset));
  const char *prefix = dp_printf(reader->arena, "%s/", dp_onnx_name(reader, scope, call));
  dp_onnx_scope *inner = dp_onnx_scope_create(reader, prefix, opset ? opset : scope->opset);
  DP_TRY(bind_operands(reader, scope, call, function, inner));
  for (size_t i = 0; i < function->n_node; i++) {
    Dp__Onnx__Node *node = substitute(reader, call, function, function->node[i]);
    DP_TRY(dp_onnx_walk(reader, inner, 1, &node));
  }
  for (size_t i = 0; i < call->n_output; i++) {
    dp_onnx_binding *result;
    if (!*call->output[i]) continue;
    DP_TRY(dp_onnx_scope_find(inner, function->output[i], &result));
    if (!result) return dp_fail(EX_DATAERR, "its result '%s' is an operand that was left out", function->output[i]);
    DP_TRY(dp_onnx_scope_alias(reader, scope, call->output[i], result));
  }
  return DP_OK;
}

dp_status dp_onnx_function_inline(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *node,
                                  const Dp__Onnx__Function *function) {
  if (reader->calls >= DP_ONNX_MAX_CALLS)
    return dp_fail(EX_DATAERR, "functions call one another more than %d deep; ONNX allows no recursion",
                   DP_ONNX_MAX_CALLS);
  reader->calls++;
  dp_status status = run(reader, scope, node, function);
  reader->calls--;
  return dp_status_context(status, "function %s", function->name);
}
