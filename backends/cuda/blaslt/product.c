// Matrix products by cuBLASLt. See product.h.
//
// cuBLASLt's matrices are column-major. A row-major matrix is its own transpose there, so y = a b is computed as
// y' = b' a': b is the library's first operand, and its m is our n.
#include "backends/cuda/blaslt/product.h"

#include "backends/cuda/blaslt/algorithm.h"
#include "backends/cuda/gpu/function.h"

static cudaDataType_t data_type(dp_dtype dtype) {
  static const int types[DP_MAX_TYPE + 1] = {
      [DP_FLOAT32] = CUDA_R_32F, [DP_FLOAT64] = CUDA_R_64F, [DP_FLOAT16] = CUDA_R_16F, [DP_BFLOAT16] = CUDA_R_16BF};
  return (cudaDataType_t)types[dtype];
}

static cublasComputeType_t compute_type(const dp_blaslt_spec *s) {
  return s->dtype == DP_FLOAT64 ? CUBLAS_COMPUTE_64F : s->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

dp_status dp_blaslt_describe(const dp_blaslt *blaslt, const dp_blaslt_spec *s, const void *bias,
                             cublasLtMatmulDescOpaque_t *desc) {
  const bool wide = s->dtype == DP_FLOAT64;
  const int32_t op_a = s->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N, op_b = s->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const uint32_t epilogue = s->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  DP_BLASLT_TRY(blaslt, cublasLtMatmulDescInit_internal, desc, sizeof *desc, compute_type(s),
                wide ? CUDA_R_64F : CUDA_R_32F);
  DP_BLASLT_TRY(blaslt, cublasLtMatmulDescSetAttribute, desc, CUBLASLT_MATMUL_DESC_TRANSA, &op_b, sizeof op_b);
  DP_BLASLT_TRY(blaslt, cublasLtMatmulDescSetAttribute, desc, CUBLASLT_MATMUL_DESC_TRANSB, &op_a, sizeof op_a);
  DP_BLASLT_TRY(blaslt, cublasLtMatmulDescSetAttribute, desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                sizeof epilogue);
  if (s->bias)
    DP_BLASLT_TRY(blaslt, cublasLtMatmulDescSetAttribute, desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
  return DP_OK;
}

// A row-major matrix, and those of its batch. row: from one row to the next.
typedef struct {
  int64_t rows, columns, row, stride;
} matrix;

static dp_status lay_out(const dp_blaslt *blaslt, const dp_blaslt_spec *s, matrix x,
                         cublasLtMatrixLayoutOpaque_t *layout) {
  const int32_t count = (int32_t)s->batches;
  DP_BLASLT_TRY(blaslt, cublasLtMatrixLayoutInit_internal, layout, sizeof *layout, data_type(s->dtype),
                (uint64_t)x.columns, (uint64_t)x.rows, x.row ? x.row : x.columns);
  DP_BLASLT_TRY(blaslt, cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                sizeof count);
  DP_BLASLT_TRY(blaslt, cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                &x.stride, sizeof x.stride);
  return DP_OK;
}

dp_status dp_blaslt_product_make(const dp_blaslt_spec *spec, dp_blaslt_product *product, bool *found) {
  if (spec->batches > INT32_MAX)
    return dp_fail(EX_UNAVAILABLE, "cuBLASLt takes at most %d products at once; there are %lld: use a smaller batch",
                   INT32_MAX, (long long)spec->batches);
  dp_blaslt_product p = {.spec = *spec};
  const dp_blaslt_spec *s = &p.spec;
  DP_TRY(dp_blaslt_open(&p.blaslt));
  const matrix a = {s->trans_a ? s->k : s->m, s->trans_a ? s->m : s->k, s->a_row, s->a_stride};
  const matrix b = {s->trans_b ? s->n : s->k, s->trans_b ? s->k : s->n, s->b_row, s->b_stride};
  DP_TRY(lay_out(p.blaslt, s, a, &p.a));
  DP_TRY(lay_out(p.blaslt, s, b, &p.b));
  DP_TRY(lay_out(p.blaslt, s, (matrix){s->m, s->n, 0, s->m * s->n}, &p.y));
  DP_TRY(dp_blaslt_algorithm_choose(&p, found));
  if (*found) *product = p;
  return DP_OK;
}

dp_status dp_blaslt_product_need(const dp_blaslt_spec *spec, dp_blaslt_product *product) {
  bool found;
  DP_TRY(dp_blaslt_product_make(spec, product, &found));
  if (found) return DP_OK;
  return dp_fail(
      EX_UNAVAILABLE,
      "cuBLASLt has no algorithm for %lld products of (%lld, %lld) by (%lld, %lld) within %d MiB of workspace",
      (long long)spec->batches, (long long)spec->m, (long long)spec->k, (long long)spec->k, (long long)spec->n,
      (int)(dp_blaslt_spec_workspace(spec) >> 20));
}

dp_status dp_blaslt_product_enqueue(const dp_blaslt_product *product, dp_queue *queue, const dp_blaslt_data *data,
                                    void *scratch) {
  // The library takes descriptors that are not const. Copies let many threads share the product.
  dp_blaslt_product p = *product;
  cublasLtMatmulDescOpaque_t desc;
  const float narrow[] = {(float)p.spec.alpha, (float)p.spec.beta};
  const double wide[] = {p.spec.alpha, p.spec.beta};
  const bool is_wide = p.spec.dtype == DP_FLOAT64;
  DP_TRY(dp_blaslt_describe(p.blaslt, &p.spec, data->bias, &desc));
  DP_BLASLT_TRY(p.blaslt, cublasLtMatmul, p.blaslt->handle, &desc,
                is_wide ? (const void *)&wide[0] : (const void *)&narrow[0], data->b, &p.b, data->a, &p.a,
                is_wide ? (const void *)&wide[1] : (const void *)&narrow[1], data->c ? data->c : data->y, &p.y, data->y,
                &p.y, &p.algorithm, scratch, p.workspace_bytes, (cudaStream_t)dp_cuda_queue_stream(queue));
  return DP_OK;
}
