// Evaluates operators that move or repeat known elements: Gather, Slice, Concat, Reshape and the like. Each element of
// a result is an element of an operand, so it may be symbolic.
#include <math.h>
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

static const dp_onnx_known *operand(const dp_onnx_evaluation *e, int i) {
  return i < e->n_inputs ? e->inputs[i] : NULL;
}

static bool find_axis(int64_t axis, int rank, int *found) {
  if (axis < -rank || axis >= rank) return false;
  *found = (int)(axis < 0 ? axis + rank : axis);
  return true;
}

// Views x as [outer, extent of axis, inner].
static void view(const dp_onnx_known *x, int axis, int64_t *outer, int64_t *inner) {
  *outer = *inner = 1;
  for (int d = 0; d < x->rank; d++) *(d < axis ? outer : inner) *= d == axis ? 1 : x->extents[d];
}

// The elements at positions[0..count) along one axis, with `rank` extents that the caller sets.
static dp_onnx_known *gather_elements(dp_onnx_evaluation *e, const dp_onnx_known *x, int axis, const int64_t *positions,
                                      int64_t count, int rank, const int64_t *extents) {
  int64_t outer, inner, to = 0;
  view(x, axis, &outer, &inner);
  dp_onnx_known *y = dp_onnx_fold_make(e->reader, x->dtype, rank, extents);
  for (int64_t o = 0; y && o < outer; o++)
    for (int64_t i = 0; i < count; i++)
      for (int64_t k = 0; k < inner; k++)
        y->numbers[to++] = x->numbers[(o * x->extents[axis] + positions[i]) * inner + k];
  return y;
}

static dp_status gather(dp_onnx_evaluation *e) {
  const dp_onnx_known *x = operand(e, 0), *at = operand(e, 1);
  int axis;
  int64_t count, extents[2 * DP_MAX_RANK];
  const int64_t *given = dp_onnx_fold_ints(e, 1, &count);
  if (!x || !given || e->n_results != 1 || !find_axis(dp_onnx_attr_int(e->node, "axis", 0), x->rank, &axis))
    return DP_OK;
  int64_t *positions = dp_alloc_n(e->reader->arena, (size_t)count + 1, sizeof *positions);
  for (int64_t i = 0; i < count; i++) {
    positions[i] = given[i] < 0 ? given[i] + x->extents[axis] : given[i];
    if (positions[i] < 0 || positions[i] >= x->extents[axis])
      return dp_fail(EX_DATAERR, "index %lld is outside of extent %lld", (long long)given[i],
                     (long long)x->extents[axis]);
  }
  int rank = 0;
  for (int d = 0; d < axis; d++) extents[rank++] = x->extents[d];
  for (int d = 0; d < at->rank; d++) extents[rank++] = at->extents[d];
  for (int d = axis + 1; d < x->rank; d++) extents[rank++] = x->extents[d];
  e->results[0] = gather_elements(e, x, axis, positions, count, rank, extents);
  return DP_OK;
}

// Along one axis, with ONNX's clamping.
static dp_onnx_known *slice_axis(dp_onnx_evaluation *e, const dp_onnx_known *x, int axis, int64_t start, int64_t end,
                                 int64_t step) {
  int64_t extent = x->extents[axis], count = 0, extents[DP_MAX_RANK];
  if (start < 0) start += extent;
  if (end < 0 && end != INT64_MIN) end = dp_max_i64(end + extent, -1);
  start = dp_max_i64(0, dp_min_i64(start, step > 0 ? extent : extent - 1));
  end = dp_max_i64(step > 0 ? 0 : -1, dp_min_i64(end, extent));
  int64_t *positions = dp_alloc_n(e->reader->arena, (size_t)extent + 1, sizeof *positions);
  // The step may be as large as an integer can be, but the position is inside the extent.
  for (int64_t at = start; step > 0 ? at < end : at > end && extent;
       at += dp_max_i64(dp_min_i64(step, extent + 1), -extent - 1))
    positions[count++] = at;
  memcpy(extents, x->extents, sizeof extents);
  extents[axis] = count;
  return gather_elements(e, x, axis, positions, count, x->rank, extents);
}

