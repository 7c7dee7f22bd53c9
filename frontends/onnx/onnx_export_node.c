// Writes nodes as in ONNX: attributes of ours that are operands there become constant operands, symbolic extents among
// them are computed from an input's shape, and attributes that ONNX does not know become metadata.
#include <string.h>

#include "frontends/onnx/onnx_writer.h"
#include "ir/graph/op.h"

// AttributeProto.AttributeType
enum { FLOAT = 1, INT, STRING, TENSOR, FLOATS = 6, INTS, STRINGS };

// Operators whose meaning is ours only since an opset newer than the oldest one written.
static const struct {
  const char *op;
  int64_t since;
} newer[] = {
    {"AffineGrid", 20}, {"Attention", 24},        {"Gelu", 20},  {"GridSample", 20},    {"GroupNormalization", 21},
    {"ReduceMax", 20},  {"RMSNormalization", 23}, {"Swish", 24}, {"TensorScatter", 24}, {"RotaryEmbedding", 23},
};

// Our own attributes of ONNX's operators: metadata of the node, which the reader restores.
static const struct {
  const char *op, *attribute;
} own[] = {{"BatchNormalization", "unbiased"},
           {"BatchNormalization", "groups"},
           {"Clip", DP_ATTR_GRAD_AT_BOUND},
           {"Gather", DP_ATTR_PADDING},
           {"Identity", DP_ATTR_DETACH}};

// Constant operands of one element that ONNX wants as a list of one.
static const struct { const char *op, *operand; } lists_of_one[] = {{"TopK", "K"}};

// Operators whose constant operands are single numbers, all present, of the type that this attribute of ours names.
static const struct { const char *op, *attribute; } numbers_of_type[] = {{"Range", "dtype"}};

static const char *type_attribute(const dp_op *op) {
  for (size_t i = 0; i < DP_COUNT(numbers_of_type) && !*op->domain; i++)
    if (!strcmp(numbers_of_type[i].op, op->name)) return numbers_of_type[i].attribute;
  return NULL;
}

static char *text_of(const char *text) { return (char *)(text ? text : ""); }

static Dp__Onnx__Node *add_node(dp_onnx_writer *w, const char *op, const char *name) {
  DP_ONNX_NEW(w->arena, Dp__Onnx__Node, dp__onnx__node__init, node);
  node->op_type = text_of(op);
  node->name = text_of(name);
  Dp__Onnx__Graph *g = w->message;
  DP_PUSH(w->arena, g->node, g->n_node, node);
  return node;
}

static void add_input(dp_onnx_writer *w, Dp__Onnx__Node *node, const char *name) {
  char *text = text_of(name);
  DP_PUSH(w->arena, node->input, node->n_input, text);
}

static void add_output(dp_onnx_writer *w, Dp__Onnx__Node *node, const char *name) {
  char *text = text_of(name);
  DP_PUSH(w->arena, node->output, node->n_output, text);
}

// ---- attributes -----------------------------------------------------------------------------------------------------

static Dp__Onnx__Attribute *add_attribute(dp_onnx_writer *w, Dp__Onnx__Node *node, const char *name, int type) {
  DP_ONNX_NEW(w->arena, Dp__Onnx__Attribute, dp__onnx__attribute__init, a);
  a->name = text_of(name);
  a->has_type = true;
  a->type = type;
  DP_PUSH(w->arena, node->attribute, node->n_attribute, a);
  return a;
}

static ProtobufCBinaryData bytes_of(dp_onnx_writer *w, const char *text) {
  return (ProtobufCBinaryData){strlen(text), (uint8_t *)dp_strdup(w->arena, text)};
}

static void add_strings(dp_onnx_writer *w, Dp__Onnx__Attribute *a, size_t count, const char *const *strings) {
  a->n_strings = count;
  a->strings = dp_alloc_n(w->arena, count, sizeof *a->strings);
  for (size_t i = 0; i < count; i++) a->strings[i] = bytes_of(w, strings[i]);
}

