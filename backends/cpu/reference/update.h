// Updates of variables that may be skipped (DP_OP_UPDATE).
#ifndef DP_BACKENDS_CPU_REFERENCE_UPDATE_H
#define DP_BACKENDS_CPU_REFERENCE_UPDATE_H

#include "backends/cpu/reference/reference.h"

// Whether operand `skip` says that nothing is to change. Then every result is its operand; there is nothing left to do.
static inline bool dp_update_skips(const dp_kernel_spec *spec, const void *const *in, void *const *out, int part,
                                   int parts) {
  const int skip = spec->op->n_inputs - 1;
  if (!dp_has_in(spec, skip) || dp_scalar_i64(spec, in, skip) == 0) return false;
  for (int k = 0; k < spec->n_outputs; k++) {
    int64_t lo, hi;
    if (!dp_has_out(spec, k)) continue;
    dp_part_range(dp_out_count(spec, k), part, parts, &lo, &hi);
    const int64_t bytes = (int64_t)dp_type_bytes(spec->outputs[k].dtype);
    dp_copy((char *)out[k] + lo * bytes, (const char *)in[k] + lo * bytes, (hi - lo) * bytes);
  }
  return true;
}

// The factor of an optimizer's gradient. A product of two floats is exact in double, so rounding it once is what a
// multiplication of its own does.
static inline double dp_update_scale(const dp_kernel_spec *spec, const void *const *in) {
  const int scale = spec->op->n_inputs - 2;
  return dp_has_in(spec, scale) ? dp_element_get(spec->inputs[scale].dtype, in[scale]) : 1;
}

#endif
