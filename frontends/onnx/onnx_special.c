// Operators whose form changed in ways that tables cannot express, and those composed from ours.
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

// Before opset 13 the operand is viewed as a matrix, [dims before axis, dims from axis on], and axis defaults to 1.
static dp_status along_rows(dp_onnx_node *node, bool *done) {
  if (node->scope->opset >= 13 || node->n_inputs != 1 || node->n_outputs != 1) return DP_OK;
  const dp_attr *given = dp_onnx_node_get(node, "axis");
  dp_type type = dp_onnx_scope_type(node->inputs[0]);
  int64_t rank = type.shape.rank, axis = given && given->kind == DP_ATTR_INT ? given->i : 1;
  if (axis < -rank || axis > rank)
    return dp_fail(EX_DATAERR, "axis is %lld where the operand has rank %lld", (long long)axis, (long long)rank);
  if (axis < 0) axis += rank;
  dp_onnx_node_set(node, dp_attr_int("axis", -1));
  if (axis == rank - 1) return DP_OK;
  dp_builder builder = {.graph = node->reader->graph, .prefix = node->name};
  dp_attr from = dp_attr_int("axis", axis), last = dp_attr_int("axis", -1);
  dp_value *x;
  DP_TRY(dp_onnx_scope_value(node->reader, node->inputs[0], &x));
  dp_value *matrix = dp_build(&builder, "Flatten", 1, &x, 1, 1, &from);
  dp_value *rows = dp_build(&builder, node->op->name, 1, &matrix, 1, 1, &last);
  dp_value *y = dp_build_reshape(&builder, rows, &type.shape);
  DP_TRY(builder.status);
  *done = true;
  return dp_onnx_scope_bind(node->reader, node->scope, node->outputs[0], (dp_onnx_binding){.value = y});
}

// ONNX gives scale and bias a type of their own. Ours have that of the statistics; where it is the narrower one, the
// operator refuses them.
static dp_status join_types(dp_onnx_node *node) {
  if (node->n_inputs != 5 || !node->inputs[3]) return DP_OK;
  dp_builder b = {.graph = node->reader->graph, .prefix = node->name};
  const dp_dtype to = dp_onnx_scope_type(node->inputs[3]).dtype;
  for (int i = 1; i < 3; i++) {
    if (!node->inputs[i] || !dp_type_is_float(to)) continue;
    const dp_dtype from = dp_onnx_scope_type(node->inputs[i]).dtype;
    if (!dp_type_is_float(from) || dp_type_bytes(from) >= dp_type_bytes(to)) continue;
    dp_value *x;
    DP_TRY(dp_onnx_scope_value(node->reader, node->inputs[i], &x));
    const dp_onnx_binding binding = {.name = node->inputs[i]->name, .value = dp_build_cast(&b, x, to)};
    node->inputs[i] = dp_memdup(node->reader->arena, &binding, sizeof binding);
  }
  return b.status;
}

// Before opset 14, results beyond the first mean training. Running statistics that belong to the model follow PyTorch,
// which exported them: the variance is the unbiased one.
static dp_status normalization(dp_onnx_node *node, bool *done) {
  (void)done;
  if (node->scope->opset < 7)
    dp_onnx_node_set(node, dp_attr_int("training_mode", !dp_onnx_attr_int(node->message, "is_test", 0)));
  if (node->scope->opset < 14) {
    if (node->n_outputs > 1) dp_onnx_node_set(node, dp_attr_int("training_mode", 1));
    if (node->n_outputs > 3) node->n_outputs = 3;  // only old gradients used the saved ones
  }
  const dp_attr *training = dp_onnx_node_get(node, "training_mode");
  bool own = node->n_inputs == 5;
  for (int i = 3; i < 5 && own; i++) own = node->inputs[i] && node->inputs[i]->initializer;
  if (own && training && training->kind == DP_ATTR_INT && training->i && !dp_onnx_node_get(node, "unbiased"))
    dp_onnx_node_set(node, dp_attr_int("unbiased", 1));
  return join_types(node);
}