// Extents of one of our own operators: numbers, or, if they depend on the batch, one word as in the text form.
static void add_dims(dp_onnx_writer *w, Dp__Onnx__Node *node, const dp_attr *attr) {
  int64_t *ints = dp_alloc_n(w->arena, attr->count + 1, sizeof *ints);
  dp_shape shape = {.rank = (int)attr->count};
  for (size_t i = 0; i < attr->count; i++) {
    shape.dims[i] = attr->dims[i];
    ints[i] = attr->dims[i].offset;
  }
  bool symbolic = dp_shape_is_symbolic(&shape);
  Dp__Onnx__Attribute *a = add_attribute(w, node, attr->name, symbolic ? STRING : INTS);
  if (symbolic) {
    char text[32 * DP_MAX_RANK];
    a->has_s = true;
    a->s = bytes_of(w, dp_shape_print(&shape, text, sizeof text));
  } else {
    a->n_ints = attr->count;
    a->ints = ints;
  }
}

static void write_attribute(dp_onnx_writer *w, Dp__Onnx__Node *node, const dp_attr *attr) {
  static const int types[] = {
      [DP_ATTR_INT] = INT,       [DP_ATTR_FLOAT] = FLOAT,     [DP_ATTR_STRING] = STRING, [DP_ATTR_INTS] = INTS,
      [DP_ATTR_FLOATS] = FLOATS, [DP_ATTR_STRINGS] = STRINGS, [DP_ATTR_TENSOR] = TENSOR, [DP_ATTR_DIMS] = 0};
  if (attr->kind == DP_ATTR_DIMS) {
    add_dims(w, node, attr);
    return;
  }
  Dp__Onnx__Attribute *a = add_attribute(w, node, attr->name, types[attr->kind]);
  if (attr->kind == DP_ATTR_INT) {
    a->has_i = true;
    a->i = attr->i;
  } else if (attr->kind == DP_ATTR_FLOAT) {
    a->has_f = true;
    a->f = (float)attr->f;
  } else if (attr->kind == DP_ATTR_STRING) {
    a->has_s = true;
    a->s = bytes_of(w, attr->s);
  } else if (attr->kind == DP_ATTR_INTS) {
    a->n_ints = attr->count;
    a->ints = (int64_t *)attr->ints;
  } else if (attr->kind == DP_ATTR_FLOATS) {
    a->n_floats = attr->count;
    a->floats = dp_alloc_n(w->arena, attr->count, sizeof *a->floats);
    for (size_t i = 0; i < attr->count; i++) a->floats[i] = (float)attr->floats[i];
  } else if (attr->kind == DP_ATTR_STRINGS) {
    add_strings(w, a, attr->count, attr->strings);
  } else {
    a->t = dp_onnx_export_tensor(w->arena, "", attr->tensor);
  }
}

static bool is_own(const dp_node *node, const char *attribute) {
  for (size_t i = 0; i < DP_COUNT(own) && !*node->op->domain; i++)
    if (!strcmp(own[i].op, node->op->name) && !strcmp(own[i].attribute, attribute)) return true;
  return false;
}

static bool is_operand(const dp_op *op, const char *attribute) {
  for (int i = 0; i < op->n_inputs; i++)
    if (op->inputs[i].attribute && !strcmp(op->inputs[i].attribute, attribute)) return true;
  return false;
}

static void write_attributes(dp_onnx_writer *w, Dp__Onnx__Node *message, const dp_node *node) {
  for (int i = 0; i < node->n_attrs; i++) {
    const dp_attr *attr = &node->attrs[i];
    const char *implied = type_attribute(node->op);
    if (is_operand(node->op, attr->name) || (implied && !strcmp(implied, attr->name))) continue;
    if (!is_own(node, attr->name)) {
      write_attribute(w, message, attr);
      continue;
    }
    Dp__Onnx__StringStringEntry *entry =
        dp_onnx_export_entry(w->arena, dp_printf(w->arena, "dp.%s", attr->name),
                             dp_printf(w->arena, "%lld", (long long)dp_node_int(node, attr->name, 0)));
    DP_PUSH(w->arena, message->metadata_props, message->n_metadata_props, entry);
  }
  for (int i = 0; i < node->n_constraints; i++) {
    char text[64];
    dp_placement_print(node->constraints[i].placement, text, sizeof text);
    Dp__Onnx__StringStringEntry *entry = dp_onnx_export_entry(
        w->arena, dp_printf(w->arena, "dp.shard.%s", node->constraints[i].axis), dp_strdup(w->arena, text));
    DP_PUSH(w->arena, message->metadata_props, message->n_metadata_props, entry);
  }
}

