// Operators whose extents depend on the batch through the values of their operands rather than their shapes: a Range of
// numbers up to N, a Tile with N repeats. Such a value has the form a * N + b (onnx_fold.c).
#include <string.h>

#include "frontends/onnx/onnx_reader.h"
#include "ir/ops/compose.h"

// ---- Range ----------------------------------------------------------------------------------------------------------

// The integer in operand i; false: other code must determine or refuse it.
static bool whole_number(dp_onnx_node *node, int i, dp_dim *number) {
  const dp_onnx_known *x = dp_onnx_scope_known(node->reader, node->inputs[i]);
  if (!x || x->count != 1) return false;
  *number = x->numbers[0].i;
  if (!dp_type_is_float(x->dtype) || dp_dim_is_symbolic(*number)) return true;
  double f = x->numbers[0].f;
  if (!(f > -0x1p62 && f < 0x1p62) || (double)(int64_t)f != f) return false;
  *number = dp_dim_of((int64_t)f);
  return true;
}

// Binds what is known about the result besides its value.
static dp_status note(dp_onnx_node *node, dp_dim start, int64_t step) {
  dp_onnx_binding *y;
  DP_TRY(dp_onnx_scope_find(node->scope, node->outputs[0], &y));
  dp_type type = dp_onnx_scope_type(y);
  if (!dp_type_is_float(type.dtype))
    y->progression = dp_onnx_progression_make(node->reader, type.dtype, start, step, type.shape.dims[0]);
  return DP_OK;
}

// start + (0, delta, ... below span), where the start depends on the batch.
static dp_status range_from(dp_onnx_node *node, dp_attr attrs[4]) {
  dp_builder b = {.graph = node->reader->graph, .prefix = node->name};
  dp_value *start;
  DP_TRY(dp_onnx_scope_value(node->reader, node->inputs[0], &start));
  dp_value *steps = dp_build(&b, "Range", 0, NULL, 1, 4, attrs);
  dp_value *y = dp_build2(&b, "Add", steps, start);
  DP_TRY(b.status);
  return dp_onnx_scope_bind(node->reader, node->scope, node->outputs[0], (dp_onnx_binding){.value = y});
}

dp_status dp_onnx_affine_range(dp_onnx_node *node, bool *done) {
  dp_dim numbers[3];  // start, limit, delta
  if (node->n_inputs != 3 || node->n_outputs != 1)
    return dp_fail(EX_DATAERR, "three operands and one result are expected");
  for (int i = 0; i < 3; i++) {
    if (!node->inputs[i]) return dp_fail(EX_DATAERR, "operand %d is missing", i + 1);
    if (!dp_onnx_scope_known(node->reader, node->inputs[i]))
      return dp_fail(
          EX_UNAVAILABLE,
          "operand %d, '%s' ('%s'), is computed from data; how many numbers a range has must be known before "
          "the network runs, or follow from the size of the batch",
          i + 1, node->op->inputs[i].name, node->inputs[i]->name);
    if (!whole_number(node, i, &numbers[i]))
      return dp_fail(EX_UNAVAILABLE, "operand %d, '%s' ('%s'), must be a whole number in a long range", i + 1,
                     node->op->inputs[i].name, node->inputs[i]->name);
  }
  if (dp_dim_is_symbolic(numbers[2]))
    return dp_fail(EX_UNAVAILABLE, "its step, '%s', depends on the batch, which is not supported",
                   node->inputs[2]->name);
  bool shifted = dp_dim_is_symbolic(numbers[0]);
  dp_dim limit = numbers[1];
  if (shifted && (__builtin_sub_overflow(limit.scale, numbers[0].scale, &limit.scale) ||
                  __builtin_sub_overflow(limit.offset, numbers[0].offset, &limit.offset)))
    return dp_fail(EX_DATAERR, "the range is longer than any tensor");
  if (limit.scale && numbers[2].offset && numbers[2].offset != -1 && limit.scale % numbers[2].offset)
    return dp_fail(EX_UNAVAILABLE, "its steps of %lld do not go into the %lld numbers for each sample",
                   (long long)numbers[2].offset, (long long)limit.scale);
  dp_shape one = {1, {limit}};
  dp_attr attrs[] = {dp_attr_int("start", shifted ? 0 : numbers[0].offset),
                     dp_attr_dims(node->reader->arena, "limit", &one), dp_attr_int("delta", numbers[2].offset),
                     dp_attr_int("dtype", dp_onnx_scope_type(node->inputs[0]).dtype)};
  *done = true;
  for (size_t i = 0; i < DP_COUNT(attrs); i++) dp_onnx_node_set(node, attrs[i]);
  if (shifted) {
    DP_TRY(range_from(node, attrs));
  } else {
    node->n_inputs = 0;
    DP_TRY(dp_onnx_node_emit(node));
  }
  return note(node, numbers[0], numbers[2].offset);
}