// Before opset 7, `broadcast` and `axis` lined up the second operand's dims with the first's from that axis on; a
// PRelu's slopes always lined up with axis 1. Appending dims of 1 has the same effect.
static dp_status broadcast(dp_onnx_node *node, bool *done) {
  (void)done;
  bool slopes = !strcmp(node->op->name, "PRelu");
  if (node->scope->opset >= 7 || node->n_inputs != 2 || !node->inputs[0] || !node->inputs[1]) return DP_OK;
  int rank = dp_onnx_scope_type(node->inputs[0]).shape.rank;
  dp_shape shape = dp_onnx_scope_type(node->inputs[1]).shape;
  bool asked = dp_onnx_attr_int(node->message, "broadcast", 0) && dp_onnx_attr_find(node->message, "axis");
  if (slopes ? shape.rank != 1 || dp_dim_is(shape.dims[0], 1) : !asked) return DP_OK;
  int64_t axis = slopes ? 1 : dp_onnx_attr_int(node->message, "axis", 0), first = axis < 0 ? axis + rank : axis;
  if (first < 0 || first > rank || first + shape.rank > rank)
    return dp_fail(EX_DATAERR, "axis is %lld where operands of rank %d and %d meet", (long long)axis, rank, shape.rank);
  while (first + shape.rank < rank) shape.dims[shape.rank++] = dp_dim_of(1);
  dp_value *value;
  DP_TRY(dp_onnx_scope_value(node->reader, node->inputs[1], &value));
  dp_builder builder = {.graph = node->reader->graph, .prefix = node->name};
  dp_onnx_binding binding = {.name = node->inputs[1]->name, .value = dp_build_reshape(&builder, value, &shape)};
  node->inputs[1] = dp_memdup(node->reader->arena, &binding, sizeof binding);
  return builder.status;
}

// Types that ONNX has but our operator does not take or make.
static dp_status check_cast(dp_dtype from, dp_dtype to) {
  const dp_op *op = dp_op_find("", "Cast");
  bool taken = op->inputs[0].types & DP_BIT(from), made = op->outputs[0].types & DP_BIT(to);
  if (taken && made) return DP_OK;
  return dp_fail(EX_UNAVAILABLE, "%s is not supported; `dpc ops Cast` lists the types that are",
                 dp_type_name(taken ? to : from));
}

static dp_status cast(dp_onnx_node *node, bool *done) {
  (void)done;
  dp_dtype to;
  DP_TRY(dp_onnx_tensor_dtype((int32_t)dp_onnx_attr_int(node->message, "to", 0), "the result", &to));
  return node->n_inputs == 1 ? check_cast(dp_onnx_scope_type(node->inputs[0]).dtype, to) : DP_OK;
}

// The modulo of floats with the divisor's sign: the remainder with the dividend's sign, plus the divisor where the
// signs differ.
static dp_status modulo(dp_onnx_node *node, bool *done) {
  if (node->n_inputs != 2 || node->n_outputs != 1 || !node->inputs[0] || !node->inputs[1] || !node->outputs[0] ||
      !dp_type_is_float(dp_onnx_scope_type(node->inputs[0]).dtype) || dp_onnx_attr_int(node->message, "fmod", 0))
    return DP_OK;
  dp_builder b = {.graph = node->reader->graph, .prefix = node->name};
  dp_value *in[2];
  for (int i = 0; i < 2; i++) DP_TRY(dp_onnx_scope_value(node->reader, node->inputs[i], &in[i]));
  dp_attr fmod = dp_attr_int("fmod", 1);
  dp_value *zero = dp_build_fill(&b, in[1]->type->dtype, 0), *rest = dp_build(&b, "Mod", 2, in, 1, 1, &fmod);
  // Tests both signs, because the product of two numbers that are not 0 could be 0.
  dp_value *above = dp_build2(&b, "And", dp_build2(&b, "Greater", rest, zero), dp_build2(&b, "Less", in[1], zero));
  dp_value *below = dp_build2(&b, "And", dp_build2(&b, "Less", rest, zero), dp_build2(&b, "Greater", in[1], zero));
  dp_value *more[] = {dp_build2(&b, "Or", above, below), dp_build2(&b, "Add", rest, in[1]), rest};
  dp_value *y = dp_build(&b, "Where", 3, more, 1, 0, NULL);
  DP_TRY(b.status);
  *done = true;
  return dp_onnx_scope_bind(node->reader, node->scope, node->outputs[0], (dp_onnx_binding){.value = y});
}

// Indices may be floats that are whole numbers.
static dp_status one_hot(dp_onnx_node *node, bool *done) {
  (void)done;
  if (!node->n_inputs || !node->inputs[0] || !dp_type_is_float(dp_onnx_scope_type(node->inputs[0]).dtype)) return DP_OK;
  dp_builder b = {.graph = node->reader->graph, .prefix = node->name};
  dp_value *x;
  DP_TRY(dp_onnx_scope_value(node->reader, node->inputs[0], &x));
  dp_onnx_binding binding = {.name = node->inputs[0]->name, .value = dp_build_cast(&b, x, DP_INT64)};
  node->inputs[0] = dp_memdup(node->reader->arena, &binding, sizeof binding);
  return b.status;
}

