// Evaluates what is known before anything runs: constants, shapes, and what is computed from them. Elements may be
// symbolic in the batch (extent a * N + b), so that Shape -> Gather -> Concat -> Reshape becomes a Reshape to
// [N,16,4,8].
//
// A node is evaluated if all its operands are known. If the result cannot be known (an element is not a * N + b, or
// there are too many), the node stays in the graph.
#include <string.h>

#include "frontends/onnx/onnx_signature.h"
#include "ir/graph/op.h"

dp_onnx_known *dp_onnx_fold_make(dp_onnx_reader *reader, dp_dtype dtype, int rank, const int64_t *extents) {
  dp_onnx_known known = {.dtype = dtype, .rank = rank, .count = 1};
  if (rank > DP_MAX_RANK) return NULL;
  bool empty = false;
  for (int d = 0; d < rank; d++) {
    known.extents[d] = extents[d];
    empty |= !extents[d];
    if (extents[d] < 0 || __builtin_mul_overflow(known.count, extents[d] ? extents[d] : 1, &known.count)) return NULL;
  }
  if (empty) known.count = 0;
  if (known.count > DP_ONNX_MAX_KNOWN || reader->n_known + known.count > DP_ONNX_ALL_KNOWN) return NULL;
  reader->n_known += known.count + 1;
  known.numbers = dp_alloc_n(reader->arena, (size_t)known.count, sizeof *known.numbers);
  return dp_memdup(reader->arena, &known, sizeof known);
}

const int64_t *dp_onnx_fold_ints(const dp_onnx_evaluation *e, int i, int64_t *count) {
  const dp_onnx_known *x = i < e->n_inputs ? e->inputs[i] : NULL;
  *count = 0;
  if (!x || (DP_BIT(x->dtype) & DP_FLOATS)) return NULL;
  int64_t *ints = dp_alloc_n(e->reader->arena, (size_t)x->count + 1, sizeof *ints);
  for (int64_t k = 0; k < x->count; k++) {
    if (dp_dim_is_symbolic(x->numbers[k].i)) return NULL;
    ints[k] = x->numbers[k].i.offset;
  }
  *count = x->count;
  return ints;
}

const int64_t *dp_onnx_fold_list(const dp_onnx_evaluation *e, int i, const char *name, int64_t *count) {
  const Dp__Onnx__Attribute *a = dp_onnx_attr_find(e->node, name);
  if (!a || dp_onnx_opset_operand(e->node->op_type, e->opset, name) < 0) return dp_onnx_fold_ints(e, i, count);
  *count = (int64_t)a->n_ints;
  // An empty list differs from no list.
  return a->n_ints ? a->ints : dp_alloc(e->reader->arena, sizeof(int64_t));
}

// ---- Constant -------------------------------------------------------------------------------------------------------

static dp_status number_list(dp_onnx_reader *reader, const dp_attr *attr, const dp_tensor **tensor) {
  bool floats = attr->kind == DP_ATTR_FLOAT || attr->kind == DP_ATTR_FLOATS;
  bool list = attr->kind == DP_ATTR_INTS || attr->kind == DP_ATTR_FLOATS;
  dp_tensor t = {.dtype = floats ? DP_FLOAT32 : DP_INT64, .rank = list};
  size_t count = list ? attr->count : 1, each = dp_type_bytes(t.dtype);
  t.extents[0] = (int64_t)count;
  t.bytes = count * each;
  char *data = dp_alloc(reader->arena, t.bytes + 1);
  for (size_t i = 0; i < count; i++) {
    if (floats)
      dp_element_set(t.dtype, data + i * each, list ? attr->floats[i] : attr->f);
    else
      memcpy(data + i * each, list ? &attr->ints[i] : &attr->i, each);
  }
  t.data = data;
  *tensor = dp_memdup(reader->arena, &t, sizeof t);
  return DP_OK;
}