static dp_status slice(dp_onnx_evaluation *e) {
  const dp_onnx_known *y = operand(e, 0);
  int64_t n, n_ends, n_axes, n_steps;
  const int64_t *starts = dp_onnx_fold_list(e, 1, "starts", &n), *ends = dp_onnx_fold_list(e, 2, "ends", &n_ends);
  const int64_t *axes = dp_onnx_fold_list(e, 3, "axes", &n_axes), *steps = dp_onnx_fold_ints(e, 4, &n_steps);
  if (!y || !starts || !ends || n != n_ends || (axes && n_axes != n) || (steps && n_steps != n) || n > y->rank ||
      e->n_results != 1 || (operand(e, 3) && !axes) || (operand(e, 4) && !steps))
    return DP_OK;
  bool seen[DP_MAX_RANK] = {0};
  for (int64_t i = 0; i < n && y; i++) {
    int axis;
    if (!find_axis(axes ? axes[i] : i, y->rank, &axis) || seen[axis] || (steps && !steps[i])) return DP_OK;
    seen[axis] = true;
    y = slice_axis(e, y, axis, starts[i], ends[i], steps ? steps[i] : 1);
  }
  e->results[0] = y;
  return DP_OK;
}

static dp_status concat(dp_onnx_evaluation *e) {
  const dp_onnx_known *first = operand(e, 0);
  int axis;
  if (!first || e->n_results != 1 || !find_axis(dp_onnx_attr_int(e->node, "axis", INT64_MAX), first->rank, &axis))
    return DP_OK;
  int64_t extents[DP_MAX_RANK], outer, inner, to = 0;
  memcpy(extents, first->extents, sizeof extents);
  extents[axis] = 0;
  for (int i = 0; i < e->n_inputs; i++) {
    const dp_onnx_known *x = e->inputs[i];
    if (!x || x->dtype != first->dtype || x->rank != first->rank) return DP_OK;
    for (int d = 0; d < x->rank; d++)
      if (d != axis && x->extents[d] != first->extents[d]) return DP_OK;
    extents[axis] += x->extents[axis];
  }
  view(first, axis, &outer, &inner);
  dp_onnx_known *y = dp_onnx_fold_make(e->reader, first->dtype, first->rank, extents);
  for (int64_t o = 0; y && o < outer; o++)
    for (int i = 0; i < e->n_inputs; i++)
      for (int64_t k = 0, n = e->inputs[i]->extents[axis] * inner; k < n; k++)
        y->numbers[to++] = e->inputs[i]->numbers[o * n + k];
  e->results[0] = y;
  return DP_OK;
}

static dp_status split(dp_onnx_evaluation *e) {
  const dp_onnx_known *x = operand(e, 0);
  int axis;
  int64_t n, first = 0;
  const int64_t *sizes = dp_onnx_fold_list(e, 1, "split", &n);
  if (!x || (operand(e, 1) && !sizes) || !find_axis(dp_onnx_attr_int(e->node, "axis", 0), x->rank, &axis)) return DP_OK;
  int64_t extent = x->extents[axis], even = (extent + e->n_results - 1) / e->n_results;
  if (sizes && n != e->n_results) return DP_OK;
  int64_t *positions = dp_alloc_n(e->reader->arena, (size_t)extent + 1, sizeof *positions);
  for (int64_t i = 0; i < extent; i++) positions[i] = i;
  for (int i = 0; i < e->n_results; i++) {
    int64_t size = sizes ? sizes[i] : dp_min_i64(even, extent - first), extents[DP_MAX_RANK];
    if (size < 0 || size > extent - first) return DP_OK;
    memcpy(extents, x->extents, sizeof extents);
    extents[axis] = size;
    if (!(e->results[i] = gather_elements(e, x, axis, positions + first, size, x->rank, extents))) return DP_OK;
    first += size;
  }
  if (first != extent) e->results[0] = NULL;
  return DP_OK;
}

// ---- the same elements in another shape -----------------------------------------------------------------------------

static void reshaped(dp_onnx_evaluation *e, const dp_onnx_known *x, int rank, const int64_t *extents) {
  dp_onnx_known y = {.dtype = x->dtype, .rank = rank, .count = 1, .numbers = x->numbers};
  for (int d = 0; d < rank; d++) {
    y.extents[d] = extents[d];
    if (extents[d] < 0 || __builtin_mul_overflow(y.count, extents[d], &y.count)) return;
  }
  if (y.count != x->count || e->n_results != 1) return;
  y.numbers = x->numbers;
  e->results[0] = dp_memdup(e->reader->arena, &y, sizeof y);
}

static dp_status unsqueeze(dp_onnx_evaluation *e) {
  const dp_onnx_known *x = operand(e, 0);
  int64_t n, extents[DP_MAX_RANK];
  const int64_t *axes = dp_onnx_fold_list(e, 1, "axes", &n);
  if (!x || !axes || n + x->rank > DP_MAX_RANK) return DP_OK;
  int rank = x->rank + (int)n, axis, from = 0;
  bool added[DP_MAX_RANK] = {0};
  for (int64_t i = 0; i < n; i++) {
    if (!find_axis(axes[i], rank, &axis) || added[axis]) return DP_OK;
    added[axis] = true;
  }
  for (int d = 0; d < rank; d++) extents[d] = added[d] ? 1 : x->extents[from++];
  reshaped(e, x, rank, extents);
  return DP_OK;
}

