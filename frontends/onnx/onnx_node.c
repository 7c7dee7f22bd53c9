// Makes our nodes from ONNX's: operator, attributes, operands. Operands that are attributes of ours (Reshape's shape,
// which may contain the batch) become attributes.
#include <string.h>

#include "frontends/onnx/onnx_reader.h"
#include "ir/text/text.h"

const dp_attr *dp_onnx_node_get(const dp_onnx_node *node, const char *name) {
  for (int i = 0; i < node->n_attrs; i++)
    if (!strcmp(node->attrs[i].name, name)) return &node->attrs[i];
  return NULL;
}

void dp_onnx_node_set(dp_onnx_node *node, dp_attr attr) {
  for (int i = 0; i < node->n_attrs; i++) {
    if (strcmp(node->attrs[i].name, attr.name)) continue;
    node->attrs[i] = attr;
    return;
  }
  DP_PUSH(node->reader->arena, node->attrs, node->n_attrs, attr);
}

static const dp_attr_schema *schema_of(const dp_op *op, const char *name) {
  for (int i = 0; i < DP_MAX_ATTRS && op->attrs[i].name; i++)
    if (!strcmp(op->attrs[i].name, name)) return &op->attrs[i];
  return NULL;
}

// ---- attributes -----------------------------------------------------------------------------------------------------

// Turns an attribute of an older opset into the constant operand that it became.
static dp_onnx_binding *as_operand(dp_onnx_node *node, const dp_attr *attr) {
  dp_arena *arena = node->reader->arena;
  bool floats = attr->kind == DP_ATTR_FLOAT || attr->kind == DP_ATTR_FLOATS;
  bool list = attr->kind == DP_ATTR_INTS || attr->kind == DP_ATTR_FLOATS;
  int64_t count = list ? (int64_t)attr->count : 1;
  const dp_onnx_binding *x = node->n_inputs ? node->inputs[0] : NULL;
  dp_dtype dtype = floats ? x && dp_onnx_scope_type(x).dtype == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32 : DP_INT64;
  dp_onnx_known *known = dp_onnx_fold_make(node->reader, dtype, list, &count);
  if (!known || (!floats && attr->kind != DP_ATTR_INT && attr->kind != DP_ATTR_INTS)) return NULL;
  for (int64_t i = 0; i < count; i++) {
    if (floats)
      known->numbers[i].f = list ? attr->floats[i] : attr->f;
    else
      known->numbers[i].i = dp_dim_of(list ? attr->ints[i] : attr->i);
  }
  dp_onnx_binding binding = {.name = dp_printf(arena, "%s/%s", node->name, attr->name), .known = known};
  return dp_memdup(arena, &binding, sizeof binding);
}

static dp_status put_operand(dp_onnx_node *node, int operand, const dp_attr *attr) {
  dp_onnx_binding *binding = as_operand(node, attr);
  if (!binding) return dp_fail(EX_DATAERR, "attribute '%s' has the wrong kind", attr->name);
  if (operand < node->n_inputs && node->inputs[operand])
    return dp_fail(EX_DATAERR, "'%s' is given both as operand and as attribute", attr->name);
  while (node->n_inputs <= operand) {
    dp_onnx_binding *none = NULL;
    DP_PUSH(node->reader->arena, node->inputs, node->n_inputs, none);
  }
  node->inputs[operand] = binding;
  return DP_OK;
}

// Extents that include the batch are written as one word, "[N,3]".
static dp_status read_extents(dp_onnx_node *node, dp_attr *attr) {
  const dp_attr_schema *schema = schema_of(node->op, attr->name);
  if (!schema || schema->kind != DP_ATTR_DIMS || attr->kind != DP_ATTR_STRING) return DP_OK;
  dp_type *types;
  int count;
  DP_TRY(dp_status_context(
      dp_text_parse_types(node->reader->arena, dp_printf(node->reader->arena, "float32%s", attr->s), &count, &types),
      "attribute '%s'", attr->name));
  if (count != 1 || !types[0].dtype) return dp_fail(EX_DATAERR, "attribute '%s' is not a list of extents", attr->name);
  *attr = dp_attr_dims(node->reader->arena, attr->name, &types[0].shape);
  return DP_OK;
}

