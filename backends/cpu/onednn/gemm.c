// Gemm by oneDNN's sgemm, which adds the product to C: C is copied to the result first.
#include <string.h>

#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/primitive.h"
#include "ir/kernel/kernel.h"

static bool match(const dp_kernel_spec *spec) { return spec->inputs[0].dtype == DP_FLOAT32; }

// Writes C to y (m, n), broadcast. Returns whether there is a C.
static bool copy_bias(const dp_kernel_spec *spec, const float *c, int64_t m, int64_t n, float *y) {
  if (spec->n_inputs < 3 || !spec->inputs[2].present) return false;
  const dp_local *local = &spec->inputs[2].local;
  int64_t columns = local->rank > 0 ? local->extents[local->rank - 1] : 1;
  int64_t rows = local->rank > 1 ? local->extents[local->rank - 2] : 1;
  for (int64_t i = 0; i < m; i++) {
    const float *row = c + (rows == 1 ? 0 : i * columns);
    if (columns == 1)
      for (int64_t j = 0; j < n; j++) y[i * n + j] = row[0];
    else
      memcpy(y + i * n, row, (size_t)n * sizeof *y);
  }
  return true;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  dp_isa_hold_default();
  *state = NULL;
  return dp_primitive_sgemm_prepare(spec->threads);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch, (void)part, (void)parts;
  const dp_local *a = &spec->inputs[0].local, *b = &spec->inputs[1].local;
  bool trans_a = dp_node_int(spec->node, "transA", 0), trans_b = dp_node_int(spec->node, "transB", 0);
  int64_t m = spec->outputs[0].local.extents[0], n = spec->outputs[0].local.extents[1], k = a->extents[trans_a ? 0 : 1];
  float *y = out[0], beta = (float)dp_node_float(spec->node, "beta", 1),
        alpha = (float)dp_node_float(spec->node, "alpha", 1);
  if (m == 0 || n == 0) return DP_OK;
  if (!copy_bias(spec, spec->n_inputs > 2 ? in[2] : NULL, m, n, y)) {
    beta = 0;
    memset(y, 0, k == 0 ? (size_t)(m * n) * sizeof *y : 0);
  }
  if (k == 0) {
    for (int64_t i = 0; i < m * n; i++) y[i] *= beta;
    return DP_OK;
  }
  return dp_primitive_sgemm(trans_a, trans_b, m, n, k, alpha, in[0], a->extents[1], in[1], b->extents[1], beta, y, n,
                            spec->threads);
}

const dp_kernel dp_kernel_onednn_Gemm = {
    .name = "cpu.onednn.Gemm",
    .op = "Gemm",
    .domain = "",
    .priority = 10,
    .library = true,
    .match = match,
    .prepare = prepare,
    .own_threads = true,
    .isa = true,
    .run = run,
};
