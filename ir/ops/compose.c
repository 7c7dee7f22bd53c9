// Building blocks for operators composed of others. See compose.h.
#include "ir/ops/compose.h"

#include <string.h>

static const int64_t most_elements = (int64_t)1 << 24;

static bool counts(const dp_shape *shape, int64_t *count) {
  *count = 1;
  for (int d = 0; d < shape->rank; d++) {
    dp_dim dim = shape->dims[d];
    if (dp_dim_is_symbolic(dim) || dim.offset < 0 || dim.offset > most_elements) return false;
    *count *= dim.offset;
    if (*count > most_elements) return false;
  }
  return true;
}

double *dp_compose_room(dp_builder *b, const dp_shape *shape, int64_t *count) {
  char text[256];
  if (b->status) return NULL;
  if (counts(shape, count)) return dp_alloc_n(b->graph->arena, (size_t)*count + 1, sizeof(double));
  b->status = dp_fail(EX_UNAVAILABLE, "%s: it needs a table of shape %s, which is too large or depends on the batch",
                      b->prefix ? b->prefix : "an operator", dp_shape_print(shape, text, sizeof text));
  return NULL;
}

dp_value *dp_compose_constant(dp_builder *b, dp_dtype dtype, const dp_shape *shape, const double *numbers) {
  int64_t count;
  dp_arena *arena = b->graph->arena;
  if (!numbers || b->status || !counts(shape, &count)) return dp_build_fill(b, dtype, 0);  // the builder has failed
  dp_tensor *tensor = dp_alloc(arena, sizeof *tensor);
  size_t size = dp_type_bytes(dtype);
  char *data = dp_alloc_n(arena, (size_t)count + 1, size);
  for (int64_t i = 0; i < count; i++) dp_element_set(dtype, data + (size_t)i * size, numbers[i]);
  tensor->dtype = dtype;
  tensor->rank = shape->rank;
  for (int d = 0; d < shape->rank; d++) tensor->extents[d] = shape->dims[d].offset;
  tensor->bytes = (size_t)count * size;
  tensor->data = data;
  return dp_graph_add_constant(b->graph, dp_printf(arena, "%s/table", b->prefix ? b->prefix : "constant"), tensor);
}

dp_value *dp_compose_range(dp_builder *b, dp_dtype dtype, double from, double step, int64_t count) {
  dp_shape shape = {.rank = 1, .dims = {dp_dim_of(count)}};
  double *numbers = dp_compose_room(b, &shape, &count);
  for (int64_t i = 0; numbers && i < count; i++) numbers[i] = from + step * (double)i;
  return dp_compose_constant(b, dtype, &shape, numbers);
}

dp_value *dp_compose_filled(dp_builder *b, dp_dtype dtype, const dp_shape *shape, double number) {
  dp_attr attrs[] = {dp_attr_dims(b->graph->arena, "shape", shape), dp_attr_int("dtype", dtype),
                     dp_attr_float("value", number)};
  return dp_build(b, "dp.Fill", 0, NULL, 1, 3, attrs);
}

dp_value *dp_compose_transpose(dp_builder *b, dp_value *x, const int64_t *perm) {
  dp_attr attr = dp_attr_ints(b->graph->arena, "perm", perm, (size_t)x->type->shape.rank);
  return dp_build(b, "Transpose", 1, &x, 1, 1, &attr);
}

dp_value *dp_compose_swap(dp_builder *b, dp_value *x, int d, int e) {
  int64_t perm[DP_MAX_RANK];
  for (int i = 0; i < DP_MAX_RANK; i++) perm[i] = i == d ? e : i == e ? d : i;
  return d == e ? x : dp_compose_transpose(b, x, perm);
}

dp_value *dp_compose_expand(dp_builder *b, dp_value *x, const dp_shape *shape) {
  if (dp_shape_equal(&x->type->shape, shape)) return x;
  dp_attr attr = dp_attr_dims(b->graph->arena, "shape", shape);
  return dp_build(b, "Expand", 1, &x, 1, 1, &attr);
}

static dp_value *along(dp_builder *b, const char *op, dp_value *x, dp_value *y, int axis) {
  dp_attr attr = dp_attr_int("axis", axis);
  return dp_build(b, op, 2, (dp_value *[]){x, y}, 1, 1, &attr);
}

dp_value *dp_compose_gather(dp_builder *b, dp_value *x, dp_value *indices, int axis) {
  return along(b, "Gather", x, indices, axis);
}