static dp_status read_attrs(dp_onnx_node *node) {
  const Dp__Onnx__Node *m = node->message;
  for (size_t i = 0; i < m->n_attribute; i++) {
    dp_attr attr;
    DP_TRY(dp_onnx_attr_read(node->reader, m->attribute[i], &attr));
    DP_TRY(read_extents(node, &attr));
    if (dp_onnx_attr_find(m, attr.name) != m->attribute[i])
      return dp_fail(EX_DATAERR, "attribute '%s' is given twice", attr.name);
    int operand = dp_onnx_opset_operand(m->op_type, node->scope->opset, attr.name);
    if (schema_of(node->op, attr.name) || !strcmp(attr.name, DP_ATTR_INPLACE))
      DP_PUSH(node->reader->arena, node->attrs, node->n_attrs, attr);
    else if (operand >= 0)
      DP_TRY(put_operand(node, operand, &attr));
    else if (!dp_onnx_opset_ignores(node->op->name, node->scope->opset, &attr))
      return dp_fail(EX_UNAVAILABLE, "attribute '%s' of %s%s is not supported", attr.name, node->op->name,
                     attr.kind == DP_ATTR_INT ? dp_printf(node->reader->arena, " (%lld)", (long long)attr.i) : "");
  }
  return DP_OK;
}

// ---- operands -------------------------------------------------------------------------------------------------------

// The elements of an operand of any type. A float initializer may be used too: as an attribute it is not trained.
static const dp_onnx_known *elements(dp_onnx_node *node, dp_onnx_binding *x) {
  const dp_onnx_known *known = dp_onnx_scope_known(node->reader, x);
  const dp_tensor *t = x->tensor;
  if (known || !t) return known;
  dp_onnx_known *copy = dp_onnx_fold_make(node->reader, t->dtype, t->rank, t->extents);
  for (int64_t i = 0; copy && i < copy->count; i++) {
    copy->numbers[i].f = dp_tensor_get(t, i);
    if (!dp_type_is_float(t->dtype)) copy->numbers[i].i = dp_dim_of((int64_t)copy->numbers[i].f);
  }
  return copy;
}

static double widened(const dp_onnx_known *x, int64_t i) {
  if (!dp_type_is_float(x->dtype)) return (double)x->numbers[i].i.offset;
  return x->dtype == DP_FLOAT32 ? dp_onnx_attr_widen((float)x->numbers[i].f) : x->numbers[i].f;
}

// An integer, which may be a float in the file (OneHot's depth).
static dp_status whole(const dp_onnx_known *x, int64_t i, dp_dim *number) {
  *number = x->numbers[i].i;
  if (!dp_type_is_float(x->dtype) || dp_dim_is_symbolic(*number)) return DP_OK;
  double f = x->numbers[i].f;
  if (!(f >= -0x1p62 && f <= 0x1p62) || (double)(int64_t)f != f)
    return dp_fail(EX_DATAERR, "it is %s, and %g where integers are expected", dp_type_name(x->dtype), f);
  *number = dp_dim_of((int64_t)f);
  return DP_OK;
}

static dp_status fill_attr(dp_arena *arena, const dp_onnx_known *x, dp_attr *attr) {
  bool list = attr->kind == DP_ATTR_INTS || attr->kind == DP_ATTR_FLOATS || attr->kind == DP_ATTR_DIMS;
  bool floats = attr->kind == DP_ATTR_FLOAT || attr->kind == DP_ATTR_FLOATS;
  size_t n = (size_t)x->count;
  if (!list && n != 1) return dp_fail(EX_DATAERR, "it has %zu elements where one is expected", n);
  for (size_t i = 0; i < n && attr->kind != DP_ATTR_DIMS; i++)
    if (dp_dim_is_symbolic(x->numbers[i].i))
      return dp_fail(EX_UNAVAILABLE, "it depends on the batch, which is not supported here");
  attr->count = list ? n : 0;
  int64_t *ints = dp_alloc_n(arena, n + 1, sizeof *ints);
  double *numbers = dp_alloc_n(arena, n + 1, sizeof *numbers);
  dp_dim *dims = dp_alloc_n(arena, n + 1, sizeof *dims);
  for (size_t i = 0; i < n; i++) {
    if (!floats) DP_TRY(whole(x, (int64_t)i, &dims[i]));
    ints[i] = dims[i].offset;
    numbers[i] = widened(x, (int64_t)i);
  }
  if (attr->kind == DP_ATTR_INT) attr->i = ints[0];
  if (attr->kind == DP_ATTR_FLOAT) attr->f = numbers[0];
  if (attr->kind == DP_ATTR_INTS) attr->ints = ints;
  if (attr->kind == DP_ATTR_FLOATS) attr->floats = numbers;
  if (attr->kind == DP_ATTR_DIMS) attr->dims = dims;
  return DP_OK;
}

