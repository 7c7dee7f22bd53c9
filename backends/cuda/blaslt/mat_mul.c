// MatMul by cuBLASLt. Its leading dims are one strided batch where their strides allow it, else several.
#include <stdlib.h>

#include "backends/base/mat_mul_extents.h"
#include "backends/cuda/blaslt/product.h"
#include "backends/cuda/kernels/spread.h"

typedef struct {
  dp_mat_mul extents;
  int64_t calls;                 // batches of products; 0: y is empty, or zero
  dp_blaslt_product product;     // one such batch
  const dp_cuda_function *fill;  // with zeros, where k is 0
} mat_mul;

// The innermost leading dims along which the matrices of both operands are equally far from each other.
static void set_batch(const dp_mat_mul *e, dp_blaslt_spec *s) {
  for (int d = e->rank - 1; d >= 0; d--) {
    if (e->extents[d] == 1) continue;
    if (s->batches == 1) {
      s->a_stride = e->a_stride[d];
      s->b_stride = e->b_stride[d];
    } else if (e->a_stride[d] != s->a_stride * s->batches || e->b_stride[d] != s->b_stride * s->batches) {
      return;
    }
    s->batches *= e->extents[d];
  }
}

// Lowers the alignment to that of an operand's matrices, which lie at multiples of `stride` elements.
static void align(dp_blaslt_spec *s, int64_t stride) {
  while (stride * (int64_t)dp_type_bytes(s->dtype) % s->alignment) s->alignment /= 2;
}

static dp_status prepare_product(const dp_kernel_spec *spec, mat_mul *state) {
  dp_mat_mul *e = &state->extents;
  dp_blaslt_spec s = {.dtype = spec->inputs[0].dtype,
                      .tf32 = dp_kernel_takes_tf32(spec),
                      .batches = 1,
                      .alpha = 1,
                      .alignment = DP_BLASLT_ALIGNMENT};
  if (spec->inputs[1].local.rank <= 2) {  // the rows of all left matrices are contiguous
    e->m *= e->batches;
    e->batches = 1;
    e->rank = 0;
  }
  s.m = e->m;
  s.n = e->n;
  s.k = e->k;
  set_batch(e, &s);
  state->calls = e->batches / s.batches;
  if (state->calls > 1) {
    for (int d = 0; d < e->rank; d++) {
      align(&s, e->a_stride[d]);
      align(&s, e->b_stride[d]);
    }
    align(&s, s.batches * s.m * s.n);
  }
  return dp_blaslt_product_need(&s, &state->product);
}

static dp_status make(const dp_kernel_spec *spec, mat_mul *state) {
  state->extents = dp_mat_mul_extents(&spec->inputs[0].local, &spec->inputs[1].local);
  const dp_mat_mul *e = &state->extents;
  if (e->batches * e->m * e->n == 0) return DP_OK;
  return e->k ? prepare_product(spec, state) : dp_cuda_spread_add(spec->inputs[0].dtype, &state->fill);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  mat_mul *made = calloc(1, sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "there is no memory for MatMul's state");
  dp_status status = make(spec, made);
  if (status)
    free(made);
  else
    *state = made;
  return status;
}

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  const mat_mul *s = state;
  const dp_mat_mul *e = &s->extents;
  if (s->fill)
    return dp_cuda_spread(queue, s->fill, &(dp_spread_arguments){.y = out[0], .count = e->batches * e->m * e->n});
  const int64_t bytes = (int64_t)dp_type_bytes(spec->inputs[0].dtype), batches = s->product.spec.batches;
  for (int64_t call = 0; call < s->calls; call++) {
    int64_t a, b, y = call * batches * e->m * e->n;
    dp_mat_mul_offsets(e, call * batches, &a, &b);
    const dp_blaslt_data data = {
        .a = (const char *)in[0] + a * bytes, .b = (const char *)in[1] + b * bytes, .y = (char *)out[0] + y * bytes};
    DP_TRY(dp_blaslt_product_enqueue(&s->product, queue, &data, scratch));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_cuda_blaslt_MatMul = {
    .name = "cuda.blaslt.MatMul",
    .op = "MatMul",
    .domain = "",
    .priority = 10,
    .library = true,
    .types = DP_FLOATS,
    .scratch_bytes = dp_blaslt_scratch_bytes,
    .shares_state = true,
    .expect = dp_blaslt_expect,
    .prepare = prepare,
    .release = free,
    .enqueue = enqueue,
};