// ---- constant operands ----------------------------------------------------------------------------------------------

static const char *add_initializer(dp_onnx_writer *w, const char *wanted, const dp_tensor *tensor) {
  const char *name = dp_names_unique(w->names, wanted);
  dp_names_add(w->names, name, 0);
  Dp__Onnx__Tensor *message = dp_onnx_export_tensor(w->arena, name, tensor);
  dp_onnx_export_initializer(w, message);
  return name;
}

static const char *add_ints(dp_onnx_writer *w, const char *wanted, int rank, size_t count, const int64_t *ints) {
  dp_tensor t = {.dtype = DP_INT64, .rank = rank, .extents = {(int64_t)count}, .bytes = count * 8, .data = ints};
  return add_initializer(w, wanted, &t);
}

static const char *add_result(dp_onnx_writer *w, Dp__Onnx__Node *node, const char *wanted) {
  const char *name = dp_names_unique(w->names, wanted);
  dp_names_add(w->names, name, 0);
  add_output(w, node, name);
  return name;
}

// The number of samples, int64[1]: an extent of some input.
static dp_status samples(dp_onnx_writer *w, const char **name) {
  for (int32_t i = 0; i < w->graph->n_values && !w->samples; i++) {
    const dp_value *x = w->graph->values[i];
    for (int d = 0; x->kind == DP_VALUE_INPUT && d < x->type->shape.rank; d++) {
      if (!dp_dim_equal(x->type->shape.dims[d], dp_dim_batch())) continue;
      Dp__Onnx__Node *node = add_node(w, "Shape", "dp.samples");
      add_input(w, node, dp_onnx_export_name(w, x));
      dp_attr start = dp_attr_int("start", d), end = dp_attr_int("end", d + 1);
      write_attribute(w, node, &start);
      write_attribute(w, node, &end);
      w->samples = add_result(w, node, "dp.samples");
      break;
    }
  }
  *name = w->samples;
  return *name ? DP_OK
               : dp_fail(EX_UNAVAILABLE, "it depends on the batch, but no input has an extent to compute that from");
}

static const char *combine(dp_onnx_writer *w, const char *op, const char *a, const char *b, const char *wanted) {
  Dp__Onnx__Node *node = add_node(w, op, wanted);
  add_input(w, node, a);
  add_input(w, node, b);
  return add_result(w, node, wanted);
}

// One extent, int64[1]. n: the number of samples, if it depends on that.
static const char *add_extent(dp_onnx_writer *w, const char *wanted, dp_dim d, const char *n) {
  int64_t *numbers = dp_alloc_n(w->arena, 2, sizeof *numbers);
  numbers[0] = d.scale;
  numbers[1] = d.offset;
  if (!d.scale) return add_ints(w, wanted, 1, 1, numbers + 1);
  const char *name = d.scale == 1 ? n : combine(w, "Mul", n, add_ints(w, wanted, 1, 1, numbers), wanted);
  return d.offset ? combine(w, "Add", name, add_ints(w, wanted, 1, 1, numbers + 1), wanted) : name;
}

// Concatenates extents that include the batch.
static dp_status add_symbolic(dp_onnx_writer *w, const char *wanted, const dp_attr *attr, const char **name) {
  const char *n, **parts = dp_alloc_n(w->arena, attr->count, sizeof *parts);
  DP_TRY(samples(w, &n));
  for (size_t i = 0; i < attr->count; i++) parts[i] = add_extent(w, wanted, attr->dims[i], n);
  Dp__Onnx__Node *join = add_node(w, "Concat", wanted);
  for (size_t i = 0; i < attr->count; i++) add_input(w, join, parts[i]);
  dp_attr axis = dp_attr_int("axis", 0);
  write_attribute(w, join, &axis);
  *name = add_result(w, join, wanted);
  return DP_OK;
}