// ---- Tile -----------------------------------------------------------------------------------------------------------

// Repeats dim d of x, of `extent`, `times` times: views it as [times, extent] and merges the two.
static dp_value *repeat(dp_builder *b, dp_value *x, int d, dp_dim times, dp_dim made) {
  dp_shape shape = x->type->shape, whole = shape;
  whole.dims[d] = made;
  if (dp_dim_is(shape.dims[d], 1)) return dp_compose_expand(b, x, &whole);
  dp_value *wide = dp_compose_unsqueeze(b, x, d);
  if (b->status) return x;
  dp_shape repeated = wide->type->shape;
  repeated.dims[d] = times;
  return dp_build_reshape(b, dp_compose_expand(b, wide, &repeated), &whole);
}

static bool times(dp_dim a, dp_dim b, dp_dim *product) {
  if (dp_dim_is_symbolic(a) && dp_dim_is_symbolic(b)) return false;
  dp_dim symbolic = dp_dim_is_symbolic(a) ? a : b;
  int64_t factor = dp_dim_is_symbolic(a) ? b.offset : a.offset;
  return !__builtin_mul_overflow(symbolic.scale, factor, &product->scale) &&
         !__builtin_mul_overflow(symbolic.offset, factor, &product->offset);
}

dp_status dp_onnx_affine_tile(dp_onnx_node *node, bool *done) {
  const dp_onnx_known *repeats =
      node->n_inputs == 2 && node->inputs[1] ? dp_onnx_scope_known(node->reader, node->inputs[1]) : NULL;
  bool symbolic = false;
  for (int64_t i = 0; repeats && i < repeats->count; i++) symbolic |= dp_dim_is_symbolic(repeats->numbers[i].i);
  if (!symbolic || !node->inputs[0]) return DP_OK;
  dp_builder b = {.graph = node->reader->graph, .prefix = node->name};
  dp_value *x;
  DP_TRY(dp_onnx_scope_value(node->reader, node->inputs[0], &x));
  if (repeats->rank != 1 || repeats->count != x->type->shape.rank || node->n_outputs != 1)
    return dp_fail(EX_DATAERR, "repeats has %lld numbers where the operand has %d dims", (long long)repeats->count,
                   x->type->shape.rank);
  for (int d = 0; d < repeats->count; d++) {
    dp_dim by = repeats->numbers[d].i, made;
    if (!times(x->type->shape.dims[d], by, &made))
      return dp_fail(EX_UNAVAILABLE,
                     "dim %d is that of the samples already, and is to be repeated for each sample again", d);
    if (!dp_dim_is(by, 1)) x = repeat(&b, x, d, by, made);
    DP_TRY(b.status);
  }
  *done = true;
  return dp_onnx_scope_bind(node->reader, node->scope, node->outputs[0], (dp_onnx_binding){.value = x});
}

// ---- Slice ----------------------------------------------------------------------------------------------------------

static bool minus(dp_dim a, dp_dim b, dp_dim *difference) {
  return !__builtin_sub_overflow(a.scale, b.scale, &difference->scale) &&
         !__builtin_sub_overflow(a.offset, b.offset, &difference->offset);
}

// A position along a dim, counted from the end when negative; a position beyond the end is the end. *sure: it is within
// the dim for any number of samples.
static dp_dim position_in(dp_dim at, dp_dim extent, bool *sure) {
  dp_dim rest;
  if (at.scale < 0 || (!at.scale && at.offset < 0)) {
    *sure &= !__builtin_add_overflow(at.scale, extent.scale, &at.scale) &&
             !__builtin_add_overflow(at.offset, extent.offset, &at.offset);
  } else if (!at.scale && at.offset >= INT32_MAX) {
    at = extent;
  }
  *sure &= at.scale >= 0 && at.offset >= 0 && minus(extent, at, &rest) && rest.scale >= 0 && rest.offset >= 0;
  return at;
}