// Before opset 20 the axis defaults to 1.
static dp_status transform(dp_onnx_node *node, bool *done) {
  (void)done;
  if (node->scope->opset < 20 && node->n_inputs < 3 && !dp_onnx_node_get(node, "axis"))
    dp_onnx_node_set(node, dp_attr_int("axis", 1));
  return DP_OK;
}

// Opset 10 has no roi before the scales, and only one coordinate mode.
static dp_status resize(dp_onnx_node *node, bool *done) {
  (void)done;
  if (node->scope->opset >= 11 || node->n_inputs != 2) return DP_OK;
  dp_onnx_binding *scales = node->inputs[1];
  DP_PUSH(node->reader->arena, node->inputs, node->n_inputs, scales);
  node->inputs[1] = NULL;
  dp_onnx_node_set(node, dp_attr_string("coordinate_transformation_mode", "asymmetric"));
  dp_onnx_node_set(node, dp_attr_string("nearest_mode", "floor"));
  return DP_OK;
}

dp_status dp_onnx_special(dp_onnx_node *node, bool *done) {
  static const struct {
    const char *op;
    dp_status (*function)(dp_onnx_node *node, bool *done);
  } table[] = {{"Softmax", along_rows},
               {"LogSoftmax", along_rows},
               {"Hardmax", along_rows},
               {"DFT", transform},
               {"Resize", resize},
               {"BatchNormalization", normalization},
               {"Cast", cast},
               {"Mod", modulo},
               {"OneHot", one_hot},
               {"Range", dp_onnx_affine_range},
               {"Slice", dp_onnx_affine_slice},
               {"Tile", dp_onnx_affine_tile},
               {"Add", broadcast},
               {"Sub", broadcast},
               {"Mul", broadcast},
               {"Div", broadcast},
               {"Pow", broadcast},
               {"And", broadcast},
               {"Or", broadcast},
               {"Xor", broadcast},
               {"Equal", broadcast},
               {"Less", broadcast},
               {"Greater", broadcast},
               {"PRelu", broadcast}};
  for (size_t i = 0; i < DP_COUNT(table); i++)
    if (!*node->op->domain && !strcmp(node->op->name, table[i].op)) return table[i].function(node, done);
  return DP_OK;
}

// ---- without an operator of ours ------------------------------------------------------------------------------------

// One number, expanded.
static dp_status constant_of_shape(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, bool *done) {
  const Dp__Onnx__Attribute *given = dp_onnx_attr_find(m, "value");
  dp_onnx_binding *shape;
  if (m->n_input != 1 || m->n_output != 1) return dp_fail(EX_DATAERR, "one operand and one result are expected");
  DP_TRY(dp_onnx_scope_find(scope, m->input[0], &shape));
  const dp_onnx_known *extents = shape ? dp_onnx_scope_known(reader, shape) : NULL;
  if (!extents || extents->dtype != DP_INT64 || extents->count > DP_MAX_RANK)
    return dp_fail(EX_UNAVAILABLE, "its operand is computed from data, or is no shape of at most %d extents",
                   DP_MAX_RANK);
  dp_tensor number = {.dtype = DP_FLOAT32, .bytes = 4, .data = dp_alloc(reader->arena, 4)};
  if (given) {
    dp_attr attr;
    DP_TRY(dp_onnx_attr_read(reader, given, &attr));
    if (attr.kind != DP_ATTR_TENSOR || dp_tensor_count(attr.tensor) != 1)
      return dp_fail(EX_DATAERR, "'value' is no tensor of one element");
    number = *attr.tensor;
    number.rank = 0;
  }
  dp_shape target = {.rank = (int)extents->count};
  for (int d = 0; d < target.rank; d++) target.dims[d] = extents->numbers[d].i;
  DP_TRY(dp_shape_check(&target, 1));
  const char *name = dp_onnx_name(reader, scope, m);
  dp_builder builder = {.graph = reader->graph, .prefix = name};
  dp_value *x = dp_graph_add_constant(reader->graph, dp_printf(reader->arena, "%s/value", name),
                                      dp_memdup(reader->arena, &number, sizeof number));
  dp_attr attr = dp_attr_dims(reader->arena, "shape", &target);
  dp_value *y = target.rank ? dp_build(&builder, "Expand", 1, &x, 1, 1, &attr) : x;
  DP_TRY(builder.status);
  *done = true;
  return dp_onnx_scope_bind(reader, scope, m->output[0], (dp_onnx_binding){.value = y});
}

