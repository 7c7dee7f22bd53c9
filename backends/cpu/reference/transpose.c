// Transpose: result dim d is operand dim perm[d]; without `perm` the order is reversed. Any type, by its size.
#ifndef T
#include "backends/cpu/reference/reference.h"

typedef struct {
  int rank;                                          // at least 1
  int64_t extents[DP_MAX_RANK], steps[DP_MAX_RANK];  // of the result; steps in the operand
} walk;

static walk walk_of(const dp_kernel_spec *spec) {
  size_t count;
  int rank = dp_in_rank(spec, 0);
  const int64_t *perm = dp_node_ints(spec->node, "perm", &count);
  int64_t steps[DP_MAX_RANK], step = 1;
  for (int d = rank - 1; d >= 0; d--) {
    steps[d] = step;
    step *= dp_in_extents(spec, 0)[d];
  }
  walk w = {.rank = rank};
  for (int d = 0; d < rank; d++) {
    int from = perm ? (int)perm[d] : rank - 1 - d;
    w.extents[d] = dp_in_extents(spec, 0)[from];
    w.steps[d] = steps[from];
  }
  if (!rank) w = (walk){1, {1}, {0}};
  return w;
}

#define T uint8_t
#include __FILE__
#define T uint16_t
#include __FILE__
#define T uint32_t
#include __FILE__
#define T uint64_t
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  walk w = walk_of(spec);
  int64_t lo, hi, inner = w.extents[w.rank - 1];
  if (dp_out_count(spec, 0) == 0) return DP_OK;
  dp_part_range(dp_out_count(spec, 0) / inner, part, parts, &lo, &hi);
  switch (dp_type_bytes(spec->inputs[0].dtype)) {
    case 1:
      copy_rows_uint8_t(&w, in[0], out[0], lo, hi);
      break;
    case 2:
      copy_rows_uint16_t(&w, in[0], out[0], lo, hi);
      break;
    case 4:
      copy_rows_uint32_t(&w, in[0], out[0], lo, hi);
      break;
    default:
      copy_rows_uint64_t(&w, in[0], out[0], lo, hi);
      break;
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Transpose = {
    .name = "cpu.reference.Transpose",
    .op = "Transpose",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};

#else

// Rows lo .. hi - 1 of the result, a row being its last dim.
static void FN(copy_rows)(const walk *w, const T *x, T *y, int64_t lo, int64_t hi) {
  int64_t inner = w->extents[w->rank - 1], step = w->steps[w->rank - 1];
  for (int64_t row = lo; row < hi; row++) {
    const T *from = x;
    int64_t rest = row;
    for (int d = w->rank - 2; d >= 0; d--) {
      from += rest % w->extents[d] * w->steps[d];
      rest /= w->extents[d];
    }
    for (int64_t i = 0; i < inner; i++) y[row * inner + i] = from[i * step];
  }
}
#undef T
#endif
