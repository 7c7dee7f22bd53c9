// Reductions other than sums and means. See reduce_fold.h.
#ifndef T
#include "backends/cpu/reference/reduce_fold.h"

#include "ir/ops/reduce.h"

typedef struct {
  int rank;
  int64_t extents[DP_MAX_RANK], strides[DP_MAX_RANK];  // in elements
} dims;

typedef struct {
  dims kept, reduced;
  int64_t count;  // elements for each result
} walk;

static walk walk_of(const dp_local *x, const bool reduced[DP_MAX_RANK]) {
  walk w = {.count = 1};
  int64_t stride = 1;
  for (int d = x->rank - 1; d >= 0; d--) {  // the last dim comes first
    dims *list = reduced[d] ? &w.reduced : &w.kept;
    list->extents[list->rank] = x->extents[d];
    list->strides[list->rank++] = stride;
    stride *= x->extents[d];
    if (reduced[d]) w.count *= x->extents[d];
  }
  return w;
}

typedef bool boolean;  // a name that macros can paste

static int64_t offset_of(const dims *list, int64_t i) {
  int64_t offset = 0;
  for (int d = 0; d < list->rank; d++) {
    offset += i % list->extents[d] * list->strides[d];
    i /= list->extents[d];
  }
  return offset;
}

#define T float
#define A double
#define U double
#define LEAST -INFINITY
#define MOST INFINITY
#include __FILE__
#define T double
#define A double
#define U double
#define LEAST -INFINITY
#define MOST INFINITY
#include __FILE__
#define T int64_t
#define A int64_t
#define U uint64_t
#define LEAST INT64_MIN
#define MOST INT64_MAX
#include __FILE__
#define T int32_t
#define A int64_t
#define U uint64_t
#define LEAST INT32_MIN
#define MOST INT32_MAX
#include __FILE__
#define T int8_t
#define A int64_t
#define U uint64_t
#define LEAST INT8_MIN
#define MOST INT8_MAX
#include __FILE__
#define T uint8_t
#define A int64_t
#define U uint64_t
#define LEAST 0
#define MOST UINT8_MAX
#include __FILE__
#define T int16_t
#define A int64_t
#define U uint64_t
#define LEAST INT16_MIN
#define MOST INT16_MAX
#include __FILE__
#define T uint16_t
#define A int64_t
#define U uint64_t
#define LEAST 0
#define MOST UINT16_MAX
#include __FILE__
#define T uint32_t
#define A int64_t
#define U uint64_t
#define LEAST 0
#define MOST UINT32_MAX
#include __FILE__
#define T uint64_t
#define A uint64_t
#define U uint64_t
#define LEAST 0
#define MOST UINT64_MAX
#include __FILE__
#define T boolean
#define A int64_t
#define U uint64_t
#define LEAST 0
#define MOST 1
#include __FILE__

dp_status dp_reduce_fold(const dp_call *call, dp_fold fold) {
  const dp_kernel_spec *spec = call->spec;
  bool reduced[DP_MAX_RANK];
  int64_t lo, hi;
  DP_TRY(dp_reduce_axes(spec->node, dp_in_rank(spec, 0), reduced));
  walk w = walk_of(&spec->inputs[0].local, reduced);
  dp_part_range(dp_out_count(spec, 0), call->part, call->parts, &lo, &hi);
  for (int64_t i = lo; i < hi; i++) switch (spec->inputs[0].dtype) {
      case DP_FLOAT32:
        fold_float(&w, fold, call->in[0], call->out[0], i);
        break;
      case DP_FLOAT64:
        fold_double(&w, fold, call->in[0], call->out[0], i);
        break;
      case DP_INT64:
        fold_int64_t(&w, fold, call->in[0], call->out[0], i);
        break;
      case DP_INT32:
        fold_int32_t(&w, fold, call->in[0], call->out[0], i);
        break;
      case DP_INT8:
        fold_int8_t(&w, fold, call->in[0], call->out[0], i);
        break;
      case DP_UINT8:
        fold_uint8_t(&w, fold, call->in[0], call->out[0], i);
        break;
      case DP_INT16:
        fold_int16_t(&w, fold, call->in[0], call->out[0], i);
        break;
      case DP_UINT16:
        fold_uint16_t(&w, fold, call->in[0], call->out[0], i);
        break;
      case DP_UINT32:
        fold_uint32_t(&w, fold, call->in[0], call->out[0], i);
        break;
      case DP_UINT64:
        fold_uint64_t(&w, fold, call->in[0], call->out[0], i);
        break;
      case DP_BOOL:
        fold_boolean(&w, fold, call->in[0], call->out[0], i);
        break;
      default:
        return dp_fail(EX_SOFTWARE, "no %s of type %s", spec->op->name, dp_type_name(spec->inputs[0].dtype));
    }
  return DP_OK;
}

#else

// acc = EXPR of acc and v, over all elements. Integers are computed as U, in which they wrap.
#define EACH(EXPR)                            \
  for (int64_t i = 0; i < w->count; i++) {    \
    A v = (A)from[offset_of(&w->reduced, i)]; \
    acc = (A)(EXPR);                          \
  }

static A FN(most)(const walk *w, const T *from) {
  A acc = (A)LEAST;
  EACH(v > acc || v != v ? v : acc)
  return acc;
}

static void FN(fold)(const walk *w, dp_fold fold, const T *x, T *y, int64_t result) {
  const T *from = x + offset_of(&w->kept, result);
  A acc = 0, m = 0;
  double sum = 0;
  switch (fold) {
    case DP_FOLD_MAX:
      acc = FN(most)(w, from);
      break;
    case DP_FOLD_MIN:
      acc = (A)MOST;
      EACH(v < acc || v != v ? v : acc)
      break;
    case DP_FOLD_PROD:
      acc = 1;
      EACH((U)acc * (U)v)
      break;
    case DP_FOLD_L1:
      EACH(v <= 0 ? (U)acc - (U)v : (U)acc + (U)v)
      break;
    case DP_FOLD_SUM_SQUARE:
      EACH((U)acc + (U)v * (U)v)
      break;
    case DP_FOLD_L2:
      EACH((U)acc + (U)v * (U)v)
      acc = (A)sqrt((double)acc);
      break;
    case DP_FOLD_LOG_SUM:
      EACH((U)acc + (U)v)
      acc = (A)log((double)acc);
      break;
    case DP_FOLD_LOG_SUM_EXP:
      m = FN(most)(w, from);
      if (m - m != 0) m = 0;  // log-sum-exp of infinities needs no shift
      for (int64_t i = 0; i < w->count; i++) sum += exp((double)((A)from[offset_of(&w->reduced, i)] - m));
      acc = (A)(log(sum) + (double)m);
      break;
  }
  y[result] = (T)acc;
}
#undef T
#undef A
#undef U
#undef LEAST
#undef MOST
#undef EACH
#endif
