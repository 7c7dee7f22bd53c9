// A stand-in of cuBLASLt that computes on the host, from the descriptors and pointers that it is given: types, rounding
// to TF32, orders, leading dimensions, transpositions, batches, factors, the bias epilogue.
//
// It is as strict as the library where that is documented, and stricter where the library may do anything: addresses
// must have the alignment that was promised, the workspace must be the algorithm's. For long sums its algorithm keeps
// partial sums in the workspace, so that a workspace that is not there or belongs to somebody shows.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/api/cublaslt.h"
#include "tests/cuda/standin/half.h"
#include "tests/cuda/standin/standin.h"

#define DP_CALL(name, parameters) __attribute__((visibility("default"))) cublasStatus_t name parameters;
DP_CUDA_BLASLT_CALLS(DP_CALL)
#undef DP_CALL

// What a call that is told to fail returns.
static cublasStatus_t refusal(CUresult error) {
  return error == CUDA_ERROR_OUT_OF_MEMORY ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_EXECUTION_FAILED;
}
#define CALL()                                          \
  do {                                                  \
    const CUresult call_r_ = dp_standin_call(__func__); \
    if (call_r_) return refusal(call_r_);               \
  } while (0)

// Sums longer than this are taken in two parts.
enum { LONG_SUM = 64, MAGIC_DESC = 0x6d6d6445, MAGIC_LAYOUT, MAGIC_PREFERENCE, MAGIC_ALGORITHM };

typedef struct {
  uint32_t magic;
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t trans_a, trans_b;
  uint32_t epilogue;
  const void *bias;
} desc;

typedef struct {
  uint32_t magic;
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t ld, stride;
  int32_t order, count;
} layout;

typedef struct {
  uint32_t magic, reduction;
  uint64_t workspace;
  uint32_t alignment[4];
} preference;

typedef struct {
  uint32_t magic;
  int32_t parts;  // of the sum over k
  uint32_t tile;  // changes the time alone
  uint64_t workspace;
  uint32_t alignment[4];
} algorithm;

