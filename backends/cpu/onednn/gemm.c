// Gemm by oneDNN's sgemm, which adds the product to C: C is copied to the result first.
#include <string.h>

#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/sgemm.h"
#include "backends/cpu/onednn/sgemm_code.h"
#include "ir/base/tsan.h"

static bool match(const dp_kernel_spec *spec) { return spec->inputs[0].dtype == DP_FLOAT32; }

static dp_sgemm sgemm_of(const dp_kernel_spec *spec) {
  const dp_local *a = &spec->inputs[0].local, *y = &spec->outputs[0].local;
  const bool trans_a = dp_node_int(spec->node, "transA", 0), trans_b = dp_node_int(spec->node, "transB", 0);
  return (dp_sgemm){
      .trans_a = trans_a, .trans_b = trans_b, .m = y->extents[0], .n = y->extents[1], .k = a->extents[trans_a ? 0 : 1]};
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_sgemm sgemm = sgemm_of(spec);
  return (uint64_t)spec->threads * dp_sgemm_bytes(&sgemm);
}

// Writes C to a part's share of y (m, n), broadcast, unless it is there. Returns whether there is a C.
static bool copy_bias(const dp_kernel_spec *spec, const float *c, const dp_sgemm_share *s, float *y) {
  if (spec->n_inputs < 3 || !spec->inputs[2].present) return false;
  if (c == y) return true;
  const dp_local *local = &spec->inputs[2].local;
  const int64_t columns = local->rank > 0 ? local->extents[local->rank - 1] : 1;
  const int64_t rows = local->rank > 1 ? local->extents[local->rank - 2] : 1;
  const int64_t n = spec->outputs[0].local.extents[1];
  for (int64_t i = s->row; i < s->row + s->rows; i++) {
    const float *from = c + (rows == 1 ? 0 : i * columns);
    float *to = y + i * n + s->column;
    if (columns == 1) {
      for (int64_t j = 0; j < s->columns; j++) to[j] = from[0];
    } else {
      dp_tsan_read(from + s->column, (size_t)s->columns * sizeof *to);
      memcpy(to, from + s->column, (size_t)s->columns * sizeof *to);
    }
  }
  return true;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  (void)spec;
  dp_isa_hold_default();
  *state = NULL;
  return dp_sgemm_code_prepare();
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  const dp_sgemm sgemm = sgemm_of(spec);
  const dp_sgemm_share share = dp_sgemm_share_of(&sgemm, part, parts);
  const bool biased = copy_bias(spec, spec->n_inputs > 2 ? in[2] : NULL, &share, out[0]);
  const float alpha = (float)dp_node_float(spec->node, "alpha", 1),
              beta = biased ? (float)dp_node_float(spec->node, "beta", 1) : 0;
  void *room = (char *)scratch + (uint64_t)part * dp_sgemm_bytes(&sgemm);
  return dp_sgemm_run(&sgemm, &share, alpha, in[0], in[1], beta, out[0], room, spec->threads / parts);
}

const dp_kernel dp_kernel_onednn_Gemm = {
    .name = "cpu.onednn.Gemm",
    .op = "Gemm",
    .domain = "",
    .priority = 10,
    .library = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .expect = dp_sgemm_code_expect,
    .prepare = prepare,
    .parts = true,
    .isa = true,
    .run = run,
};
