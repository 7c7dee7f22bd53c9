// Iterates over broadcasting operands in the longest rows possible: dims that are contiguous in all of them are merged.
#include "backends/cpu/reference/elementwise.h"

// The schema admits only types that the tables have.
static dp_status no_rows(const dp_kernel_spec *spec) {
  return dp_fail(EX_SOFTWARE, "the reference kernel of %s lacks type %s", spec->op->name,
                 dp_type_name(spec->inputs[0].dtype));
}

dp_status dp_elementwise_unary(const dp_call *call, const dp_unary_row rows[DP_MAX_TYPE + 1]) {
  dp_dtype dtype = call->spec->inputs[0].dtype;
  int64_t lo, hi, bytes = (int64_t)dp_type_bytes(dtype);
  dp_part_range(dp_out_count(call->spec, 0), call->part, call->parts, &lo, &hi);
  if (!rows[dtype]) return no_rows(call->spec);
  if (lo < hi) rows[dtype](hi - lo, (const char *)call->in[0] + lo * bytes, (char *)call->out[0] + lo * bytes);
  return DP_OK;
}

typedef struct {
  int rank;  // at least 1
  int64_t extents[DP_MAX_RANK];
  int64_t strides[2][DP_MAX_RANK];  // in elements; 0 where the operand is broadcast
} walk;

static void set_strides(const dp_kernel_spec *spec, int operand, int64_t strides[DP_MAX_RANK]) {
  int rank = spec->outputs[0].local.rank, missing = rank - dp_in_rank(spec, operand);
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; d--) {
    int64_t extent = d < missing ? 1 : dp_in_extents(spec, operand)[d - missing];
    strides[d] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
}

static walk merge_dims(const dp_kernel_spec *spec) {
  int rank = spec->outputs[0].local.rank;
  int64_t strides[2][DP_MAX_RANK];
  for (int i = 0; i < 2; i++) set_strides(spec, i, strides[i]);
  walk w = {0};
  for (int d = 0; d < rank; d++) {
    int64_t extent = dp_out_extents(spec, 0)[d];
    if (extent == 1) continue;
    int last = w.rank - 1;
    bool together = last >= 0;
    for (int i = 0; i < 2 && together; i++) together = w.strides[i][last] == strides[i][d] * extent;
    if (!together) last = w.rank++;
    w.extents[last] = together ? w.extents[last] * extent : extent;
    for (int i = 0; i < 2; i++) w.strides[i][last] = strides[i][d];
  }
  if (!w.rank) w.extents[w.rank++] = 1;
  return w;
}

dp_status dp_elementwise_binary(const dp_call *call, const dp_binary_row rows[DP_MAX_TYPE + 1]) {
  const dp_kernel_spec *spec = call->spec;
  int64_t at, hi, row_at[DP_MAX_RANK];
  dp_part_range(dp_out_count(spec, 0), call->part, call->parts, &at, &hi);
  if (!rows[spec->inputs[0].dtype]) return no_rows(spec);
  if (at == hi) return DP_OK;
  walk w = merge_dims(spec);
  int inner = w.rank - 1;
  int64_t length = w.extents[inner], column = at % length, row = at / length;
  int64_t offset[2] = {0, 0};  // of the row
  for (int d = inner - 1; d >= 0; d--) {
    row_at[d] = row % w.extents[d];
    row /= w.extents[d];
    for (int i = 0; i < 2; i++) offset[i] += row_at[d] * w.strides[i][d];
  }
  dp_dtype dtype = spec->inputs[0].dtype;
  int64_t in_bytes = (int64_t)dp_type_bytes(dtype), out_bytes = (int64_t)dp_type_bytes(spec->outputs[0].dtype);
  int a_stride = (int)w.strides[0][inner], b_stride = (int)w.strides[1][inner];
  while (at < hi) {
    int64_t count = dp_min_i64(length - column, hi - at);
    rows[dtype](count, (const char *)call->in[0] + (offset[0] + column * a_stride) * in_bytes, a_stride,
                (const char *)call->in[1] + (offset[1] + column * b_stride) * in_bytes, b_stride,
                (char *)call->out[0] + at * out_bytes);
    at += count;
    column = 0;
    for (int d = inner - 1; d >= 0; d--) {
      for (int i = 0; i < 2; i++) offset[i] += w.strides[i][d];
      if (++row_at[d] < w.extents[d]) break;
      for (int i = 0; i < 2; i++) offset[i] -= w.extents[d] * w.strides[i][d];
      row_at[d] = 0;
    }
  }
  return DP_OK;
}
