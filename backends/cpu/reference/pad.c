// Pad: adds elements before and after the dims of the operand. Any type, by its bytes; a row is the last dim.
#include "ir/ops/pad.h"

#include "backends/cpu/reference/reference.h"

// The element offset of the operand's row that row `row` of the result copies; -1: the constant.
static int64_t from_row(const dp_pad *p, const dp_local *x, const dp_local *y, int64_t row) {
  int64_t at = 0, stride = x->extents[x->rank - 1];
  for (int d = x->rank - 2; d >= 0; d--) {
    int64_t from = dp_pad_from(p->mode, row % y->extents[d], p->begin[d], x->extents[d]);
    if (from < 0) return -1;
    at += from * stride;
    row /= y->extents[d];
    stride *= x->extents[d];
  }
  return at;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)state, (void)scratch;
  const dp_local *x = &spec->inputs[0].local, *y = &spec->outputs[0].local;
  dp_dtype dtype = spec->inputs[0].dtype;
  int64_t lo, hi, bytes = (int64_t)dp_type_bytes(dtype);
  int last = x->rank - 1;
  uint8_t constant[8];
  dp_shape shape = {.rank = x->rank};
  dp_pad p;
  DP_TRY(dp_pad_make(spec->node, &shape, &p));
  dp_element_set(dtype, constant, dp_node_float(spec->node, "constant_value", 0));
  if (dp_out_count(spec, 0) == 0) return DP_OK;
  if (!x->rank) {
    dp_copy(out[0], in[0], bytes);
    return DP_OK;
  }
  dp_part_range(dp_out_count(spec, 0) / y->extents[last], part, parts, &lo, &hi);
  for (int64_t row = lo; row < hi; row++) {
    int64_t first = from_row(&p, x, y, row);
    char *to = (char *)out[0] + row * y->extents[last] * bytes;
    for (int64_t i = 0; i < y->extents[last]; i++) {
      int64_t from = first < 0 ? -1 : dp_pad_from(p.mode, i, p.begin[last], x->extents[last]);
      memcpy(to + i * bytes, from < 0 ? (const char *)constant : (const char *)in[0] + (first + from) * bytes,
             (size_t)bytes);
    }
  }
  return DP_OK;
}

const dp_kernel dp_kernel_reference_Pad = {
    .name = "cpu.reference.Pad",
    .op = "Pad",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .run = run,
};
