// Sums over dims. Neighbouring dims of one kind (kept or reduced) are merged, and contiguous results are computed in
// blocks, so that both a bias gradient (rows reduced) and a loss (everything reduced) read memory in order. Each result
// sums its elements in row-major order, however the blocks and parts are chosen.
#ifndef T
#include "backends/cpu/reference/reduce.h"

enum { BLOCK = 64 };

typedef struct {
  int rank;
  int64_t extents[DP_MAX_RANK], strides[DP_MAX_RANK];  // in elements
} dims;

typedef struct {
  dims kept, reduced;  // each has at least one dim
  int64_t divisor;
} walk;

int64_t dp_reduce_divisor(const dp_local *x, const bool reduced[DP_MAX_RANK]) {
  int64_t divisor = 1;
  for (int d = 0; d < x->rank; d++)
    if (reduced[d]) divisor *= x->whole[d];
  return divisor ? divisor : 1;
}

static walk walk_of(const dp_kernel_spec *spec, const bool reduced[DP_MAX_RANK]) {
  const dp_local *x = &spec->inputs[0].local;
  walk w = {.divisor = dp_reduce_divisor(x, reduced)};
  int64_t stride = dp_local_count(x);
  int before = -1;
  for (int d = 0; d < x->rank; d++) {
    dims *list = reduced[d] ? &w.reduced : &w.kept;
    stride = x->extents[d] ? stride / x->extents[d] : 0;
    if (before == (int)reduced[d]) {
      list->extents[list->rank - 1] *= x->extents[d];
      list->strides[list->rank - 1] = stride;
    } else {
      list->extents[list->rank] = x->extents[d];
      list->strides[list->rank++] = stride;
    }
    before = (int)reduced[d];
  }
  if (!w.kept.rank) w.kept = (dims){1, {1}, {1}};
  if (!w.reduced.rank) w.reduced = (dims){1, {1}, {1}};
  return w;
}

// The element offset of row-major index i.
static int64_t offset_of(const dims *list, int64_t i) {
  int64_t offset = 0;
  for (int d = list->rank - 1; d >= 0; d--) {
    offset += i % list->extents[d] * list->strides[d];
    i /= list->extents[d];
  }
  return offset;
}

#define T float
#define A double
#define Q double
#include __FILE__
#define T double
#define A double
#define Q double
#include __FILE__
#define T int64_t
#define A uint64_t
#define Q int64_t
#include __FILE__
#define T uint64_t
#define A uint64_t
#define Q uint64_t
#include __FILE__
#define T int32_t
#define A uint64_t
#define Q int64_t
#include __FILE__

dp_status dp_reduce(const dp_call *call, const bool reduced[DP_MAX_RANK], bool mean) {
  const dp_kernel_spec *spec = call->spec;
  int64_t lo, hi;
  dp_part_range(dp_out_count(spec, 0), call->part, call->parts, &lo, &hi);
  walk w = walk_of(spec, reduced);
  if (!mean) w.divisor = 1;
  switch (spec->inputs[0].dtype) {
    case DP_FLOAT32:
      reduce_float(&w, call->in[0], call->out[0], lo, hi);
      break;
    case DP_FLOAT64:
      reduce_double(&w, call->in[0], call->out[0], lo, hi);
      break;
    case DP_INT64:
      reduce_int64_t(&w, call->in[0], call->out[0], lo, hi);
      break;
    case DP_UINT64:
      reduce_uint64_t(&w, call->in[0], call->out[0], lo, hi);
      break;
    case DP_INT32:
      reduce_int32_t(&w, call->in[0], call->out[0], lo, hi);
      break;
    default:
      return dp_fail(EX_SOFTWARE, "no sums of type %s", dp_type_name(spec->inputs[0].dtype));
  }
  return DP_OK;
}

#else

// Adds to sums[j] the elements that reduce into result j of the `width` results from x on.
static void FN(add_block)(const walk *w, const T *x, int width, A sums[BLOCK]) {
  const dims *r = &w->reduced;
  int64_t inner = r->extents[r->rank - 1], stride = r->strides[r->rank - 1],
          kept_stride = w->kept.strides[w->kept.rank - 1];
  int64_t rows = dp_product(r->extents, 0, r->rank - 1);
  for (int64_t row = 0; row < rows; row++) {
    const T *at = x + offset_of(r, row * inner);
    if (kept_stride == 1)
      for (int64_t i = 0; i < inner; i++)
        for (int j = 0; j < width; j++) sums[j] += (A)at[i * stride + j];
    else
      for (int j = 0; j < width; j++)
        for (int64_t i = 0; i < inner; i++) sums[j] += (A)at[j * kept_stride + i * stride];
  }
}

static void FN(reduce)(const walk *w, const T *x, T *y, int64_t lo, int64_t hi) {
  int64_t length = w->kept.extents[w->kept.rank - 1];
  bool empty = dp_product(w->reduced.extents, 0, w->reduced.rank) == 0;
  while (lo < hi) {
    int width = (int)dp_min_i64(dp_min_i64(BLOCK, hi - lo), length - lo % length);
    A sums[BLOCK] = {0};
    if (!empty) FN(add_block)(w, x + offset_of(&w->kept, lo), width, sums);
    for (int j = 0; j < width; j++) y[lo + j] = (T)((Q)sums[j] / (Q)w->divisor);
    lo += width;
  }
}
#undef T
#undef A
#undef Q
#endif