// The number of times that `part` fits into `whole` exactly, else 0.
static int64_t count_of(dp_dim part, dp_dim whole) {
  const int64_t n = part.scale ? whole.scale / part.scale : part.offset ? whole.offset / part.offset : 0;
  return part.scale * n == whole.scale && part.offset * n == whole.offset ? n : 0;
}

// Elements [start, end) of dim d: one of several equal parts, or the elements at these positions.
static dp_value *cut(dp_builder *b, dp_value *x, int d, dp_dim start, dp_dim end) {
  const dp_dim extent = x->type->shape.dims[d], length = {end.scale - start.scale, end.offset - start.offset};
  const int64_t parts = count_of(length, extent), before = count_of(length, start);
  dp_attr axis = dp_attr_int("axis", d);
  if (dp_dim_equal(length, extent)) return x;
  if (parts > 1 && parts <= DP_MAX_REPEATED && (before || dp_dim_is(start, 0))) {
    dp_value *first = dp_build(b, "Split", 1, &x, (int)parts, 1, &axis);
    return b->status ? x : first->producer->outputs[before];
  }
  const dp_shape limit = {.rank = 1, .dims = {length}}, from = {.rank = 1, .dims = {start}};
  dp_attr range = dp_attr_dims(b->graph->arena, "limit", &limit);
  dp_value *positions = dp_build(b, "Range", 0, NULL, 1, 1, &range);
  if (!dp_dim_is(start, 0))
    positions = dp_build2(b, "Add", positions, dp_build_count(b, &from, (int64_t[]){0}, 1, DP_INT64));
  return dp_build(b, "Gather", 2, (dp_value *[]){x, positions}, 1, 1, &axis);
}

static dp_dim number_at(const dp_onnx_known *list, int64_t i, int64_t otherwise) {
  return list ? list->numbers[i].i : dp_dim_of(otherwise);
}

dp_status dp_onnx_affine_slice(dp_onnx_node *node, bool *done) {
  const dp_onnx_known *lists[4] = {0};  // starts, ends, axes, steps
  bool symbolic = false, sure = true;
  if (node->n_inputs < 3 || node->n_inputs > 5 || node->n_outputs != 1 || !node->inputs[0]) return DP_OK;
  for (int i = 0; i < 4; i++) {
    dp_onnx_binding *x = 1 + i < node->n_inputs ? node->inputs[1 + i] : NULL;
    lists[i] = x ? dp_onnx_scope_known(node->reader, x) : NULL;
    if ((x || i < 2) && (!lists[i] || lists[i]->rank != 1 || lists[i]->count != lists[0]->count)) return DP_OK;
    for (int64_t k = 0; lists[i] && k < lists[i]->count && i < 2; k++)
      symbolic |= dp_dim_is_symbolic(lists[i]->numbers[k].i);
  }
  if (!symbolic) return DP_OK;
  dp_builder b = {.graph = node->reader->graph, .prefix = node->name};
  dp_value *x;
  DP_TRY(dp_onnx_scope_value(node->reader, node->inputs[0], &x));
  for (int64_t i = 0; i < lists[0]->count; i++) {
    const dp_dim axis = number_at(lists[2], i, i), step = number_at(lists[3], i, 1);
    const int64_t d = axis.offset < 0 ? axis.offset + x->type->shape.rank : axis.offset;
    if (dp_dim_is_symbolic(axis) || d < 0 || d >= x->type->shape.rank || !dp_dim_is(step, 1)) return DP_OK;
    const dp_dim extent = x->type->shape.dims[d];
    const dp_dim start = position_in(number_at(lists[0], i, 0), extent, &sure),
                 end = position_in(number_at(lists[1], i, 0), extent, &sure);
    dp_dim length;
    if (!sure || !minus(end, start, &length) || length.scale < 0 || length.offset < 0) return DP_OK;
    x = cut(&b, x, (int)d, start, end);
    DP_TRY(b.status);
  }
  *done = true;
  return dp_onnx_scope_bind(node->reader, node->scope, node->outputs[0], (dp_onnx_binding){.value = x});
}
