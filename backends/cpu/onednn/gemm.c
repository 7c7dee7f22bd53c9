// Gemm by oneDNN's sgemm, which adds the product to C: C is copied to the result first.
//
// Gradients of weights are products A' B over many rows, and sgemm reads A by columns. Where a row has a multiple of
// 512 floats, elements of a column fall into few sets of the cache and push each other out: half the speed. A number of
// rows at a time is then copied with a padding.
#include <string.h>

#include "backends/cpu/alignment.h"
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/onednn/primitive.h"
#include "ir/kernel/kernel.h"

static bool match(const dp_kernel_spec *spec) { return spec->inputs[0].dtype == DP_FLOAT32; }

// Writes C to y (m, n), broadcast, unless it is there. Returns whether there is a C.
static bool copy_bias(const dp_kernel_spec *spec, const float *c, int64_t m, int64_t n, float *y) {
  if (spec->n_inputs < 3 || !spec->inputs[2].present) return false;
  if (c == y) return true;
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

// ---- padded rows ----------------------------------------------------------------------------------------------------

// Floats: of the distance between rows that slows reading down, of the padding, of the copy. A block of fewer than
// FEWEST rows costs more than it saves, and so does copying for a product that reads each row's elements often anyway.
enum { PERIOD = 512, PADDING = 16, COPY = 1 << 19, FEWEST = 64, FEW = 512 };

// Rows of `columns` floats that are copied at a time.
static int64_t rows_of_block(int64_t columns) { return COPY / (columns + PADDING); }

static bool is_padded(int64_t columns, int64_t other) {
  return columns % PERIOD == 0 && other <= FEW && rows_of_block(columns) >= FEWEST;
}

// Bytes for rows of an operand, whether they are padded or not, so that no shard needs more than a larger one.
static uint64_t copy_bytes(int64_t rows, int64_t columns) {
  const int64_t most = dp_min_i64(rows * (columns + PADDING), COPY);
  return columns < PERIOD ? 0 : dp_align_up((uint64_t)most * sizeof(float), DP_CPU_ALIGNMENT);
}

static bool is_gradient(const dp_kernel_spec *spec) {
  return dp_node_int(spec->node, "transA", 0) && !dp_node_int(spec->node, "transB", 0);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_local *a = &spec->inputs[0].local, *b = &spec->inputs[1].local;
  if (!is_gradient(spec)) return 0;
  return copy_bytes(a->extents[0], a->extents[1]) + copy_bytes(b->extents[0], b->extents[1]);
}

// An operand whose rows are taken block by block. copy: NULL, or where its padded rows go.
typedef struct {
  const float *first;
  int64_t columns;
  float *copy;
} rows;

// The rows from `at` on, `count` of them; *stride: floats from one to the next.
static const float *take(const rows *r, int64_t at, int64_t count, int64_t *stride) {
  const float *from = r->first + at * r->columns;
  *stride = r->columns;
  if (!r->copy) return from;
  *stride = r->columns + PADDING;
  for (int64_t i = 0; i < count; i++)
    memcpy(r->copy + i * *stride, from + i * r->columns, (size_t)r->columns * sizeof *from);
  return r->copy;
}

// y (m, n) = alpha * A' B + beta * y, where A (k, m) and B (k, n).
static dp_status multiply_rows(const dp_kernel_spec *spec, const float *a, const float *b, float alpha, float beta,
                               float *y, void *scratch) {
  const int64_t k = spec->inputs[0].local.extents[0], m = spec->inputs[0].local.extents[1],
                n = spec->inputs[1].local.extents[1];
  char *room = scratch;
  rows left = {a, m, is_padded(m, n) ? (float *)room : NULL};
  rows right = {b, n, is_padded(n, m) ? (float *)(room + copy_bytes(k, m)) : NULL};
  int64_t block = k;
  if (left.copy) block = dp_min_i64(block, rows_of_block(m));
  if (right.copy) block = dp_min_i64(block, rows_of_block(n));
  for (int64_t at = 0; at < k; at += block) {
    const int64_t count = dp_min_i64(block, k - at);
    int64_t lda, ldb;
    const float *from_a = take(&left, at, count, &lda), *from_b = take(&right, at, count, &ldb);
    DP_TRY(dp_primitive_sgemm(true, false, m, n, count, alpha, from_a, lda, from_b, ldb, at ? 1 : beta, y, n,
                              spec->threads));
  }
  return DP_OK;
}

// ---- the kernel -----------------------------------------------------------------------------------------------------

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  dp_isa_hold_default();
  *state = NULL;
  return dp_primitive_sgemm_prepare(spec->threads);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)part, (void)parts;
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
  if (is_gradient(spec)) return multiply_rows(spec, in[0], in[1], alpha, beta, y, scratch);
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
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .own_threads = true,
    .isa = true,
    .run = run,
};