static dp_status squeeze(dp_onnx_evaluation *e) {
  const dp_onnx_known *x = operand(e, 0);
  int64_t n, extents[DP_MAX_RANK];
  const int64_t *axes = dp_onnx_fold_list(e, 1, "axes", &n);
  if (!x || (operand(e, 1) && !axes)) return DP_OK;
  int rank = 0, axis;
  bool removed[DP_MAX_RANK] = {0};
  for (int d = 0; d < x->rank; d++) removed[d] = !axes && x->extents[d] == 1;
  for (int64_t i = 0; i < n; i++) {
    if (!find_axis(axes[i], x->rank, &axis) || x->extents[axis] != 1) return DP_OK;
    removed[axis] = true;
  }
  for (int d = 0; d < x->rank; d++)
    if (!removed[d]) extents[rank++] = x->extents[d];
  reshaped(e, x, rank, extents);
  return DP_OK;
}

static dp_status reshape(dp_onnx_evaluation *e) {
  const dp_onnx_known *x = operand(e, 0);
  int64_t n, extents[DP_MAX_RANK], rest = 1;
  const int64_t *shape = dp_onnx_fold_ints(e, 1, &n);
  int open = -1;
  if (!x || !shape || n > DP_MAX_RANK) return DP_OK;
  for (int d = 0; d < n; d++) {
    bool keep = !shape[d] && !dp_onnx_attr_int(e->node, "allowzero", 0);
    if (shape[d] < -1 || (keep && d >= x->rank) || (shape[d] == -1 && open >= 0)) return DP_OK;
    extents[d] = keep ? x->extents[d] : shape[d];
    if (shape[d] == -1)
      open = d;
    else if (__builtin_mul_overflow(rest, extents[d], &rest))
      return DP_OK;
  }
  if (open >= 0) {
    if (!rest || x->count % rest) return DP_OK;
    extents[open] = x->count / rest;
  }
  reshaped(e, x, (int)n, extents);
  return DP_OK;
}

static dp_status transpose(dp_onnx_evaluation *e) {
  const dp_onnx_known *x = operand(e, 0);
  const Dp__Onnx__Attribute *perm = dp_onnx_attr_find(e->node, "perm");
  if (!x || e->n_results != 1 || (perm && perm->n_ints != (size_t)x->rank)) return DP_OK;
  int64_t extents[DP_MAX_RANK], strides[DP_MAX_RANK], stride = 1, from[DP_MAX_RANK] = {0};
  bool seen[DP_MAX_RANK] = {0};
  for (int d = x->rank - 1; d >= 0; stride *= x->extents[d--]) strides[d] = stride;
  for (int d = 0; d < x->rank; d++) {
    from[d] = perm ? perm->ints[d] : x->rank - 1 - d;
    if (from[d] < 0 || from[d] >= x->rank || seen[from[d]]) return DP_OK;
    seen[from[d]] = true;
    extents[d] = x->extents[from[d]];
  }
  dp_onnx_known *y = dp_onnx_fold_make(e->reader, x->dtype, x->rank, extents);
  for (int64_t i = 0; y && i < y->count; i++) {
    int64_t position = 0, left = i;
    for (int d = x->rank - 1; d >= 0; left /= extents[d--]) position += left % extents[d] * strides[from[d]];
    y->numbers[i] = x->numbers[position];
  }
  e->results[0] = y;
  return DP_OK;
}

// ---- new elements ---------------------------------------------------------------------------------------------------

static dp_status expand(dp_onnx_evaluation *e) {
  const dp_onnx_known *x = operand(e, 0);
  int64_t n, extents[DP_MAX_RANK];
  const int64_t *shape = dp_onnx_fold_ints(e, 1, &n);
  if (!x || !shape || n > DP_MAX_RANK || e->n_results != 1) return DP_OK;
  int rank = n > x->rank ? (int)n : x->rank;
  for (int d = 0; d < rank; d++) {
    int own = d - (rank - x->rank), wanted = d - (rank - (int)n);
    int64_t a = own < 0 ? 1 : x->extents[own], b = wanted < 0 ? 1 : shape[wanted];
    if (a != b && a != 1 && b != 1) return DP_OK;
    extents[d] = a == 1 ? b : a;
  }
  dp_onnx_known *y = dp_onnx_fold_make(e->reader, x->dtype, rank, extents);
  for (int64_t i = 0; y && i < y->count; i++) {
    int64_t position = 0, stride = 1, left = i;
    for (int d = rank - 1; d >= 0; left /= extents[d--]) {
      int own = d - (rank - x->rank);
      if (own < 0) continue;
      if (x->extents[own] != 1) position += left % extents[d] * stride;
      stride *= x->extents[own];
    }
    y->numbers[i] = x->numbers[position];
  }
  e->results[0] = y;
  return DP_OK;
}