static dp_status add_extents(dp_onnx_writer *w, const char *wanted, const dp_op *op, const dp_attr *attr,
                             const char **name) {
  int64_t *ints = dp_alloc_n(w->arena, attr->count + 1, sizeof *ints);
  bool zero = false;
  int open = 0;
  for (size_t i = 0; i < attr->count; i++) {
    bool symbolic = dp_dim_is_symbolic(attr->dims[i]);
    ints[i] = symbolic ? -1 : attr->dims[i].offset;
    open += ints[i] == -1;
    zero |= !ints[i];
  }
  // Reshape derives one extent itself.
  bool found_out = !strcmp(op->name, "Reshape") && open == 1 && !zero;
  if (open && !found_out) return add_symbolic(w, wanted, attr, name);
  *name = add_ints(w, wanted, 1, attr->count, ints);
  return DP_OK;
}

// The element type of a constant operand: the first operand's, if it may be that, for floats; else int64 or bool.
static dp_dtype dtype_of(const dp_node *node, const dp_operand_schema *schema, const dp_attr *attr) {
  bool floats = attr->kind == DP_ATTR_FLOAT || attr->kind == DP_ATTR_FLOATS;
  const dp_value *x = node->n_inputs ? node->inputs[0] : NULL;
  if (floats && x && (schema->types & DP_BIT(x->type->dtype))) return x->type->dtype;
  if (floats) return DP_FLOAT32;
  return schema->types & DP_BIT(DP_INT64) ? DP_INT64 : DP_BOOL;
}

static const char *add_numbers(dp_onnx_writer *w, const char *wanted, const dp_node *node,
                               const dp_operand_schema *schema, const dp_attr *attr) {
  bool list = attr->kind == DP_ATTR_INTS || attr->kind == DP_ATTR_FLOATS;
  size_t count = list ? attr->count : 1;
  dp_tensor t = {.dtype = dtype_of(node, schema, attr), .rank = list};
  for (size_t i = 0; i < DP_COUNT(lists_of_one); i++)
    if (!strcmp(lists_of_one[i].op, node->op->name) && !strcmp(lists_of_one[i].operand, schema->name)) t.rank = 1;
  t.extents[0] = (int64_t)count;
  size_t each = dp_type_bytes(t.dtype);
  char *data = dp_alloc(w->arena, (t.bytes = count * each) + 1);
  for (size_t i = 0; i < count; i++) {
    if (attr->kind == DP_ATTR_INT || attr->kind == DP_ATTR_INTS) {
      int64_t number = list ? attr->ints[i] : attr->i;
      memcpy(data + i * each, &number, each);
    } else {
      dp_element_set(t.dtype, data + i * each, list ? attr->floats[i] : attr->f);
    }
  }
  t.data = data;
  return add_initializer(w, wanted, &t);
}

static double default_of(const dp_op *op, const char *attribute) {
  for (int i = 0; i < DP_MAX_ATTRS && op->attrs[i].name; i++)
    if (!strcmp(op->attrs[i].name, attribute)) return op->attrs[i].number;
  return 0;
}

