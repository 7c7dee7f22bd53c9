// MatMul by oneDNN's sgemm: one product when the right operand has rank 2 or less, else one for each matrix.
#include "backends/base/mat_mul_extents.h"
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/sgemm.h"
#include "backends/cpu/onednn/sgemm_code.h"
#include "backends/cpu/reference/reference.h"

static bool match(const dp_kernel_spec *spec) { return spec->inputs[0].dtype == DP_FLOAT32; }

static dp_mat_mul extents_of(const dp_kernel_spec *spec) {
  dp_mat_mul e = dp_mat_mul_extents(&spec->inputs[0].local, &spec->inputs[1].local);
  if (spec->inputs[1].local.rank <= 2) {  // the rows of all left matrices are contiguous
    e.m *= e.batches;
    e.batches = 1;
    e.rank = 0;
  }
  return e;
}

static dp_sgemm sgemm_of(const dp_kernel_spec *spec, const dp_mat_mul *e) {
  return (dp_sgemm){.m = e->m, .n = e->n, .k = e->k, .padded = spec->packed};
}

static uint64_t packed_bytes(const dp_kernel_spec *spec) {
  const dp_mat_mul e = extents_of(spec);
  return spec->inputs[1].local.rank == 2 ? dp_sgemm_padded_bytes(e.k, e.n) : 0;
}

static dp_status pack(const dp_kernel_spec *spec, void *state, const void *plain, void *packed, void *scratch) {
  (void)state, (void)scratch;
  const dp_mat_mul e = extents_of(spec);
  dp_sgemm_pad(e.k, e.n, plain, packed);
  return DP_OK;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_mat_mul e = extents_of(spec);
  const dp_sgemm one = sgemm_of(spec, &e);
  return e.batches ? (uint64_t)spec->threads * dp_sgemm_bytes(&one) : 0;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  (void)spec;
  dp_isa_hold_default();
  *state = NULL;
  return dp_sgemm_code_prepare();
}

// Parts divide the products, or each of them if there are fewer.
static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state;
  const dp_mat_mul e = extents_of(spec);
  const dp_sgemm one = sgemm_of(spec, &e);
  const bool whole = e.batches >= parts;
  const dp_sgemm_share share = dp_sgemm_share_of(&one, whole ? 0 : part, whole ? 1 : parts);
  void *room = (char *)scratch + (uint64_t)part * dp_sgemm_bytes(&one);
  int64_t batch = 0, end = e.batches;
  if (whole) dp_part_range(e.batches, part, parts, &batch, &end);
  for (; batch < end; batch++) {
    int64_t a_at, b_at;
    dp_mat_mul_offsets(&e, batch, &a_at, &b_at);
    const float *a = (const float *)in[0] + a_at, *b = (const float *)in[1] + b_at;
    DP_TRY(dp_sgemm_run(&one, &share, 1, a, b, 0, (float *)out[0] + batch * e.m * e.n, room, spec->threads / parts));
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
    .scratch_bytes = scratch_bytes,
    .expect = dp_sgemm_code_expect,
    .prepare = prepare,
    .packs = 1,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .parts = true,
    .isa = true,
    .run = run,
};
