// dp.Dropout(x, seed, step): x / (1 - ratio) where the element's random number is at least ratio, else 0. The same node
// applied to the gradient drops the same elements.
#ifndef T
#include "backends/cpu/reference/random.h"

#define T float
#include __FILE__
#define T double
#include __FILE__

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  dp_random random = {.local = &spec->outputs[0].local,
                      .seed = (uint64_t)dp_scalar_i64(spec, in, 1),
                      .step = (uint32_t)dp_scalar_i64(spec, in, 2),
                      .name = (uint32_t)dp_node_int(spec->node, "key", 0)};
  double ratio = dp_node_float(spec->node, "ratio", 0.5);
  int64_t lo, hi;
  dp_part_range(dp_out_count(spec, 0), part, parts, &lo, &hi);
  if (spec->inputs[0].dtype == DP_FLOAT32)
    drop_float(&random, ratio, in[0], out[0], lo, hi);
  else
    drop_double(&random, ratio, in[0], out[0], lo, hi);
  return DP_OK;
}

const dp_kernel dp_kernel_reference_dp_Dropout = {
    .name = "cpu.reference.dp.Dropout",
    .op = "Dropout",
    .domain = "dp",
    .parts = true,
    .in_place = true,
    .run = run,
};

#else

static void FN(drop)(const dp_random *random, double ratio, const T *x, T *y, int64_t lo, int64_t hi) {
  double u[DP_RANDOM_CHUNK];
  T kept = (T)(1 / (1 - ratio));
  for (; lo < hi; lo += DP_RANDOM_CHUNK) {
    int count = (int)dp_min_i64(DP_RANDOM_CHUNK, hi - lo);
    dp_random_fill(random, lo, count, u);
    for (int i = 0; i < count; i++) y[lo + i] = u[i] >= ratio ? x[lo + i] * kept : 0;
  }
}
#undef T
#endif