static dp_status take_attribute(dp_onnx_node *node, int i, const char *name) {
  dp_onnx_binding *x = node->inputs[i];
  const dp_onnx_known *known = elements(node, x);
  if (!known)
    return dp_fail(EX_UNAVAILABLE,
                   "operand %d, '%s' ('%s'), is computed from data or very large; only what is known "
                   "before the network runs is supported there",
                   i + 1, name, x->name);
  if (dp_onnx_node_get(node, name)) return dp_fail(EX_DATAERR, "'%s' is given both as operand and as attribute", name);
  dp_attr attr = {.name = name, .kind = schema_of(node->op, name)->kind};
  DP_TRY(
      dp_status_context(fill_attr(node->reader->arena, known, &attr), "operand %d, '%s' ('%s')", i + 1, name, x->name));
  DP_PUSH(node->reader->arena, node->attrs, node->n_attrs, attr);
  return DP_OK;
}

// A parameter that the operator itself updates is a buffer.
static void note_state(const dp_onnx_node *node, int i, const dp_value *value) {
  if (value->kind == DP_VALUE_VARIABLE && dp_onnx_opset_is_state(node->op->name, i))
    node->reader->model->variables[value->variable].kind = DP_BUFFER;
}

static dp_status take_operands(dp_onnx_node *node, dp_value **values) {
  for (int i = 0; i < node->n_inputs; i++) {
    if (!node->inputs[i]) continue;
    const char *attribute = i < node->op->n_inputs ? node->op->inputs[i].attribute : NULL;
    if (attribute) {
      DP_TRY(take_attribute(node, i, attribute));
      continue;
    }
    DP_TRY(dp_onnx_scope_value(node->reader, node->inputs[i], &values[i]));
    note_state(node, i, values[i]);
  }
  return DP_OK;
}

// A type that ONNX may allow there but our operator does not.
static dp_status check_types(const dp_onnx_node *node, dp_value *const *values) {
  const dp_op *op = node->op;
  for (int i = 0; i < node->n_inputs && op->n_inputs; i++) {
    const dp_operand_schema *schema = &op->inputs[i < op->n_inputs ? i : op->n_inputs - 1];
    if (values[i] && !(schema->types & DP_BIT(values[i]->type->dtype)))
      return dp_fail(EX_UNAVAILABLE,
                     "operand '%s' ('%s') has type %s, which is not supported; `dpc ops %s%s%s` lists those that are",
                     schema->name, values[i]->name, dp_type_name(values[i]->type->dtype), op->domain,
                     *op->domain ? "." : "", op->name);
  }
  return DP_OK;
}

dp_status dp_onnx_node_emit(dp_onnx_node *node) {
  dp_onnx_reader *reader = node->reader;
  dp_value **values = dp_alloc_n(reader->arena, (size_t)node->n_inputs, sizeof *values);
  DP_TRY(take_operands(node, values));
  DP_TRY(check_types(node, values));
  const char **names = dp_alloc_n(reader->arena, (size_t)node->n_outputs, sizeof *names);
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i]) names[i] = dp_printf(reader->arena, "%s%s", node->scope->prefix, node->outputs[i]);
  int n_inputs = node->n_inputs;
  while (n_inputs && !values[n_inputs - 1]) n_inputs--;
  dp_node *made = dp_graph_add_node(reader->graph, node->op, node->name, n_inputs, values, node->n_outputs, names,
                                    node->n_attrs, node->attrs);
  DP_TRY(dp_op_infer(made));
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i])
      DP_TRY(dp_onnx_scope_bind(reader, node->scope, node->outputs[i], (dp_onnx_binding){.value = made->outputs[i]}));
  return DP_OK;
}

// ---- the node as a whole --------------------------------------------------------------------------------------------