// A single number of the type that the node names: given, the schema's default, or computed from the number of samples.
static dp_status add_typed(dp_onnx_writer *w, const char *wanted, const dp_node *node, const char *attribute,
                           const char **name) {
  const dp_attr *attr = dp_node_attr(node, attribute);
  const dp_dtype dtype = (dp_dtype)dp_node_int(node, type_attribute(node->op), DP_INT64);
  dp_dim number = dp_dim_of(attr ? attr->i : (int64_t)default_of(node->op, attribute));
  if (attr && attr->kind == DP_ATTR_DIMS) number = attr->dims[0];
  if (!dp_dim_is_symbolic(number)) {
    dp_tensor t = {.dtype = dtype, .bytes = dp_type_bytes(dtype), .data = dp_alloc(w->arena, 8)};
    if (dp_type_is_float(dtype))
      dp_element_set(dtype, (void *)(uintptr_t)t.data, (double)number.offset);
    else
      memcpy((void *)(uintptr_t)t.data, &number.offset, t.bytes);
    *name = add_initializer(w, wanted, &t);
    return DP_OK;
  }
  const char *n;
  DP_TRY(samples(w, &n));
  Dp__Onnx__Node *scalar = add_node(w, "Squeeze", wanted);
  add_input(w, scalar, add_extent(w, wanted, number, n));
  *name = add_result(w, scalar, wanted);
  if (dtype == DP_INT64) return DP_OK;
  Dp__Onnx__Node *cast = add_node(w, "Cast", wanted);
  add_input(w, cast, *name);
  dp_attr to = dp_attr_int("to", dtype);
  write_attribute(w, cast, &to);
  *name = add_result(w, cast, wanted);
  return DP_OK;
}

static dp_status operand_of(dp_onnx_writer *w, const dp_node *node, int i, const char **name) {
  const dp_operand_schema *schema = &node->op->inputs[i < node->op->n_inputs ? i : node->op->n_inputs - 1];
  *name = i < node->n_inputs && node->inputs[i] ? dp_onnx_export_name(w, node->inputs[i]) : NULL;
  const char *wanted = dp_printf(w->arena, "%s/%s", node->name, schema->name);
  if (type_attribute(node->op)) return add_typed(w, wanted, node, schema->attribute, name);
  const dp_attr *attr = !*name && schema->attribute ? dp_node_attr(node, schema->attribute) : NULL;
  if (!attr) return DP_OK;
  if (attr->kind == DP_ATTR_TENSOR)
    *name = add_initializer(w, wanted, attr->tensor);
  else if (attr->kind != DP_ATTR_DIMS)
    *name = add_numbers(w, wanted, node, schema, attr);
  else
    DP_TRY(dp_status_context(add_extents(w, wanted, node->op, attr, name), "'%s'", schema->name));
  return DP_OK;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

void dp_onnx_export_constant(dp_onnx_writer *w, const dp_value *value) {
  const char *name = dp_onnx_export_name(w, value);
  Dp__Onnx__Node *node = add_node(w, "Constant", name);
  add_attribute(w, node, "value", TENSOR)->t = dp_onnx_export_tensor(w->arena, "", value->constant);
  add_output(w, node, name);
}

static dp_status write_node(dp_onnx_writer *w, const dp_node *node) {
  const dp_op *op = node->op;
  int n_inputs = op->variadic || op->n_inputs < node->n_inputs ? node->n_inputs : op->n_inputs;
  const char **inputs = dp_alloc_n(w->arena, (size_t)n_inputs + 1, sizeof *inputs);
  for (int i = 0; i < n_inputs; i++) DP_TRY(operand_of(w, node, i, &inputs[i]));
  while (n_inputs && !inputs[n_inputs - 1]) n_inputs--;
  Dp__Onnx__Node *message = add_node(w, op->name, node->name);
  message->domain = text_of(op->domain);
  for (int i = 0; i < n_inputs; i++) add_input(w, message, inputs[i]);
  for (int k = 0; k < node->n_outputs; k++)
    add_output(w, message, node->outputs[k] ? dp_onnx_export_name(w, node->outputs[k]) : NULL);
  while (message->n_output && !*message->output[message->n_output - 1]) message->n_output--;
  write_attributes(w, message, node);
  dp_onnx_devices_write(w, node, message);
  w->own |= *op->domain != 0;
  for (size_t i = 0; i < DP_COUNT(newer) && !*op->domain; i++)
    if (!strcmp(newer[i].op, op->name)) w->opset = dp_max_i64(w->opset, newer[i].since);
  return DP_OK;
}

dp_status dp_onnx_export_node(dp_onnx_writer *w, const dp_node *node) {
  return dp_status_context(write_node(w, node), "node '%s' (%s)", node->name, node->op->name);
}