static dp_status constant(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *node) {
  dp_attr attr;
  const dp_tensor *tensor = NULL;
  if (node->n_attribute != 1 || node->n_output != 1)
    return dp_fail(EX_DATAERR, "a Constant must have one attribute and one result, not %zu and %zu", node->n_attribute,
                   node->n_output);
  DP_TRY(dp_onnx_attr_read(reader, node->attribute[0], &attr));
  static const struct {
    const char *name;
    dp_attr_kind kind;
  } forms[] = {{"value", DP_ATTR_TENSOR},
               {"value_int", DP_ATTR_INT},
               {"value_ints", DP_ATTR_INTS},
               {"value_float", DP_ATTR_FLOAT},
               {"value_floats", DP_ATTR_FLOATS}};
  size_t form = 0;
  while (form < DP_COUNT(forms) && (strcmp(attr.name, forms[form].name) || attr.kind != forms[form].kind)) form++;
  if (form == DP_COUNT(forms)) return dp_fail(EX_UNAVAILABLE, "a Constant with '%s' is not supported", attr.name);
  if (attr.kind == DP_ATTR_TENSOR)
    tensor = attr.tensor;
  else
    DP_TRY(number_list(reader, &attr, &tensor));
  return dp_onnx_scope_bind(reader, scope, node->output[0], (dp_onnx_binding){.tensor = tensor});
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

// Shape: the extents from `start` to `end`, both clamped. Size: their product.
static dp_status shape_of(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *node, bool *folded) {
  dp_onnx_binding *x;
  if (node->n_input != 1 || node->n_output != 1)
    return dp_fail(EX_DATAERR, "it must have one operand and one result, not %zu and %zu", node->n_input,
                   node->n_output);
  DP_TRY(dp_onnx_scope_find_tensor(scope, node->input[0], &x));
  if (!x) return dp_fail(EX_DATAERR, "its operand is missing");
  dp_type type = dp_onnx_scope_type(x);
  int64_t rank = type.shape.rank;
  if (!strcmp(node->op_type, "Size")) {
    dp_dim product;
    if (!dp_shape_product(&type.shape, 0, (int)rank, &product)) return DP_OK;
    dp_onnx_known *size = dp_onnx_fold_make(reader, DP_INT64, 0, NULL);
    if (!size) return DP_OK;
    size->numbers[0].i = product;
    *folded = true;
    return dp_onnx_scope_bind(reader, scope, node->output[0], (dp_onnx_binding){.known = size});
  }
  int64_t start = dp_onnx_attr_int(node, "start", 0), end = dp_onnx_attr_int(node, "end", rank);
  start = dp_min_i64(dp_max_i64(start < 0 ? start + rank : start, 0), rank);
  end = dp_min_i64(dp_max_i64(end < 0 ? end + rank : end, 0), rank);
  int64_t count = dp_max_i64(end - start, 0);
  dp_onnx_known *extents = dp_onnx_fold_make(reader, DP_INT64, 1, &count);
  if (!extents) return DP_OK;
  for (int64_t d = 0; d < count; d++) extents->numbers[d].i = type.shape.dims[start + d];
  *folded = true;
  return dp_onnx_scope_bind(reader, scope, node->output[0], (dp_onnx_binding){.known = extents});
}

// A node that detaches a value which may have a gradient must stay.
static bool is_detached(const Dp__Onnx__Node *node, const dp_onnx_binding *x) {
  const bool has_gradient = x && (x->value || (x->initializer && x->role == DP_ONNX_TRAINED));
  return has_gradient && !x->sequence && dp_type_is_float(dp_onnx_scope_type(x).dtype) &&
         (dp_onnx_attr_int(node, DP_ATTR_DETACH, 0) ||
          dp_onnx_signature_find(node->n_metadata_props, node->metadata_props, "dp." DP_ATTR_DETACH));
}

static dp_status identity(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *node, bool *folded) {
  dp_onnx_binding *x;
  if (node->n_input != 1 || node->n_output != 1 || !*node->input[0])
    return dp_fail(EX_DATAERR, "one operand and one result are expected");
  DP_TRY(dp_onnx_scope_find(scope, node->input[0], &x));
  if (is_detached(node, x)) return DP_OK;
  *folded = true;
  return dp_onnx_scope_alias(reader, scope, node->output[0], x);
}

// ---- everything else ------------------------------------------------------------------------------------------------

// float32 results are rounded, and --precision=fp64 must not inherit that. So the node stays in the graph for nodes
// that compute with its result, and its elements are known to nodes that need them at import. A node that only moves
// such elements stays too.
static bool is_rounded(const dp_onnx_evaluation *e) {
  return e->results[0]->dtype == DP_FLOAT32 && (e->from_rounded || dp_onnx_arithmetic_rounds(e->node->op_type));
}

static dp_status bind_results(const dp_onnx_evaluation *e, dp_onnx_scope *scope) {
  bool rounded = is_rounded(e);
  if (rounded) DP_TRY(dp_onnx_node_add(e->reader, scope, e->node));
  for (int i = 0; i < e->n_results; i++) {
    dp_onnx_binding *result;
    if (!*e->node->output[i]) continue;
    if (!rounded) {
      DP_TRY(dp_onnx_scope_bind(e->reader, scope, e->node->output[i], (dp_onnx_binding){.known = e->results[i]}));
      continue;
    }
    DP_TRY(dp_onnx_scope_find(scope, e->node->output[i], &result));
    result->known = e->results[i];
  }
  return DP_OK;
}

static dp_status evaluate(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *node,
                          dp_onnx_evaluate function, bool *folded) {
  const dp_onnx_known **inputs = dp_alloc_n(reader->arena, node->n_input, sizeof *inputs);
  const dp_onnx_known **results = dp_alloc_n(reader->arena, node->n_output, sizeof *results);
  bool from_rounded = false;
  for (size_t i = 0; i < node->n_input; i++) {
    dp_onnx_binding *x;
    DP_TRY(dp_onnx_scope_find(scope, node->input[i], &x));
    if (x && !(inputs[i] = dp_onnx_scope_known(reader, x))) return DP_OK;
    from_rounded |= x && x->value && x->value->producer;
    if (x && (reader->n_known += inputs[i]->count) > DP_ONNX_ALL_KNOWN) return DP_OK;
  }
  dp_onnx_evaluation e = {.reader = reader,
                          .node = node,
                          .opset = scope->opset,
                          .n_inputs = (int)node->n_input,
                          .n_results = (int)node->n_output,
                          .from_rounded = from_rounded,
                          .inputs = inputs,
                          .results = results};
  DP_TRY(function(&e));
  for (int i = 0; i < e.n_results; i++)
    if (!results[i]) return DP_OK;
  *folded = true;
  return bind_results(&e, scope);
}

dp_status dp_onnx_fold(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *node, bool *folded) {
  const char *op = node->op_type;
  *folded = false;
  if (*node->domain && strcmp(node->domain, "ai.onnx")) return DP_OK;
  if (!strcmp(op, "Identity")) return identity(reader, scope, node, folded);
  if (!strcmp(op, "Constant")) {
    *folded = true;
    return constant(reader, scope, node);
  }
  if (!strcmp(op, "Shape") || !strcmp(op, "Size")) return shape_of(reader, scope, node, folded);
  DP_TRY(dp_onnx_progression_fold(reader, scope, node, folded));
  if (*folded) return DP_OK;
  dp_onnx_evaluate function = dp_onnx_arithmetic_find(op);
  if (!function) function = dp_onnx_move_find(op);
  return function && node->n_output ? evaluate(reader, scope, node, function, folded) : DP_OK;
}