// Casts to the other operand's type.
static dp_status cast_like(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, bool *done) {
  dp_onnx_binding *x, *like;
  if (m->n_input != 2 || m->n_output != 1) return dp_fail(EX_DATAERR, "two operands and one result are expected");
  DP_TRY(dp_onnx_scope_find_tensor(scope, m->input[0], &x));
  DP_TRY(dp_onnx_scope_find_tensor(scope, m->input[1], &like));
  if (!x || !like) return dp_fail(EX_DATAERR, "an operand is missing");
  const dp_dtype to = dp_onnx_scope_type(like).dtype;
  const dp_onnx_known *known = dp_onnx_scope_known(reader, x);
  const Dp__Onnx__Attribute *mode = dp_onnx_attr_find(m, "round_mode");
  dp_attr attrs[3] = {dp_attr_int("to", to), dp_attr_int("saturate", dp_onnx_attr_int(m, "saturate", 1))};
  if (mode) DP_TRY(dp_onnx_attr_read(reader, mode, &attrs[2]));
  if (known) known = dp_onnx_arithmetic_cast(reader, known, to);
  *done = true;
  if (known) return dp_onnx_scope_bind(reader, scope, m->output[0], (dp_onnx_binding){.known = known});
  dp_value *value;
  DP_TRY(check_cast(dp_onnx_scope_type(x).dtype, to));
  DP_TRY(dp_onnx_scope_value(reader, x, &value));
  dp_builder builder = {.graph = reader->graph, .prefix = dp_onnx_name(reader, scope, m)};
  dp_value *y = dp_build(&builder, "Cast", 1, &value, 1, mode ? 3 : 2, attrs);
  DP_TRY(builder.status);
  return dp_onnx_scope_bind(reader, scope, m->output[0], (dp_onnx_binding){.value = y});
}

// Whether an optional has an element is known, so it is represented by that element.
static dp_status optional(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, bool *done) {
  dp_onnx_binding *x = NULL;
  bool asks = !strcmp(m->op_type, "OptionalHasElement");
  if (m->n_output != 1) return dp_fail(EX_DATAERR, "one result is expected");
  if (m->n_input) DP_TRY(dp_onnx_scope_find(scope, m->input[0], &x));
  *done = true;
  if (!asks && !x) return dp_fail(EX_UNAVAILABLE, "it has no element, which is not supported");
  if (!asks) return dp_onnx_scope_alias(reader, scope, m->output[0], x);
  dp_onnx_known *has = dp_onnx_fold_make(reader, DP_BOOL, 0, NULL);
  if (!has) return dp_fail(EX_DATAERR, "more numbers are known than are taken");
  has->numbers[0].i = dp_dim_of(x != NULL);
  return dp_onnx_scope_bind(reader, scope, m->output[0], (dp_onnx_binding){.known = has});
}

static const struct {
  const char *op;
  dp_status (*function)(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *message, bool *done);
  const char *domain;  // NULL: ONNX's own
} missing[] = {{"ConstantOfShape", constant_of_shape, NULL},
               {"CastLike", cast_like, NULL},
               {"Optional", optional, NULL},
               {"OptionalGetElement", optional, NULL},
               {"OptionalHasElement", optional, NULL},
               {"HannWindow", dp_onnx_signal_window, NULL},
               {"HammingWindow", dp_onnx_signal_window, NULL},
               {"BlackmanWindow", dp_onnx_signal_window, NULL},
               {"MelWeightMatrix", dp_onnx_signal_mel, NULL},
               {"FlexAttention", dp_onnx_flex_attention, "ai.onnx.preview"},
               {"If", dp_onnx_control_if, NULL},
               {"Loop", dp_onnx_control_loop, NULL},
               {"Scan", dp_onnx_control_scan, NULL}};

static size_t find_missing(const char *domain, const char *op) {
  size_t i = 0;
  while (i < DP_COUNT(missing) &&
         (strcmp(missing[i].op, op) || strcmp(missing[i].domain ? missing[i].domain : "", domain)))
    i++;
  return i;
}

dp_status dp_onnx_special_missing(dp_onnx_reader *reader, dp_onnx_scope *scope, const char *domain,
                                  const Dp__Onnx__Node *message, bool *done) {
  size_t i = find_missing(domain, message->op_type);
  return i < DP_COUNT(missing) ? missing[i].function(reader, scope, message, done) : DP_OK;
}

bool dp_onnx_special_knows(const char *domain, const char *op) { return find_missing(domain, op) < DP_COUNT(missing); }
