// Arithmetic progressions whose length depends on the batch: what is known about a Range of N numbers, a part of it,
// and its concatenation with numbers that continue it. PyTorch writes the bounds of bags of L elements like this.
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

// start + count * step, the number after the last.
static bool next_number(const dp_onnx_progression *p, dp_dim *next) {
  int64_t scale, offset;
  return !__builtin_mul_overflow(p->count.scale, p->step, &scale) &&
         !__builtin_mul_overflow(p->count.offset, p->step, &offset) &&
         !__builtin_add_overflow(p->start.scale, scale, &next->scale) &&
         !__builtin_add_overflow(p->start.offset, offset, &next->offset);
}

const dp_onnx_progression *dp_onnx_progression_make(dp_onnx_reader *reader, dp_dtype dtype, dp_dim start, int64_t step,
                                                    dp_dim count) {
  dp_onnx_progression p = {dtype, start, step, count};
  return dp_memdup(reader->arena, &p, sizeof p);
}

static const dp_onnx_progression *find_progression(const dp_onnx_scope *scope, const char *name, dp_status *status) {
  dp_onnx_binding *x = NULL;
  if (!*status) *status = dp_onnx_scope_find(scope, name, &x);
  return x ? x->progression : NULL;
}

// Appends numbers that continue the steps.
static dp_status join(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m,
                      const dp_onnx_progression *p, const dp_onnx_progression **result) {
  dp_onnx_progression all = *p;
  for (size_t i = 1; i < m->n_input; i++) {
    dp_onnx_binding *x;
    DP_TRY(dp_onnx_scope_find(scope, m->input[i], &x));
    const dp_onnx_known *more = x ? dp_onnx_scope_known(reader, x) : NULL;
    if (!more || more->rank != 1 || more->dtype != p->dtype) return DP_OK;
    for (int64_t k = 0; k < more->count; k++) {
      dp_dim next;
      if (!next_number(&all, &next) || !dp_dim_equal(next, more->numbers[k].i)) return DP_OK;
      all.count.offset++;
    }
  }
  *result = dp_memdup(reader->arena, &all, sizeof all);
  return DP_OK;
}

static const int64_t *ints_of(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, size_t i) {
  dp_onnx_binding *x = NULL;
  if (i >= m->n_input) return NULL;
  dp_status_free(dp_onnx_scope_find(scope, m->input[i], &x));
  const dp_onnx_known *known = x ? dp_onnx_scope_known(reader, x) : NULL;
  if (!known || known->count != 1 || dp_type_is_float(known->dtype) || dp_dim_is_symbolic(known->numbers[0].i))
    return NULL;
  return &known->numbers[0].i.offset;
}

// The part from a fixed position to the end, or to a position that counts from the end.
static const dp_onnx_progression *cut(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m,
                                      const dp_onnx_progression *p) {
  const int64_t *start = ints_of(reader, scope, m, 1), *end = ints_of(reader, scope, m, 2);
  const int64_t *axis = ints_of(reader, scope, m, 3), *step = ints_of(reader, scope, m, 4);
  if (!start || !end || (m->n_input > 3 && (!axis || (*axis != 0 && *axis != -1))) ||
      (m->n_input > 4 && (!step || *step != 1)))
    return NULL;
  // The first numbers exist for any batch. The end is beyond all numbers, or counts from the end.
  dp_onnx_progression part = *p;
  int64_t dropped = *end >= INT32_MAX ? 0 : *end < 0 && *end > -INT32_MAX ? -*end : -1;
  if (dropped < 0 || *start < 0 || *start > part.count.offset || dropped > part.count.offset - *start) return NULL;
  int64_t skipped;
  if (__builtin_mul_overflow(*start, part.step, &skipped) ||
      __builtin_add_overflow(part.start.offset, skipped, &part.start.offset))
    return NULL;
  part.count.offset -= *start + dropped;
  return dp_memdup(reader->arena, &part, sizeof part);
}

dp_status dp_onnx_progression_fold(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m,
                                   bool *folded) {
  bool concatenates = !strcmp(m->op_type, "Concat"), cuts = !strcmp(m->op_type, "Slice");
  dp_status status = DP_OK;
  if ((!concatenates && !cuts) || !m->n_input || m->n_output != 1) return DP_OK;
  const dp_onnx_progression *p = find_progression(scope, m->input[0], &status), *result = NULL;
  DP_TRY(status);
  if (!p) return DP_OK;
  if (concatenates)
    DP_TRY(join(reader, scope, m, p, &result));
  else
    result = cut(reader, scope, m, p);
  if (!result) return DP_OK;
  *folded = true;
  return dp_onnx_scope_bind(reader, scope, m->output[0], (dp_onnx_binding){.progression = result});
}

dp_type dp_onnx_progression_type(const dp_onnx_progression *p) { return (dp_type){p->dtype, {1, {p->count}}}; }

dp_status dp_onnx_progression_value(dp_onnx_reader *reader, const char *name, const dp_onnx_progression *p,
                                    dp_value **value) {
  dp_onnx_progression from_0 = *p;
  dp_builder b = {.graph = reader->graph, .prefix = name};
  dp_shape limit = {1, {{0, 0}}};
  bool shifted = dp_dim_is_symbolic(p->start);
  if (shifted) from_0.start = dp_dim_of(0);
  if (!next_number(&from_0, &limit.dims[0])) return dp_fail(EX_DATAERR, "the numbers '%s' are too large", name);
  dp_attr attrs[] = {dp_attr_int("start", from_0.start.offset), dp_attr_dims(reader->arena, "limit", &limit),
                     dp_attr_int("delta", p->step), dp_attr_int("dtype", p->dtype)};
  dp_value *y = dp_build(&b, "Range", 0, NULL, 1, DP_COUNT(attrs), attrs);
  if (shifted) {
    dp_onnx_known *start = dp_onnx_fold_make(reader, p->dtype, 0, NULL);
    if (!start) return dp_fail(EX_DATAERR, "there are too many known numbers");
    start->numbers[0].i = p->start;
    dp_onnx_binding binding = {.name = dp_printf(reader->arena, "%s/start", name), .known = start};
    dp_value *first;
    DP_TRY(dp_onnx_scope_value(reader, &binding, &first));
    y = dp_build2(&b, "Add", y, first);
  }
  *value = y;
  return b.status;
}
