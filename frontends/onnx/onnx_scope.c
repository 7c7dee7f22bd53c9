// What the names of an ONNX graph stand for, in whatever form that first occurs, and the other forms derived from it.
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

// Types whose elements are tracked as integers.
#define KNOWN_INTS (DP_INTS | DP_BIT(DP_BOOL))

dp_onnx_scope *dp_onnx_scope_create(dp_onnx_reader *reader, const char *prefix, int64_t opset) {
  dp_onnx_scope *scope = dp_alloc(reader->arena, sizeof *scope);
  scope->names = dp_names_create(reader->arena);
  scope->prefix = prefix;
  scope->opset = opset;
  return scope;
}

dp_status dp_onnx_scope_alias(dp_onnx_reader *reader, dp_onnx_scope *scope, const char *name,
                              dp_onnx_binding *binding) {
  if (!*name) return dp_fail(EX_DATAERR, "a value has no name");
  if (dp_names_find(scope->names, name) >= 0) return dp_fail(EX_DATAERR, "two values are called '%s'", name);
  dp_names_add(scope->names, name, scope->count);
  DP_PUSH(reader->arena, scope->bindings, scope->count, binding);
  return DP_OK;
}

dp_status dp_onnx_scope_bind(dp_onnx_reader *reader, dp_onnx_scope *scope, const char *name, dp_onnx_binding binding) {
  if (!binding.name) binding.name = *scope->prefix ? dp_printf(reader->arena, "%s%s", scope->prefix, name) : name;
  return dp_onnx_scope_alias(reader, scope, name, dp_memdup(reader->arena, &binding, sizeof binding));
}

dp_status dp_onnx_scope_find(const dp_onnx_scope *scope, const char *name, dp_onnx_binding **binding) {
  *binding = NULL;
  if (!*name) return DP_OK;
  int32_t i = dp_names_find(scope->names, name);
  if (i < 0 && scope->outer) return dp_onnx_scope_find(scope->outer, name, binding);
  if (i < 0)
    return dp_fail(EX_DATAERR,
                   "'%s' is used but is no input, no initializer and no result of a node before: it is missing, the "
                   "graph has a cycle, or its nodes are out of order",
                   name);
  *binding = scope->bindings[i];
  return DP_OK;
}

dp_status dp_onnx_scope_find_tensor(const dp_onnx_scope *scope, const char *name, dp_onnx_binding **binding) {
  DP_TRY(dp_onnx_scope_find(scope, name, binding));
  if (!*binding || !(*binding)->sequence) return DP_OK;
  return dp_fail(EX_DATAERR, "'%s' is a sequence where a tensor is expected", name);
}

// ---- forms ----------------------------------------------------------------------------------------------------------

static dp_type type_of_extents(dp_dtype dtype, int rank, const int64_t *extents) {
  dp_type type = {dtype, {.rank = rank}};
  for (int i = 0; i < rank; i++) type.shape.dims[i] = dp_dim_of(extents[i]);
  return type;
}

dp_type dp_onnx_scope_type(const dp_onnx_binding *b) {
  if (b->value) return *b->value->type;
  if (b->progression) return dp_onnx_progression_type(b->progression);
  if (b->tensor) return type_of_extents(b->tensor->dtype, b->tensor->rank, b->tensor->extents);
  return type_of_extents(b->known->dtype, b->known->rank, b->known->extents);
}

static int64_t integer_at(const dp_tensor *t, int64_t i) {
  switch (t->dtype) {
    case DP_INT64:
      return ((const int64_t *)t->data)[i];
    case DP_UINT64:
      return (int64_t)((const uint64_t *)t->data)[i];
    default:
      return (int64_t)dp_tensor_get(t, i);
  }
}

const dp_onnx_known *dp_onnx_scope_known(dp_onnx_reader *reader, dp_onnx_binding *b) {
  const dp_tensor *t = b->tensor;
  if (b->known || !t) return b->known;
  bool is_float = DP_BIT(t->dtype) & DP_FLOATS;
  // The present value of a float initializer does not count if it will be trained.
  if (is_float ? b->initializer && b->role != DP_ONNX_FIXED : !(DP_BIT(t->dtype) & KNOWN_INTS)) return NULL;
  dp_onnx_known *known = dp_onnx_fold_make(reader, t->dtype, t->rank, t->extents);
  for (int64_t i = 0; known && i < known->count; i++) {
    if (is_float)
      known->numbers[i].f = dp_tensor_get(t, i);
    else
      known->numbers[i].i = dp_dim_of(integer_at(t, i));
  }
  return b->known = known;
}

static void store(dp_dtype dtype, const dp_onnx_number *number, char *element) {
  if (DP_BIT(dtype) & DP_FLOATS)
    dp_element_set(dtype, element, number->f);
  else
    memcpy(element, &number->i.offset, dp_type_bytes(dtype));
}

