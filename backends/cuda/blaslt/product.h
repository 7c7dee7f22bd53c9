// Matrix products by cuBLASLt: one, or a batch of equal ones, of dense row-major matrices.
#ifndef DP_BACKENDS_CUDA_BLASLT_PRODUCT_H
#define DP_BACKENDS_CUDA_BLASLT_PRODUCT_H

#include "backends/cuda/blaslt/library.h"
#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// The most workspace that an algorithm may take, for results of so many elements. Where the sum over k is divided, it
// has parts of the results in float32: NVIDIA recommends 32 MiB on Hopper and 4 MiB elsewhere (cublasSetWorkspace).
// Small results need no more than sixteen parts of theirs, or 4 MiB.
static inline uint64_t dp_blaslt_workspace(int64_t elements) {
  const uint64_t least = 4 << 20, most = 32 << 20, wanted = 16 * sizeof(float) * (uint64_t)elements;
  return wanted < least ? least : wanted < most ? wanted : most;
}
// dp_kernel.scratch_bytes of kernels that multiply.
static inline uint64_t dp_blaslt_scratch_bytes(const dp_kernel_spec *spec) {
  return dp_blaslt_workspace(dp_local_count(&spec->outputs[0].local));
}
// Bytes: of the address of every value on a device, as far as algorithms care.
enum { DP_BLASLT_ALIGNMENT = 16 };

// y (m, n) = alpha * a' (m, k) * b' (k, n) + beta * c (m, n) + bias (n). a' and b' are a and b, or transposed.
typedef struct {
  dp_dtype dtype;  // a float. 16 bits are summed in float32 and rounded once
  bool tf32;       // a and b, of float32, may be rounded to TF32; sums and c are in float32 all the same
  bool trans_a, trans_b;
  int64_t m, n, k, batches;    // all > 0
  int64_t a_stride, b_stride;  // elements between the matrices of a batch; 0: all use one. y's and c's: m * n
  int64_t a_row, b_row;        // elements from one row to the next, in memory; 0: rows are dense, as y's and c's are
  double alpha, beta;
  bool bias;
  uint32_t alignment;  // bytes, a power of two: of a, b, c and y
  uint64_t workspace;  // bytes that there are; 0: dp_blaslt_workspace of all results
} dp_blaslt_spec;

static inline uint64_t dp_blaslt_spec_workspace(const dp_blaslt_spec *spec) {
  return spec->workspace ? spec->workspace : dp_blaslt_workspace(spec->batches * spec->m * spec->n);
}

typedef struct {
  const dp_blaslt *blaslt;
  dp_blaslt_spec spec;
  cublasLtMatrixLayoutOpaque_t a, b, y;
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace_bytes;
} dp_blaslt_product;

// Addresses on the device. c: NULL if beta is 0; may be y. bias: NULL unless spec.bias.
typedef struct {
  const void *a, *b, *c, *bias;
  void *y;
} dp_blaslt_data;

// Chooses an algorithm that gives the same bits in every run and fits into the workspace: the one that the plan's
// calibration names, else the heuristic's first. While a calibration is made, measures all of them and chooses the
// fastest. *found: whether there is one; the product may be used then. It owns nothing. EX_CONFIG: the library does not
// offer what the calibration names.
dp_status dp_blaslt_product_make(const dp_blaslt_spec *spec, dp_blaslt_product *product, bool *found) DP_MUST_USE;
// The same for where nothing else can do it: EX_UNAVAILABLE if there is none.
dp_status dp_blaslt_product_need(const dp_blaslt_spec *spec, dp_blaslt_product *product) DP_MUST_USE;
// Puts the product on the queue. scratch: of dp_blaslt_scratch_bytes.
dp_status dp_blaslt_product_enqueue(const dp_blaslt_product *product, dp_queue *queue, const dp_blaslt_data *data,
                                    void *scratch) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