static dp_status read_operands(dp_onnx_node *node) {
  const Dp__Onnx__Node *m = node->message;
  for (size_t i = 0; i < m->n_input; i++) {
    dp_onnx_binding *binding;
    DP_TRY(dp_onnx_scope_find_tensor(node->scope, m->input[i], &binding));
    DP_PUSH(node->reader->arena, node->inputs, node->n_inputs, binding);  // attributes may add more
  }
  while (node->n_inputs && !node->inputs[node->n_inputs - 1]) node->n_inputs--;
  node->n_outputs = (int)m->n_output;
  while (node->n_outputs && !*m->output[node->n_outputs - 1]) node->n_outputs--;
  node->outputs = dp_alloc_n(node->reader->arena, m->n_output + 1, sizeof *node->outputs);
  for (int i = 0; i < node->n_outputs; i++) node->outputs[i] = *m->output[i] ? m->output[i] : NULL;
  return DP_OK;
}

// Emits op(a, b, c, d) for a few operands at a time, each time with the previous result.
static dp_status emit_chain(dp_onnx_node *node) {
  dp_onnx_binding **all = node->inputs, *first = all[0];
  int n = node->n_inputs, at_once = node->op->variadic ? DP_MAX_REPEATED : node->op->n_inputs;
  if (n == 1 && !node->op->variadic) return dp_onnx_scope_alias(node->reader, node->scope, node->outputs[0], first);
  const char *result = node->outputs[0], *name = node->name;
  for (int i = 1, round = 1; i < n; round++) {
    dp_onnx_binding *some[DP_MAX_OPERANDS] = {first};
    int count = 1;
    while (count < at_once && i < n) some[count++] = all[i++];
    const char *part = i < n ? dp_printf(node->reader->arena, "%s/%d", result, round) : result;
    node->inputs = some;
    node->n_inputs = count;
    node->outputs = &part;
    if (i < n) node->name = dp_printf(node->reader->arena, "%s/%d", name, round);
    DP_TRY(dp_onnx_node_emit(node));
    DP_TRY(dp_onnx_scope_find(node->scope, part, &first));
    node->name = name;
  }
  return DP_OK;
}

static bool is_chain(const dp_onnx_node *node) {
  if (!dp_onnx_opset_chain(node->message->op_type) || !node->n_inputs || node->n_outputs != 1 || !node->outputs[0])
    return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (!node->inputs[i]) return false;
  int at_once = node->op->variadic ? DP_MAX_REPEATED : node->op->n_inputs;
  return node->n_inputs > at_once || (!node->op->variadic && node->n_inputs != node->op->n_inputs);
}

static dp_status add_node(dp_onnx_node *node) {
  bool done = false;
  DP_TRY(read_operands(node));
  DP_TRY(read_attrs(node));
  DP_TRY(dp_onnx_metadata_node(node));
  if (node->n_outputs > node->op->n_outputs && strcmp(node->op->name, "BatchNormalization"))
    return dp_fail(EX_UNAVAILABLE, "it has %d results, but %s gives %d here", node->n_outputs, node->op->name,
                   node->op->n_outputs);
  DP_TRY(dp_onnx_special(node, &done));
  if (done) return DP_OK;
  return is_chain(node) ? emit_chain(node) : dp_onnx_node_emit(node);
}

dp_status dp_onnx_node_add(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *message) {
  const char *domain = !strcmp(message->domain, "ai.onnx") ? "" : message->domain;
  const char *wanted = *domain ? message->op_type : dp_onnx_opset_name(message->op_type, scope->opset);
  const char *chain = *domain ? NULL : dp_onnx_opset_chain(wanted);
  dp_onnx_node node = {.reader = reader,
                       .scope = scope,
                       .message = message,
                       .name = dp_onnx_name(reader, scope, message),
                       .op = dp_op_find(domain, chain ? chain : wanted)};
  if (!node.op) {
    bool done = false;
    DP_TRY(dp_onnx_special_missing(reader, scope, domain, message, &done));
    if (!*domain && !done) DP_TRY(dp_onnx_sequence_read(reader, scope, message, &done));
    if (done) return DP_OK;
    return dp_fail(EX_UNAVAILABLE, "the operator %s%s%s (opset %lld) is not supported; `dpc ops` lists those that are",
                   domain, *domain ? "." : "", message->op_type, (long long)scope->opset);
  }
  return add_node(&node);
}
