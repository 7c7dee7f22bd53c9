// The calls of cuBLASLt that the backend makes. See driver.h.
#ifndef DP_BACKENDS_CUDA_API_CUBLASLT_H
#define DP_BACKENDS_CUDA_API_CUBLASLT_H

#include <stddef.h>
#include <stdint.h>

#ifdef DP_CUDA_TOOLKIT
#include <cublasLt.h>
#else
typedef int cublasStatus_t, cublasComputeType_t, cudaDataType_t, cublasLtMatmulDescAttributes_t,
    cublasLtMatrixLayoutAttribute_t, cublasLtMatmulPreferenceAttributes_t, cublasLtMatmulAlgoConfigAttributes_t,
    libraryPropertyType;
typedef struct CUstream_st *cudaStream_t;
typedef struct cublasLtContext *cublasLtHandle_t;
// Descriptors may lie in the caller's memory.
typedef struct {
  uint64_t data[32];
} cublasLtMatmulDescOpaque_t;
typedef struct {
  uint64_t data[8];
} cublasLtMatrixLayoutOpaque_t, cublasLtMatmulPreferenceOpaque_t, cublasLtMatmulAlgo_t;
typedef cublasLtMatmulDescOpaque_t *cublasLtMatmulDesc_t;
typedef cublasLtMatrixLayoutOpaque_t *cublasLtMatrixLayout_t;
typedef cublasLtMatmulPreferenceOpaque_t *cublasLtMatmulPreference_t;
typedef struct {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
} cublasLtMatmulHeuristicResult_t;
#endif

#define DP_CUDA_BLASLT_CONSTANTS(X)                 \
  X(CUBLAS_STATUS_SUCCESS, 0)                       \
  X(CUBLAS_STATUS_NOT_INITIALIZED, 1)               \
  X(CUBLAS_STATUS_ALLOC_FAILED, 3)                  \
  X(CUBLAS_STATUS_INVALID_VALUE, 7)                 \
  X(CUBLAS_STATUS_ARCH_MISMATCH, 8)                 \
  X(CUBLAS_STATUS_MAPPING_ERROR, 11)                \
  X(CUBLAS_STATUS_EXECUTION_FAILED, 13)             \
  X(CUBLAS_STATUS_INTERNAL_ERROR, 14)               \
  X(CUBLAS_STATUS_NOT_SUPPORTED, 15)                \
  X(CUBLAS_OP_N, 0)                                 \
  X(CUBLAS_OP_T, 1)                                 \
  X(CUBLAS_COMPUTE_32F, 68)                         \
  X(CUBLAS_COMPUTE_64F, 70)                         \
  X(CUBLAS_COMPUTE_32F_FAST_TF32, 77)               \
  X(CUDA_R_32F, 0)                                  \
  X(CUDA_R_64F, 1)                                  \
  X(CUDA_R_16F, 2)                                  \
  X(CUDA_R_16BF, 14)                                \
  X(CUBLASLT_ORDER_COL, 0)                          \
  X(CUBLASLT_ORDER_ROW, 1)                          \
  X(CUBLASLT_MATRIX_LAYOUT_ORDER, 1)                \
  X(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5)          \
  X(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6) \
  X(CUBLASLT_MATMUL_DESC_TRANSA, 3)                 \
  X(CUBLASLT_MATMUL_DESC_TRANSB, 4)                 \
  X(CUBLASLT_MATMUL_DESC_EPILOGUE, 7)               \
  X(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)           \
  X(CUBLASLT_EPILOGUE_DEFAULT, 1)                   \
  X(CUBLASLT_EPILOGUE_BIAS, 4)                      \
  X(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2)      \
  X(CUBLASLT_ALGO_CONFIG_ID, 0)                     \
  X(CUBLASLT_ALGO_CONFIG_TILE_ID, 1)                \
  X(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 2)             \
  X(CUBLASLT_ALGO_CONFIG_STAGES_ID, 6)              \
  X(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)    \
  X(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3)  \
  X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5)  \
  X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6)  \
  X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7)  \
  X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8)

#ifndef DP_CUDA_TOOLKIT
enum {
#define DP_CONSTANT(name, value) name = value,
  DP_CUDA_BLASLT_CONSTANTS(DP_CONSTANT)
#undef DP_CONSTANT
};
#endif

// X(name, parameters): each returns a cublasStatus_t. Available since CUDA 12.
#define DP_CUDA_BLASLT_CALLS(X)                                                                                        \
  X(cublasLtCreate, (cublasLtHandle_t * handle))                                                                       \
  X(cublasLtGetProperty, (libraryPropertyType property, int *value))                                                   \
  X(cublasLtMatmulDescInit_internal,                                                                                   \
    (cublasLtMatmulDesc_t desc, size_t bytes, cublasComputeType_t compute, cudaDataType_t scale))                      \
  X(cublasLtMatmulDescSetAttribute,                                                                                    \
    (cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, const void *value, size_t bytes))            \
  X(cublasLtMatrixLayoutInit_internal,                                                                                 \
    (cublasLtMatrixLayout_t layout, size_t bytes, cudaDataType_t type, uint64_t rows, uint64_t columns, int64_t ld))   \
  X(cublasLtMatrixLayoutSetAttribute,                                                                                  \
    (cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void *value, size_t bytes))       \
  X(cublasLtMatmulPreferenceInit_internal, (cublasLtMatmulPreference_t preference, size_t bytes))                      \
  X(cublasLtMatmulPreferenceSetAttribute,                                                                              \
    (cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const void *value,         \
     size_t bytes))                                                                                                    \
  X(cublasLtMatmulAlgoGetHeuristic,                                                                                    \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,           \
     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int asked,             \
     cublasLtMatmulHeuristicResult_t *results, int *found))                                                            \
  X(cublasLtMatmulAlgoConfigGetAttribute,                                                                              \
    (const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoConfigAttributes_t attribute, void *value, size_t bytes,      \
     size_t *written))                                                                                                 \
  X(cublasLtMatmul,                                                                                                    \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,                             \
     cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout, const void *beta, const void *c, \
     cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,      \
     void *workspace, size_t workspace_bytes, cudaStream_t stream))

#endif