const dp_tensor *dp_onnx_scope_tensor(dp_onnx_reader *reader, dp_onnx_binding *b) {
  const dp_onnx_known *known = b->known;
  if (b->tensor || !known) return b->tensor;
  for (int64_t i = 0; i < known->count; i++)
    if (dp_dim_is_symbolic(known->numbers[i].i)) return NULL;
  dp_tensor *t = dp_alloc(reader->arena, sizeof *t);
  size_t each = dp_type_bytes(known->dtype);
  t->dtype = known->dtype;
  t->rank = known->rank;
  memcpy(t->extents, known->extents, sizeof t->extents);
  t->bytes = (size_t)known->count * each;
  char *data = dp_alloc(reader->arena, t->bytes + 1);
  for (int64_t i = 0; i < known->count; i++) store(known->dtype, &known->numbers[i], data + (size_t)i * each);
  t->data = data;
  return b->tensor = t;
}

// ---- values ---------------------------------------------------------------------------------------------------------

static dp_status make_parameter(dp_onnx_reader *reader, dp_onnx_binding *b) {
  dp_variable p = {.name = b->name,
                   .kind = b->role == DP_ONNX_KEPT ? DP_BUFFER : DP_PARAMETER,
                   .type = &(dp_type){b->tensor->dtype, dp_tensor_shape(b->tensor)},
                   .init = {.kind = DP_INIT_TENSOR, .tensor = b->tensor}};
  DP_TRY(dp_status_context(dp_variable_check_name(&p), "initializer '%s'", b->name));
  b->value = dp_graph_variable(reader->graph, dp_model_add_variable(reader->model, &p));
  return DP_OK;
}

// A transposed or reshaped parameter.
static dp_status make_form(dp_onnx_reader *reader, dp_onnx_binding *b) {
  dp_value *x;
  DP_TRY(dp_onnx_scope_value(reader, b->source, &x));
  dp_builder builder = {.graph = reader->graph, .prefix = b->name};
  const dp_shape shape = dp_tensor_shape(b->tensor);
  const int64_t swapped[] = {1, 0};
  const dp_attr perm = dp_attr_ints(reader->arena, "perm", swapped, 2);
  b->value =
      b->transposed ? dp_build(&builder, "Transpose", 1, &x, 1, 1, &perm) : dp_build_reshape(&builder, x, &shape);
  return builder.status;
}

// Elements a * n + b: two constant tensors and the number of samples. Elements that do not depend on it may be
// fractions.
static dp_status make_symbolic(dp_onnx_reader *reader, dp_onnx_binding *b) {
  dp_onnx_known scale = *b->known, offset = *b->known;
  bool floats = dp_type_is_float(b->known->dtype);
  scale.dtype = offset.dtype = floats ? DP_FLOAT64 : DP_INT64;
  scale.numbers = dp_alloc_n(reader->arena, (size_t)scale.count, sizeof *scale.numbers);
  offset.numbers = dp_alloc_n(reader->arena, (size_t)scale.count, sizeof *scale.numbers);
  for (int64_t i = 0; i < scale.count; i++) {
    scale.numbers[i].i = dp_dim_of(b->known->numbers[i].i.scale);
    offset.numbers[i].i = dp_dim_of(b->known->numbers[i].i.offset);
    scale.numbers[i].f = (double)b->known->numbers[i].i.scale;
    offset.numbers[i].f =
        dp_dim_is_symbolic(b->known->numbers[i].i) ? (double)b->known->numbers[i].i.offset : b->known->numbers[i].f;
  }
  dp_onnx_binding parts[] = {{.name = b->name, .known = &scale}, {.name = b->name, .known = &offset}};
  dp_value *factor = dp_graph_add_constant(reader->graph, dp_printf(reader->arena, "%s/scale", b->name),
                                           dp_onnx_scope_tensor(reader, &parts[0]));
  dp_value *term = dp_graph_add_constant(reader->graph, dp_printf(reader->arena, "%s/offset", b->name),
                                         dp_onnx_scope_tensor(reader, &parts[1]));
  dp_builder builder = {.graph = reader->graph, .prefix = b->name};
  dp_value *n = dp_build_scalar(&builder, DP_SCALAR_N, scale.dtype);
  dp_value *sum = dp_build2(&builder, "Add", dp_build2(&builder, "Mul", factor, n), term);
  b->value = dp_build_cast(&builder, sum, b->known->dtype);
  return builder.status;
}

dp_status dp_onnx_scope_value(dp_onnx_reader *reader, dp_onnx_binding *b, dp_value **value) {
  if (b->sequence)
    return dp_fail(EX_UNAVAILABLE, "'%s' is a sequence of tensors, which is supported as an intermediate step only",
                   b->name);
  if (!b->value && b->progression) {
    DP_TRY(dp_onnx_progression_value(reader, b->name, b->progression, &b->value));
  } else if (!b->value) {
    if (b->initializer && !strncmp(b->name, "dp.", 3))
      return dp_fail(EX_DATAERR, "initializer '%s': names that begin with 'dp.' are reserved for the compiler",
                     b->name);
    const dp_tensor *tensor = dp_onnx_scope_tensor(reader, b);
    if (b->source)
      DP_TRY(make_form(reader, b));
    else if (!tensor)
      DP_TRY(make_symbolic(reader, b));
    else if (b->initializer && b->role != DP_ONNX_FIXED && dp_type_is_float(tensor->dtype))
      DP_TRY(make_parameter(reader, b));
    else
      b->value = dp_graph_add_constant(reader->graph, b->name, tensor);
  }
  *value = b->value;
  return DP_OK;
}