static dp_status constant_of_shape(dp_onnx_evaluation *e) {
  const Dp__Onnx__Attribute *value = dp_onnx_attr_find(e->node, "value");
  int64_t n;
  const int64_t *shape = dp_onnx_fold_ints(e, 0, &n);
  dp_onnx_binding number = {.name = "value"};
  dp_attr attr;
  if (!value || !shape || n > DP_MAX_RANK || e->n_results != 1) return DP_OK;
  DP_TRY(dp_onnx_attr_read(e->reader, value, &attr));
  if (attr.kind != DP_ATTR_TENSOR || dp_tensor_count(attr.tensor) != 1) return DP_OK;
  number.tensor = attr.tensor;
  const dp_onnx_known *x = dp_onnx_scope_known(e->reader, &number);
  dp_onnx_known *y = x ? dp_onnx_fold_make(e->reader, x->dtype, (int)n, shape) : NULL;
  for (int64_t i = 0; y && i < y->count; i++) y->numbers[i] = x->numbers[0];
  e->results[0] = y;
  return DP_OK;
}

// For floats, ONNX counts ceil((limit - start) / delta) elements.
static dp_status float_range(dp_onnx_evaluation *e) {
  double values[3];
  for (int i = 0; i < 3; i++) {
    if (!e->inputs[i] || e->inputs[i]->count != 1 || e->inputs[i]->dtype != e->inputs[0]->dtype) return DP_OK;
    if (dp_dim_is_symbolic(e->inputs[i]->numbers[0].i)) return DP_OK;
    values[i] = e->inputs[i]->numbers[0].f;
  }
  double count = ceil((values[1] - values[0]) / values[2]);
  if (values[2] == 0 || isnan(count))
    return dp_fail(EX_DATAERR, "delta is 0, or a number is NaN: the range would not end");
  if (count > DP_ONNX_MAX_KNOWN) return DP_OK;
  int64_t extent = count > 0 ? (int64_t)count : 0;
  dp_onnx_known *y = dp_onnx_fold_make(e->reader, e->inputs[0]->dtype, 1, &extent);
  for (int64_t i = 0; y && i < extent; i++) {
    double number = values[0] + (double)i * values[2];
    y->numbers[i].f = y->dtype == DP_FLOAT32 ? (double)(float)number : number;
  }
  e->results[0] = y;
  return DP_OK;
}

static dp_status range(dp_onnx_evaluation *e) {
  int64_t n[3], values[3], count = 0;
  if (e->n_inputs != 3 || e->n_results != 1) return DP_OK;
  if (e->inputs[0] && dp_type_is_float(e->inputs[0]->dtype)) return float_range(e);
  for (int i = 0; i < 3; i++) {
    const int64_t *number = dp_onnx_fold_ints(e, i, &n[i]);
    if (!number || n[i] != 1 || e->inputs[i]->dtype != e->inputs[0]->dtype) return DP_OK;
    values[i] = number[0];
  }
  int64_t start = values[0], limit = values[1], step = values[2];
  if (!step) return dp_fail(EX_DATAERR, "delta is 0: the range would not end");
  for (int64_t at = start; count <= DP_ONNX_MAX_KNOWN && (step > 0 ? at < limit : at > limit); count++)
    if (__builtin_add_overflow(at, step, &at)) at = limit;  // beyond it, in either direction
  dp_onnx_known *y = dp_onnx_fold_make(e->reader, e->inputs[0]->dtype, 1, &count);
  for (int64_t i = 0; y && i < count; i++) y->numbers[i].i = dp_dim_of(start + i * step);
  e->results[0] = y;
  return DP_OK;
}

static const struct {
  const char *op;
  dp_onnx_evaluate function;
} table[] = {
    {"Gather", gather},
    {"Slice", slice},
    {"Concat", concat},
    {"Split", split},
    {"Unsqueeze", unsqueeze},
    {"Squeeze", squeeze},
    {"Reshape", reshape},
    {"Transpose", transpose},
    {"Expand", expand},
    {"Range", range},
    {"ConstantOfShape", constant_of_shape},
};

dp_onnx_evaluate dp_onnx_move_find(const char *op) {
  for (size_t i = 0; i < DP_COUNT(table); i++)
    if (!strcmp(op, table[i].op)) return table[i].function;
  return NULL;
}
