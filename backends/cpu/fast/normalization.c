// See normalization.h.
#include "backends/cpu/fast/normalization.h"

#include "backends/cpu/onednn/table.h"
#include "backends/cpu/vector/normalization.h"

bool dp_fast_normalization_match(const dp_kernel_spec *spec) {
  for (int i = 0; i < spec->n_inputs; i++)
    if (dp_has_in(spec, i) && spec->inputs[i].dtype != DP_FLOAT32) return false;
  for (int k = 0; k < spec->n_outputs; k++)
    if (dp_has_out(spec, k) && spec->outputs[k].dtype != DP_FLOAT32) return false;
  return true;
}

// Tables of one function, since the state is an address of data.
static const dp_vector_normalize avx2 = dp_vector_normalize_avx2, avx512 = dp_vector_normalize_avx512;

dp_status dp_fast_normalization_prepare(const dp_kernel_spec *spec, void **state) {
  return dp_isa_table(spec, &avx2, &avx512, state);
}

dp_status dp_fast_normalization_run(const dp_call *call, const dp_normalization_rows *rows, const void *state) {
  const dp_vector_normalize normalize = *(const dp_vector_normalize *)state;
  const dp_vector_normalization n = {.length = rows->length,
                                     .about_mean = rows->about_mean,
                                     .epsilon = dp_node_float(call->spec->node, "epsilon", 1e-5),
                                     .scale = rows->scale,
                                     .bias = rows->bias};
  float *mean = rows->mean, *invstd = rows->invstd;
  int64_t lo, hi;
  dp_part_range(rows->rows, call->part, call->parts, &lo, &hi);
  for (int64_t row = lo; row < hi; row++)
    normalize(&n, (const float *)call->in[0] + row * rows->length, (float *)call->out[0] + row * rows->length,
              mean ? mean + row : NULL, invstd ? invstd + row : NULL);
  return DP_OK;
}
