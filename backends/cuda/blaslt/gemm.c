// Gemm by cuBLASLt. How beta * C is added depends on what C is: see `addend`.
#include <stdlib.h>

#include "backends/cuda/blaslt/product.h"
#include "backends/cuda/gpu/alignment.h"
#include "backends/cuda/kernels/spread.h"
#include "ir/base/base.h"
#include "ir/kernel/extents.h"

typedef enum {
  ABSENT,
  WHOLE,  // a matrix like y, which the library reads beside the product
  ROW,    // one row, which the library adds to all rows as a bias
  SPREAD  // anything else: y is filled with beta * C first, and the product is added to it
} addend;

typedef struct {
  int64_t m, n;
  addend c;
  bool multiplies;               // k is not 0
  int64_t parts;                 // products whose sum is the result: more than 1 where sums are long
  dp_blaslt_product product;     // if it multiplies
  const dp_cuda_function *fill;  // before the product, or instead of it
  int64_t row, column;           // strides of C
} gemm;

// In 16 bits, beta * C is left to what rounds it together with the product.
static bool match(const dp_kernel_spec *spec) {
  const dp_dtype dtype = spec->inputs[0].dtype;
  const bool half = dtype == DP_FLOAT16 || dtype == DP_BFLOAT16, adds = spec->n_inputs > 2 && spec->inputs[2].present;
  return !half || !adds || dp_node_float(spec->node, "beta", 1) == 1;
}

static bool is_wide(dp_dtype dtype) { return dtype == DP_FLOAT32 || dtype == DP_FLOAT64; }

// The library's favourite leaves most of a GPU idle where results are few and sums long: on an H200, (64, 25088) by
// (25088, 1024) in float32 takes 3.9 ms. Then each of some blocks of the sum is a product of its own, in scratch, and
// these are added in order. In 16 bits that would round each of them.
enum { TILE = 128, FEW_TILES = 64, ENOUGH_TILES = 132, LONG_SUM = 2048, LEAST_SUM = 512, MOST_PARTS = 16 };

static int64_t parts_of(dp_dtype dtype, int64_t m, int64_t n, int64_t k) {
  const int64_t tiles = (m + TILE - 1) / TILE * ((n + TILE - 1) / TILE);
  if (!is_wide(dtype) || !tiles || tiles >= FEW_TILES || k < LONG_SUM) return 1;
  int64_t parts = dp_min_i64(dp_min_i64(ENOUGH_TILES / tiles, MOST_PARTS), k / LEAST_SUM);
  while (parts > 1 && k % (parts * 4)) parts--;
  return dp_max_i64(parts, 1);
}

// A factor of 0 would let the library leave out C, and with it its NaN.
static addend addend_of(const dp_kernel_spec *spec, const gemm *s, double beta) {
  if (spec->n_inputs < 3 || !spec->inputs[2].present) return ABSENT;
  if (dp_local_count(&spec->inputs[2].local) == s->m * s->n && beta != 0) return WHOLE;
  return s->row == 0 && s->column == 1 && beta == 1 && spec->inputs[0].dtype != DP_FLOAT64 ? ROW : SPREAD;
}

static void set_strides(const dp_kernel_spec *spec, gemm *s) {
  if (spec->n_inputs < 3 || !spec->inputs[2].present) return;
  const dp_local *c = &spec->inputs[2].local;
  int64_t columns = c->rank > 0 ? c->extents[c->rank - 1] : 1, rows = c->rank > 1 ? c->extents[c->rank - 2] : 1;
  s->row = rows == 1 ? 0 : columns;
  s->column = columns == 1 ? 0 : 1;
}

// The extent that is summed over.
static int64_t sum_of(const dp_kernel_spec *spec) {
  return spec->inputs[0].local.extents[dp_node_int(spec->node, "transA", 0) ? 0 : 1];
}

// The product without C.
static dp_blaslt_spec product_of(const dp_kernel_spec *spec, const gemm *s) {
  return (dp_blaslt_spec){.dtype = spec->inputs[0].dtype,
                          .tf32 = dp_kernel_takes_tf32(spec),
                          .trans_a = dp_node_int(spec->node, "transA", 0) != 0,
                          .trans_b = dp_node_int(spec->node, "transB", 0) != 0,
                          .m = s->m,
                          .n = s->n,
                          .k = sum_of(spec),
                          .batches = 1,
                          .alpha = dp_node_float(spec->node, "alpha", 1),
                          .alignment = DP_BLASLT_ALIGNMENT};
}

static dp_status prepare_product(const dp_kernel_spec *spec, double beta, gemm *s) {
  dp_blaslt_spec p = product_of(spec, s);
  bool found = false;
  if (s->c == ROW) {
    p.bias = true;
    DP_TRY(dp_blaslt_product_make(&p, &s->product, &found));
    if (found) return DP_OK;
    s->c = SPREAD;
    p.bias = false;
  }
  p.beta = s->c == WHOLE ? beta : s->c == SPREAD ? 1 : 0;
  return dp_blaslt_product_need(&p, &s->product);
}