dp_value *dp_compose_pick(dp_builder *b, dp_value *x, dp_value *indices, int axis) {
  return along(b, "GatherElements", x, indices, axis);
}

dp_value *dp_compose_concat(dp_builder *b, dp_value *x, dp_value *y, int axis) {
  return along(b, "Concat", x, y, axis);
}

dp_value *dp_compose_slice(dp_builder *b, dp_value *x, int axis, int64_t start, int64_t end) {
  dp_arena *arena = b->graph->arena;
  int64_t at = axis;
  dp_attr attrs[] = {dp_attr_ints(arena, "starts", &start, 1), dp_attr_ints(arena, "ends", &end, 1),
                     dp_attr_ints(arena, "axes", &at, 1)};
  return dp_build(b, "Slice", 1, &x, 1, 3, attrs);
}

dp_value *dp_compose_take(dp_builder *b, dp_value *x, int axis, int64_t i) {
  dp_shape shape = x->type->shape;
  memmove(&shape.dims[axis], &shape.dims[axis + 1], (size_t)(shape.rank - 1 - axis) * sizeof shape.dims[0]);
  shape.rank--;
  const bool only = dp_dim_equal(x->type->shape.dims[axis], dp_dim_of(1));
  return dp_build_reshape(b, only ? x : dp_compose_slice(b, x, axis, i, i + 1), &shape);
}

dp_value *dp_compose_where(dp_builder *b, dp_value *condition, dp_value *x, dp_value *y) {
  return dp_build(b, "Where", 3, (dp_value *[]){condition, x, y}, 1, 0, NULL);
}

dp_value *dp_compose_unsqueeze(dp_builder *b, dp_value *x, int axis) {
  int64_t at = axis;
  dp_attr attr = dp_attr_ints(b->graph->arena, "axes", &at, 1);
  return dp_build(b, "Unsqueeze", 1, &x, 1, 1, &attr);
}

dp_value *dp_compose_merge(dp_builder *b, dp_value *x, int first, int end) {
  dp_shape shape = x->type->shape;
  if (end - first < 2 || b->status) return x;
  if (!dp_shape_product(&x->type->shape, first, end, &shape.dims[first])) {
    b->status = dp_fail(EX_UNAVAILABLE, "%s: the number of elements is not of the form a * N + b",
                        b->prefix ? b->prefix : "an operator");
    return x;
  }
  memmove(&shape.dims[first + 1], &x->type->shape.dims[end], (size_t)(shape.rank - end) * sizeof(dp_dim));
  shape.rank -= end - first - 1;
  return dp_build_reshape(b, x, &shape);
}

// Part i of [from, to) in at most DP_MAX_REPEATED parts begins here; part `parts` at `to`.
static int64_t begin_of(int64_t from, int64_t to, int64_t i, int64_t parts) { return from + (to - from) * i / parts; }

void dp_compose_split_steps(dp_builder *b, dp_value *x, int64_t from, int64_t to, dp_value **steps) {
  if (to - from == 1) {
    steps[from] = dp_compose_merge(b, x, 0, 2);
    return;
  }
  const int64_t parts = dp_min_i64(to - from, DP_MAX_REPEATED);
  int64_t sizes[DP_MAX_REPEATED];
  for (int64_t i = 0; i < parts; i++) sizes[i] = begin_of(from, to, i + 1, parts) - begin_of(from, to, i, parts);
  dp_attr attrs[] = {dp_attr_int("axis", 0), dp_attr_ints(b->graph->arena, "split", sizes, (size_t)parts)};
  const dp_value *first = dp_build(b, "Split", 1, &x, (int)parts, 2, attrs);
  for (int64_t i = 0; i < parts && !b->status; i++)
    dp_compose_split_steps(b, first->producer->outputs[i], begin_of(from, to, i, parts),
                           begin_of(from, to, i + 1, parts), steps);
}

dp_value *dp_compose_concat_steps(dp_builder *b, dp_value *const *steps, int64_t from, int64_t to) {
  if (to - from == 1) return dp_compose_unsqueeze(b, steps[from], 0);
  const int64_t parts = dp_min_i64(to - from, DP_MAX_REPEATED);
  dp_value *joined[DP_MAX_REPEATED];
  for (int64_t i = 0; i < parts; i++)
    joined[i] = dp_compose_concat_steps(b, steps, begin_of(from, to, i, parts), begin_of(from, to, i + 1, parts));
  const dp_attr axis = dp_attr_int("axis", 0);
  return dp_build(b, "Concat", (int)parts, joined, 1, 1, &axis);
}
