// MatMul by oneDNN's sgemm: one product when the right operand has rank 2 or less, else one for each matrix.
#include <string.h>

#include "backends/base/mat_mul_extents.h"
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/primitive.h"

static bool match(const dp_kernel_spec *spec) { return spec->inputs[0].dtype == DP_FLOAT32; }

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  dp_isa_hold_default();
  *state = NULL;
  return dp_primitive_sgemm_prepare(spec->threads);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch, (void)part, (void)parts;
  dp_mat_mul e = dp_mat_mul_extents(&spec->inputs[0].local, &spec->inputs[1].local);
  if (spec->inputs[1].local.rank <= 2) {  // the rows of all left matrices are contiguous
    e.m *= e.batches;
    e.batches = 1;
    e.rank = 0;
  }
  float *y = out[0];
  int64_t count = e.batches * e.m * e.n;
  if (count && e.k == 0) memset(y, 0, (size_t)count * sizeof *y);
  if (count == 0 || e.k == 0) return DP_OK;
  for (int64_t batch = 0; batch < e.batches; batch++) {
    int64_t a_at, b_at;
    dp_mat_mul_offsets(&e, batch, &a_at, &b_at);
    const float *a = (const float *)in[0] + a_at, *b = (const float *)in[1] + b_at;
    DP_TRY(dp_primitive_sgemm(false, false, e.m, e.n, e.k, 1, a, e.k, b, e.n, 0, y + batch * e.m * e.n, e.n,
                              spec->threads));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_onednn_MatMul = {
    .name = "cpu.onednn.MatMul",
    .op = "MatMul",
    .domain = "",
    .priority = 10,
    .library = true,
    .match = match,
    .prepare = prepare,
    .own_threads = true,
    .isa = true,
    .run = run,
};
