// Gemm by oneDNN's sgemm, which adds the product to C: C is copied to the result first.
//
// Gradients of weights are products A' B over many rows, and sgemm reads A by columns. Where a row has a multiple of
// 512 floats, elements of a column fall into few sets of the cache and push each other out: half the speed. Blocks of
// such rows are then copied with a padding.
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

// Floats: of the distance between rows that slows reading down, and of the padding. A copy has at most ROWS rows of
// WIDTH floats. It costs more than it saves for a product that reads each row's elements often anyway.
enum { PERIOD = 512, PADDING = 16, ROWS = 512, WIDTH = 1024, FEW = 512 };

static bool is_padded(int64_t columns, int64_t other) { return columns % PERIOD == 0 && other <= FEW; }

// Bytes for rows of an operand, whether they are padded or not, so that no shard needs more than a larger one.
static uint64_t copy_bytes(int64_t rows, int64_t columns) {
  const int64_t floats = dp_min_i64(rows, ROWS) * (dp_min_i64(columns, WIDTH) + PADDING);
  return columns < PERIOD ? 0 : dp_align_up((uint64_t)floats * sizeof(float), DP_CPU_ALIGNMENT);
}

static bool is_gradient(const dp_kernel_spec *spec) {
  return dp_node_int(spec->node, "transA", 0) && !dp_node_int(spec->node, "transB", 0);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_local *a = &spec->inputs[0].local, *b = &spec->inputs[1].local;
  if (!is_gradient(spec)) return 0;
  return copy_bytes(a->extents[0], a->extents[1]) + copy_bytes(b->extents[0], b->extents[1]);
}

// An operand that is taken block by block: `width` columns of some rows. copy: NULL, or where padded rows go.
typedef struct {
  const float *first;
  int64_t columns, width;
  float *copy;
} operand;

static operand operand_of(const float *first, int64_t columns, float *copy) {
  return (operand){first, columns, copy ? dp_min_i64(columns, WIDTH) : columns, copy};
}

// `count` rows from `row` on, of the columns from `column` on; *stride: floats from one row to the next.
static const float *take(const operand *o, int64_t row, int64_t count, int64_t column, int64_t *stride) {
  const float *from = o->first + row * o->columns + column;
  *stride = o->columns;
  if (!o->copy) return from;
  *stride = o->width + PADDING;
  const int64_t width = dp_min_i64(o->width, o->columns - column);
  for (int64_t i = 0; i < count; i++)
    memcpy(o->copy + i * *stride, from + i * o->columns, (size_t)width * sizeof *from);
  return o->copy;
}

// y (m, n) = alpha * A' B + beta * y, where A (k, m) and B (k, n).
static dp_status multiply_rows(const dp_kernel_spec *spec, const float *a, const float *b, float alpha, float beta,
                               float *y, void *scratch) {
  const int64_t k = spec->inputs[0].local.extents[0], m = spec->inputs[0].local.extents[1],
                n = spec->inputs[1].local.extents[1];
  char *room = scratch;
  const operand left = operand_of(a, m, is_padded(m, n) ? (float *)room : NULL);
  const operand right = operand_of(b, n, is_padded(n, m) ? (float *)(room + copy_bytes(k, m)) : NULL);
  const int64_t block = left.copy || right.copy ? ROWS : k;
  for (int64_t at = 0; at < k; at += block) {
    const int64_t count = dp_min_i64(block, k - at);
    for (int64_t i = 0; i < m; i += left.width) {
      int64_t lda, ldb;
      const float *from_a = take(&left, at, count, i, &lda);
      for (int64_t j = 0; j < n; j += right.width) {
        const float *from_b = take(&right, at, count, j, &ldb);
        DP_TRY(dp_primitive_sgemm(true, false, dp_min_i64(left.width, m - i), dp_min_i64(right.width, n - j), count,
                                  alpha, from_a, lda, from_b, ldb, at ? 1 : beta, y + i * n + j, n, spec->threads));
      }
    }
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