_Static_assert(sizeof(desc) <= sizeof(cublasLtMatmulDescOpaque_t), "it must fit");
_Static_assert(sizeof(layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "it must fit");
_Static_assert(sizeof(preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "it must fit");
_Static_assert(sizeof(algorithm) <= sizeof(cublasLtMatmulAlgo_t), "it must fit");

// ---- descriptors ----------------------------------------------------------------------------------------------------

// An attribute: its number, and the bytes of the descriptor's struct that hold it.
typedef struct {
  int number;
  size_t at, bytes;
} attribute;
#define ATTRIBUTE(NUMBER, STRUCT, FIELD) \
  { NUMBER, offsetof(STRUCT, FIELD), sizeof(((STRUCT *)0)->FIELD) }

static cublasStatus_t set(void *object, uint32_t magic, const attribute *attributes, size_t count, int number,
                          const void *value, size_t bytes) {
  if (!object || !value || *(const uint32_t *)object != magic) return CUBLAS_STATUS_INVALID_VALUE;
  for (size_t i = 0; i < count; i++) {
    if (attributes[i].number != number) continue;
    if (attributes[i].bytes != bytes) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy((char *)object + attributes[i].at, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
#define SET(OBJECT, MAGIC, ATTRIBUTES) \
  set(OBJECT, MAGIC, ATTRIBUTES, sizeof(ATTRIBUTES) / sizeof *(ATTRIBUTES), (int)number, value, bytes)

// A handle for each device. It lives as long as the process, as the library's do that nobody destroys.
static char contexts[64];

static bool is_of(cublasLtHandle_t handle, int device) { return (char *)(void *)handle == &contexts[device]; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  CALL();
  if (!handle || dp_standin_device() < 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = (cublasLtHandle_t)(void *)&contexts[dp_standin_device()];
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtGetProperty(libraryPropertyType property, int *value) {
  CALL();
  return dp_standin_version("DP_STANDIN_BLASLT", 130100, (int)property, value) ? CUBLAS_STATUS_SUCCESS
                                                                               : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t made, size_t bytes, cublasComputeType_t compute,
                                               cudaDataType_t scale) {
  CALL();
  if (bytes < sizeof(desc)) return CUBLAS_STATUS_ALLOC_FAILED;
  memset(made, 0, bytes);
  *(desc *)(void *)made =
      (desc){.magic = MAGIC_DESC, .compute = compute, .scale = scale, .epilogue = CUBLASLT_EPILOGUE_DEFAULT};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t object, cublasLtMatmulDescAttributes_t number,
                                              const void *value, size_t bytes) {
  static const attribute attributes[] = {ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSA, desc, trans_a),
                                         ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSB, desc, trans_b),
                                         ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE, desc, epilogue),
                                         ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_POINTER, desc, bias)};
  CALL();
  return SET(object, MAGIC_DESC, attributes);
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t made, size_t bytes, cudaDataType_t type,
                                                 uint64_t rows, uint64_t columns, int64_t ld) {
  CALL();
  if (bytes < sizeof(layout)) return CUBLAS_STATUS_ALLOC_FAILED;
  memset(made, 0, bytes);
  *(layout *)(void *)made = (layout){.magic = MAGIC_LAYOUT,
                                     .type = type,
                                     .rows = rows,
                                     .columns = columns,
                                     .ld = ld,
                                     .order = CUBLASLT_ORDER_COL,
                                     .count = 1};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t object, cublasLtMatrixLayoutAttribute_t number,
                                                const void *value, size_t bytes) {
  static const attribute attributes[] = {ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ORDER, layout, order),
                                         ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, layout, count),
                                         ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, layout, stride)};
  CALL();
  return SET(object, MAGIC_LAYOUT, attributes);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t made, size_t bytes) {
  CALL();
  if (bytes < sizeof(preference)) return CUBLAS_STATUS_ALLOC_FAILED;
  memset(made, 0, bytes);
  *(preference *)(void *)made =
      (preference){.magic = MAGIC_PREFERENCE, .reduction = 7, .alignment = {256, 256, 256, 256}};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t object,
                                                    cublasLtMatmulPreferenceAttributes_t number, const void *value,
                                                    size_t bytes) {
  static const attribute attributes[] = {
      ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, preference, workspace),
      ATTRIBUTE(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, preference, reduction),
      ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, preference, alignment[0]),
      ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, preference, alignment[1]),
      ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, preference, alignment[2]),
      ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, preference, alignment[3])};
  CALL();
  return SET(object, MAGIC_PREFERENCE, attributes);
}

// ---- products -------------------------------------------------------------------------------------------------------

// A product as one call describes it.
typedef struct {
  desc desc;
  layout a, b, c, d;
  algorithm algorithm;
  const void *a_data, *b_data, *c_data;
  void *d_data, *workspace;
  double alpha, beta;
  void *own;  // op(A), dense, and the sums of a column: in the host's memory
} product;

static bool is_layout(const layout *l, cudaDataType_t type) {
  if (l->magic != MAGIC_LAYOUT || l->type != type || l->rows == 0 || l->columns == 0 || l->count < 1) return false;
  return l->ld >= (int64_t)(l->order == CUBLASLT_ORDER_ROW ? l->columns : l->rows);
}

static uint64_t rows_of(const layout *l, int32_t transposed) { return transposed ? l->columns : l->rows; }
static uint64_t columns_of(const layout *l, int32_t transposed) { return transposed ? l->rows : l->columns; }

