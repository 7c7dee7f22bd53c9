// See normalization_grad.h.
#include "backends/cpu/fast/normalization_grad.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "backends/cpu/onednn/table.h"
#include "backends/cpu/reference/normalization_grad.h"
#include "backends/cpu/vector/normalization_grad.h"

// More threads than MOST_BLOCKS gain nothing. LEAST_ROWS are worth sums of their own.
enum { MOST_BLOCKS = 64, LEAST_ROWS = 32 };

typedef struct {
  dp_vector_normalize_back back;
  atomic_int done;  // threads
} gradient_state;

static const dp_vector_normalize_back avx2 = dp_vector_normalize_back_avx2, avx512 = dp_vector_normalize_back_avx512;

dp_status dp_fast_normalization_grad_prepare(const dp_kernel_spec *spec, void **state) {
  void *table;
  DP_TRY(dp_isa_table(spec, &avx2, &avx512, &table));
  gradient_state *s = malloc(sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "out of memory for a kernel of %s", spec->op->name);
  s->back = *(const dp_vector_normalize_back *)table;
  atomic_init(&s->done, 0);
  *state = s;
  return DP_OK;
}

static int blocks_of(int64_t rows) { return (int)dp_max_i64(1, dp_min_i64(MOST_BLOCKS, rows / LEAST_ROWS)); }

// dscale's sums of all blocks, then dbias's.
uint64_t dp_fast_normalization_grad_scratch_bytes(const dp_kernel_spec *spec) {
  const dp_normalization_grad_extents e = dp_normalization_grad_extents_of(spec);
  const int n_sums = dp_has_out(spec, 1) + dp_has_out(spec, 2);
  return (uint64_t)(blocks_of(e.rows) * n_sums * e.length) * sizeof(double);
}

static void join(int blocks, int64_t length, const double *sums, float *y) {
  for (int64_t i = 0; i < length; i++) {
    double sum = sums[i];
    for (int b = 1; b < blocks; b++) sum += sums[b * length + i];
    y[i] = (float)sum;
  }
}

static double *clear(double *sums, int64_t length) {
  dp_zero(sums, length * (int64_t)sizeof *sums);
  return sums;
}

dp_status dp_fast_normalization_grad_run(const dp_call *call, bool about_mean, void *state) {
  gradient_state *s = state;
  const dp_kernel_spec *spec = call->spec;
  const dp_normalization_grad_extents e = dp_normalization_grad_extents_of(spec);
  const dp_vector_normalization_grad n = {e.length, about_mean, dp_node_float(spec->node, "epsilon", 1e-5),
                                          call->in[1]};
  const int blocks = blocks_of(e.rows);
  double *dscale = dp_has_out(spec, 1) ? call->scratch : NULL;
  double *dbias = dp_has_out(spec, 2) ? (double *)call->scratch + (dscale ? blocks * e.length : 0) : NULL;
  int64_t lo, hi, first, end;
  dp_part_range(blocks, call->part, call->parts, &lo, &hi);
  for (int64_t b = lo; b < hi; b++) {
    dp_part_range(e.rows, (int)b, blocks, &first, &end);
    const int64_t at = first * e.length;
    s->back(&n, end - first, (const float *)call->in[0] + at, (const float *)call->in[2] + at,
            (float *)call->out[0] + at, dscale ? clear(dscale + b * e.length, e.length) : NULL,
            dbias ? clear(dbias + b * e.length, e.length) : NULL);
  }
  if (atomic_fetch_add(&s->done, 1) < call->parts - 1) return DP_OK;
  atomic_store(&s->done, 0);
  if (dscale) join(blocks, e.length, dscale, call->out[1]);
  if (dbias) join(blocks, e.length, dbias, call->out[2]);
  return DP_OK;
}