// Blocks of the sum, as a batch. *found: whether the library has an algorithm for it.
static dp_status prepare_parts(const dp_kernel_spec *spec, gemm *s, bool *found) {
  dp_blaslt_spec p = product_of(spec, s);
  const int64_t k = p.k;
  p.k /= s->parts;
  p.batches = s->parts;
  p.a_stride = p.trans_a ? p.k * s->m : p.k;
  p.b_stride = p.trans_b ? p.k : p.k * s->n;
  p.a_row = p.trans_a ? 0 : k;
  p.b_row = p.trans_b ? k : 0;
  p.workspace = dp_blaslt_scratch_bytes(spec);
  return dp_blaslt_product_make(&p, &s->product, found);
}

static dp_status make(const dp_kernel_spec *spec, gemm *s) {
  const double beta = dp_node_float(spec->node, "beta", 1);
  s->m = spec->outputs[0].local.extents[0];
  s->n = spec->outputs[0].local.extents[1];
  if (s->m == 0 || s->n == 0) return DP_OK;
  set_strides(spec, s);
  s->c = addend_of(spec, s, beta);
  s->multiplies = sum_of(spec) != 0;
  s->parts = parts_of(spec->inputs[0].dtype, s->m, s->n, sum_of(spec));
  bool divided = false;
  if (s->parts > 1) DP_TRY(prepare_parts(spec, s, &divided));
  if (!divided) s->parts = 1;
  if (s->multiplies && !divided) DP_TRY(prepare_product(spec, beta, s));
  return s->multiplies && s->c != SPREAD && s->parts == 1 ? DP_OK : dp_cuda_spread_add(spec->inputs[0].dtype, &s->fill);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  gemm *made = calloc(1, sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "there is no memory for Gemm's state");
  dp_status status = make(spec, made);
  if (status)
    free(made);
  else
    *state = made;
  return status;
}

static uint64_t parts_bytes(const dp_kernel_spec *spec) {
  const dp_local *y = &spec->outputs[0].local;
  const dp_dtype dtype = spec->inputs[0].dtype;
  const int64_t parts = parts_of(dtype, y->extents[0], y->extents[1], sum_of(spec));
  return parts == 1 ? 0 : dp_align_up((uint64_t)(parts * dp_local_count(y)) * dp_type_bytes(dtype), DP_CUDA_ALIGNMENT);
}

// With fewer samples there may be more parts: of fewer results, or since the sum divides otherwise. But there are never
// more than MOST_PARTS, nor more than ENOUGH_TILES tiles in all.
static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_dtype dtype = spec->inputs[0].dtype;
  const int64_t count = dp_local_count(&spec->outputs[0].local);
  uint64_t parts = 0;
  if (is_wide(dtype) && sum_of(spec) >= LONG_SUM)
    parts = (uint64_t)dp_min_i64(ENOUGH_TILES * TILE * TILE, MOST_PARTS * count) * dp_type_bytes(dtype);
  return dp_blaslt_scratch_bytes(spec) + dp_align_up(parts, DP_CUDA_ALIGNMENT);
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  const gemm *s = state;
  const void *c = s->c == ABSENT ? NULL : in[2];
  const dp_spread_arguments fill = {.y = out[0],
                                    .c = c,
                                    .count = s->m * s->n,
                                    .rows = s->m,
                                    .columns = s->n,
                                    .row = s->row,
                                    .column = s->column,
                                    .factor = dp_node_float(spec->node, "beta", 1)};
  if (s->parts > 1) {
    dp_spread_arguments sum = fill;
    sum.parts = s->parts;
    sum.x = scratch;
    const dp_blaslt_data parts = {.a = in[0], .b = in[1], .y = scratch};
    DP_TRY(dp_blaslt_product_enqueue(&s->product, queue, &parts, (char *)scratch + parts_bytes(spec)));
    return dp_cuda_spread(queue, s->fill, &sum);
  }
  if (s->fill) DP_TRY(dp_cuda_spread(queue, s->fill, &fill));
  if (!s->multiplies) return DP_OK;
  const dp_blaslt_data data = {
      .a = in[0], .b = in[1], .c = s->c == WHOLE ? c : NULL, .bias = s->c == ROW ? c : NULL, .y = out[0]};
  return dp_blaslt_product_enqueue(&s->product, queue, &data, scratch);
}

const dp_kernel dp_kernel_cuda_blaslt_Gemm = {
    .name = "cuda.blaslt.Gemm",
    .op = "Gemm",
    .domain = "",
    .priority = 10,
    .library = true,
    .types = DP_FLOATS,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .shares_state = true,
    .expect = dp_blaslt_expect,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