static cublasStatus_t check(const product *p) {
  const desc *d = &p->desc;
  if (d->magic != MAGIC_DESC) return CUBLAS_STATUS_INVALID_VALUE;
  const bool wide = d->compute == CUBLAS_COMPUTE_64F;
  const bool tf32 = d->compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (!wide && !tf32 && d->compute != CUBLAS_COMPUTE_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (d->scale != (wide ? CUDA_R_64F : CUDA_R_32F)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (d->epilogue != CUBLASLT_EPILOGUE_DEFAULT && (d->epilogue != CUBLASLT_EPILOGUE_BIAS || wide))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const layout *all[] = {&p->a, &p->b, &p->c, &p->d};
  // All matrices are of one type, and a bias is of it too. What is computed in float32 may have 16 bits.
  const cudaDataType_t type = p->d.type;
  const bool half = type == CUDA_R_16F || type == CUDA_R_16BF;
  if (type != d->scale && (wide || tf32 || !half)) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (int i = 0; i < 4; i++)
    if (!is_layout(all[i], type) || all[i]->count != p->d.count) return CUBLAS_STATUS_INVALID_VALUE;
  bool fits = rows_of(&p->a, d->trans_a) == p->d.rows && columns_of(&p->b, d->trans_b) == p->d.columns &&
              columns_of(&p->a, d->trans_a) == rows_of(&p->b, d->trans_b) && p->c.rows == p->d.rows &&
              p->c.columns == p->d.columns;
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

// Of a number in the type that sums are taken in.
static size_t bytes_of(cudaDataType_t type) { return type == CUDA_R_64F ? sizeof(double) : sizeof(float); }

// How much longer than the fastest an algorithm takes, by its tile. The one that is named first is not the fastest.
static const double slowness[] = {1.5, 2, 1, 1.75};
enum { N_TILES = sizeof slowness / sizeof *slowness };

// The algorithm's number is that of its parts; it has no stages.
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *object,
                                                    cublasLtMatmulAlgoConfigAttributes_t number, void *value,
                                                    size_t bytes, size_t *written) {
  CALL();
  algorithm of;
  if (!object || !value || bytes != sizeof(uint32_t) || !written) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(&of, object, sizeof of);
  if (of.magic != MAGIC_ALGORITHM) return CUBLAS_STATUS_INVALID_VALUE;
  const bool counts = number == CUBLASLT_ALGO_CONFIG_ID || number == CUBLASLT_ALGO_CONFIG_SPLITK_NUM;
  const uint32_t found = counts ? (uint32_t)of.parts : number == CUBLASLT_ALGO_CONFIG_TILE_ID ? of.tile : 0;
  memcpy(value, &found, sizeof found);
  *written = sizeof found;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc_given,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference_given, int asked,
                                              cublasLtMatmulHeuristicResult_t *results, int *found) {
  CALL();
  const preference *wanted = (const preference *)(const void *)preference_given;
  if (!handle || asked < 1 || !results || !found || wanted->magic != MAGIC_PREFERENCE)
    return CUBLAS_STATUS_INVALID_VALUE;
  product p = {.desc = *(desc *)(void *)desc_given,
               .a = *(layout *)(void *)a,
               .b = *(layout *)(void *)b,
               .c = *(layout *)(void *)c,
               .d = *(layout *)(void *)d};
  cublasStatus_t status = check(&p);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  algorithm chosen = {.magic = MAGIC_ALGORITHM, .parts = 1};
  memcpy(chosen.alignment, wanted->alignment, sizeof chosen.alignment);
  const uint64_t partial = 2 * p.d.rows * p.d.columns * (uint64_t)p.d.count * bytes_of(p.d.type);
  if (columns_of(&p.a, p.desc.trans_a) > LONG_SUM && partial <= wanted->workspace &&
      (wanted->reduction & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)) {
    chosen.parts = 2;
    chosen.workspace = partial;
  }
  memset(results, 0, (size_t)asked * sizeof *results);
  *found = asked < N_TILES ? asked : N_TILES;
  for (int i = 0; i < *found; i++) {
    chosen.tile = (uint32_t)i;
    memcpy(&results[i].algo, &chosen, sizeof chosen);
    results[i].workspaceSize = chosen.workspace;
    results[i].state = CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}

// Elements between the rows and columns of op(x).
static void strides_of(const layout *l, int32_t transposed, int64_t *row, int64_t *column) {
  const bool by_rows = (l->order == CUBLASLT_ORDER_ROW) != (transposed == CUBLAS_OP_T);
  *row = by_rows ? l->ld : 1;
  *column = by_rows ? 1 : l->ld;
}

#define T float
#define W float
#define GET STANDIN_SAME
#define PUT STANDIN_SAME
#define OPERAND standin_round_tf32
#define NAME(name) name##_tf32
#include "tests/cuda/standin/cublaslt_product.h"
#undef OPERAND
#undef NAME
#define OPERAND(x) GET(x)
#define NAME(name) name##_float
#include "tests/cuda/standin/cublaslt_product.h"
#undef T
#undef W
#undef NAME
#define T double
#define W double
#define NAME(name) name##_double
#include "tests/cuda/standin/cublaslt_product.h"
#undef T
#undef W
#undef GET
#undef PUT
#undef NAME
#define T uint16_t
#define W float
#define GET standin_get_float16
#define PUT standin_put_float16
#define NAME(name) name##_float16
#include "tests/cuda/standin/cublaslt_product.h"
#undef GET
#undef PUT
#undef NAME
#define GET standin_get_bfloat16
#define PUT standin_put_bfloat16
#define NAME(name) name##_bfloat16
#include "tests/cuda/standin/cublaslt_product.h"

static void multiply(void *argument) {
  const product *p = argument;
  for (int32_t i = 0; i < p->d.count; i++) {
    if (p->d.type == CUDA_R_64F)
      multiply_double(p, i);
    else if (p->d.type == CUDA_R_16F)
      multiply_float16(p, i);
    else if (p->d.type == CUDA_R_16BF)
      multiply_bfloat16(p, i);
    else if (p->desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32)
      multiply_tf32(p, i);
    else
      multiply_float(p, i);
  }
}

static void release(void *context) {
  free(((product *)context)->own);
  free(context);
}

static cublasStatus_t enqueue(const product *p, cudaStream_t stream) {
  const size_t m = p->d.rows, k = columns_of(&p->a, p->desc.trans_a);
  product *copy = malloc(sizeof *copy);
  if (!copy) return CUBLAS_STATUS_ALLOC_FAILED;
  *copy = *p;
  copy->own = malloc((m * k + 2 * m) * bytes_of(p->d.type));
  // A GPU's time: 50 TFLOP/s.
  const double ns =
      slowness[p->algorithm.tile] * (2e3 + 2.0 * (double)m * (double)k * (double)p->d.columns * p->d.count / 50e3);
  if (copy->own && !dp_standin_enqueue(stream, multiply, copy, release, ns)) return CUBLAS_STATUS_SUCCESS;
  release(copy);
  return CUBLAS_STATUS_EXECUTION_FAILED;
}

static bool is_aligned(const void *data, uint32_t alignment) { return (uintptr_t)data % alignment == 0; }

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc_given, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_bytes,
                              cudaStream_t stream) {
  CALL();
  if (!handle || !alpha || !beta || !a || !b || !d || !algo) return CUBLAS_STATUS_INVALID_VALUE;
  const int device = dp_standin_device();
  if (device < 0 || !is_of(handle, device) || dp_standin_device_of(stream) != device)
    return CUBLAS_STATUS_INVALID_VALUE;
  product p = {.desc = *(desc *)(void *)desc_given,
               .a = *(layout *)(void *)a_layout,
               .b = *(layout *)(void *)b_layout,
               .c = *(layout *)(void *)c_layout,
               .d = *(layout *)(void *)d_layout,
               .a_data = a,
               .b_data = b,
               .c_data = c,
               .d_data = d,
               .workspace = workspace};
  memcpy(&p.algorithm, algo, sizeof p.algorithm);
  cublasStatus_t status = check(&p);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const bool wide = p.d.type == CUDA_R_64F;
  p.alpha = wide ? *(const double *)alpha : (double)*(const float *)alpha;
  p.beta = wide ? *(const double *)beta : (double)*(const float *)beta;
  if (p.algorithm.magic != MAGIC_ALGORITHM || p.algorithm.tile >= N_TILES || workspace_bytes < p.algorithm.workspace)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (p.algorithm.workspace && (!workspace || !is_aligned(workspace, 256))) return CUBLAS_STATUS_INVALID_VALUE;
  const uint32_t *alignment = p.algorithm.alignment;
  if (!is_aligned(a, alignment[0]) || !is_aligned(b, alignment[1]) || !is_aligned(c, alignment[2]) ||
      !is_aligned(d, alignment[3]))
    return CUBLAS_STATUS_INVALID_VALUE;
  if ((p.beta != 0 && !c) || (p.desc.epilogue == CUBLASLT_EPILOGUE_BIAS && !p.desc.bias))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (c == d && memcmp(&p.c, &p.d, sizeof p.c)) return CUBLAS_STATUS_INVALID_VALUE;
  return enqueue(&p, stream);
}
