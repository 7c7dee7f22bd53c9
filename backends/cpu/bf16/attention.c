// See attention.h.
#include "backends/cpu/bf16/attention.h"

#include "backends/cpu/alignment.h"
#include "backends/cpu/bf16/product.h"
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/reference/half.h"
#include "backends/cpu/vector/half_rows.h"

// In the room: a tile that is rounded, then what a product packs.
enum { TILE_BYTES = DP_TILE_ROWS * DP_TILE_KEYS * sizeof(uint16_t) };

static int64_t packed_bytes(int64_t m, int64_t n, int64_t k) {
  return (int64_t)dp_align_up(dp_bf16_product_bytes(m, n, k, 1), DP_CPU_ALIGNMENT);
}

static int64_t room_bytes(const dp_attention *a) {
  const int64_t rows = dp_attention_tile_rows(a), keys = dp_attention_tile_keys(a), most = dp_max_i64(rows, keys);
  const int64_t size = dp_max_i64(a->size, a->v_size);
  return TILE_BYTES + dp_max_i64(packed_bytes(rows, keys, size), packed_bytes(most, size, most));
}

static dp_bf16_matrix matrix(bool transposed, const void *first, int64_t row) {
  return transposed ? (dp_bf16_matrix){first, 1, row} : (dp_bf16_matrix){first, row, 1};
}

static dp_status multiply(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const void *a,
                          int64_t lda, const void *b, int64_t ldb, float beta, float *y, int64_t ldy, void *room) {
  const dp_bf16_product product = {.m = m,
                                   .n = n,
                                   .k = k,
                                   .a = matrix(trans_a, a, lda),
                                   .b = matrix(trans_b, b, ldb),
                                   .alpha = alpha,
                                   .beta = beta,
                                   .sums = y,
                                   .sums_row = ldy};
  dp_bf16_product_run(&product, (char *)room + TILE_BYTES, 0, 1);
  return DP_OK;
}

static const void *operand(int64_t count, const float *tile, void *room) {
  dp_half_to_bfloat16(count, tile, room);
  return room;
}

static double dot(int64_t count, const void *x, const void *y) {
  const uint16_t *a = x, *b = y;
  double sum = 0;
  for (int64_t i = 0; i < count; i++)
    sum += (double)dp_half_float(dp_half_from_bfloat16_(a[i])) * (double)dp_half_float(dp_half_from_bfloat16_(b[i]));
  return sum;
}

const dp_attention_type dp_attention_bf16 = {
    .bytes = sizeof(uint16_t),
    .few_rows = DP_TILE_ROWS / 2,
    .multiply = multiply,
    .room_bytes = room_bytes,
    .operand = operand,
    .round = dp_half_to_bfloat16,
    .dot = dot,
};

bool dp_attention_bf16_match(const dp_kernel_spec *spec, int q, int mask) {
  if (!dp_isa_allows_bf16(spec->isa) || spec->inputs[q].dtype != DP_BFLOAT16) return false;
  const bool masked = mask < spec->n_inputs && spec->inputs[mask].present;
  const dp_dtype dtype = masked ? spec->inputs[mask].dtype : DP_BOOL;
  return spec->inputs[q].local.extents[3] > 0 && (dtype == DP_BOOL || dtype == DP_FLOAT32);
}
