// Random initial values. See random_numbers.h.
#ifndef T
#include "backends/cpu/reference/random_numbers.h"

// Where element `at` of the plain result lies.
static inline int64_t place(const dp_kernel_operand *y, int64_t at) {
  const int64_t *extents = y->local.extents;
  if (y->layout == DP_LAYOUT_PLAIN) return at;
  const int64_t taps = extents[2] * extents[3];
  return dp_weight_block_place(extents, at / taps / extents[1], at / taps % extents[1], at % taps);
}

#define T float
#include __FILE__
#define T double
#include __FILE__

dp_status dp_random_numbers(const dp_call *call, bool normal, double shift, double scale) {
  const dp_kernel_spec *spec = call->spec;
  dp_random random = {.local = &spec->outputs[0].local,
                      .seed = (uint64_t)dp_scalar_i64(spec, call->in, 0),
                      .step = spec->node->n_inputs > 1 ? (uint32_t)dp_scalar_i64(spec, call->in, 1) : 0,
                      .name = (uint32_t)dp_node_int(spec->node, "key", 0),
                      .normal = normal};
  int64_t lo, hi;
  dp_part_range(dp_out_count(spec, 0), call->part, call->parts, &lo, &hi);
  if (spec->outputs[0].dtype == DP_FLOAT32)
    numbers_float(&random, shift, scale, &spec->outputs[0], call->out[0], lo, hi);
  else
    numbers_double(&random, shift, scale, &spec->outputs[0], call->out[0], lo, hi);
  return DP_OK;
}

#else

static void FN(numbers)(const dp_random *random, double shift, double scale, const dp_kernel_operand *laid, T *y,
                        int64_t lo, int64_t hi) {
  double values[DP_RANDOM_CHUNK];
  for (; lo < hi; lo += DP_RANDOM_CHUNK) {
    int count = (int)dp_min_i64(DP_RANDOM_CHUNK, hi - lo);
    dp_random_fill(random, lo, count, values);
    for (int i = 0; i < count; i++) y[place(laid, lo + i)] = (T)(shift + scale * values[i]);
  }
}
#undef T
#endif
