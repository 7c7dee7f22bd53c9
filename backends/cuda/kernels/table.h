// Members of a region in few launches: those that are alike are one, which finds its tensors in a table in the GPU's
// memory (backends/cuda/device/table.h).
#ifndef DP_BACKENDS_CUDA_KERNELS_TABLE_H
#define DP_BACKENDS_CUDA_KERNELS_TABLE_H

#include "backends/cuda/gpu/function.h"
#include "backends/cuda/gpu/gpu.h"
#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

// What one launch is: a kernel's own struct begins with it.
typedef struct {
  const dp_cuda_function *function;
  int64_t n_tensors, blocks;
  const void *tensors;  // (n_tensors) of the table
} dp_cuda_table_launch;

// How a kernel groups members and lists their tensors. Tensors are of the type that its function reads.
typedef struct {
  size_t launch_bytes, tensor_bytes;
  // Sets the launch, which is zeroed, that would do the member alone, but for its tensors. No function: the member
  // needs no launch.
  dp_status (*describe)(const dp_kernel_region *region, int member, void *launch);
  // Whether two launches of one function may be one; NULL: always.
  bool (*is_same)(const void *a, const void *b);
  // Sets the member's tensor, which begins at that block of its launch; returns its blocks. 0: it has no elements, and
  // is not listed.
  int64_t (*list)(const dp_kernel_spec *spec, int member, const void *const *in, void *const *out, int64_t first_block,
                  void *tensor);
} dp_cuda_table_kind;

typedef struct {
  const dp_cuda_table_kind *kind;
  int n_launches;
  char *launches;          // (n_launches), each of launch_bytes
  int *launch_of;          // (members) -1: none
  const dp_cuda_gpu *gpu;  // that has `tensors`
  void *tensors;           // of each launch, launch after launch
} dp_cuda_table;

static inline void *dp_cuda_table_at(const dp_cuda_table *table, int launch) {
  return table->launches + (size_t)launch * table->kind->launch_bytes;
}

// Of a kernel of regions: its state is a dp_cuda_table.
dp_status dp_cuda_table_prepare(const dp_kernel_spec *spec, const dp_cuda_table_kind *kind, void **state) DP_MUST_USE;
dp_status dp_cuda_table_settle(const dp_kernel_spec *spec, void *state, const void *const *in,
                               void *const *out) DP_MUST_USE;
void dp_cuda_table_release(void *state);

#ifdef __cplusplus
}
#endif
#endif
