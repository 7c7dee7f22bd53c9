// Copies between tensors that are walked differently: what Transpose, Slice, Concat and others come down to.
#ifndef DP_BACKENDS_CUDA_KERNELS_STRIDED_H
#define DP_BACKENDS_CUDA_KERNELS_STRIDED_H

#include "backends/cuda/device/strided.h"
#include "backends/cuda/gpu/function.h"

#ifdef __cplusplus
extern "C" {
#endif

// The path of a copy: rank dims, strides and starts in elements.
typedef struct {
  int rank;
  int64_t extents[DP_STRIDED_RANK], from_strides[DP_STRIDED_RANK], to_strides[DP_STRIDED_RANK];
  int64_t from_start, to_start;
} dp_cuda_path;

typedef struct {
  const dp_cuda_function *function;  // NULL: nothing to copy
  int64_t element_bytes, width;      // width: elements that are moved at once
  int64_t from_start, to_start;
  int64_t blocks;
  dp_strided_arguments arguments;  // but for the addresses
} dp_cuda_copy;

// The row-major strides of a tensor.
void dp_cuda_strides_of(int rank, const int64_t *extents, int64_t *strides);
// Those of a tensor that lies so.
void dp_cuda_strides_in(dp_layout layout, int rank, const int64_t *extents, int64_t *strides);
// Merges the path's dims and adds the function.
dp_status dp_cuda_copy_make(dp_dtype dtype, const dp_cuda_path *path, dp_cuda_copy *copy) DP_MUST_USE;
// The state of a kernel that makes `count` copies of operand 0's type: (count) dp_cuda_copy, to be freed.
dp_status dp_cuda_copies_make(const dp_kernel_spec *spec, int count, const dp_cuda_path *paths,
                              void **state) DP_MUST_USE;
dp_status dp_cuda_copy_enqueue(const dp_cuda_copy *copy, dp_queue *queue, const void *from, void *to) DP_MUST_USE;
// dp_kernel.enqueue where the state is the only copy, from operand 0 to result 0.
dp_status dp_cuda_one_copy_enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                                   void *const *out, void *scratch) DP_MUST_USE;
// The path that copies `count` elements as they are.
dp_cuda_path dp_cuda_path_dense(int64_t count);

#ifdef __cplusplus
}
#endif
#endif
