// Runs of elementwise nodes as one launch. A function is generated from the nodes' expressions: each thread computes
// one element of the results, and the values in between stay in registers.
#ifndef DP_BACKENDS_CUDA_KERNELS_ELEMENTWISE_H
#define DP_BACKENDS_CUDA_KERNELS_ELEMENTWISE_H

#include "backends/cuda/gpu/function.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_cuda_elementwise dp_cuda_elementwise;

// The most operands and results of a run, so that a launch's arguments fit in the 4 KiB that all GPUs take.
enum { DP_CUDA_MAX_ELEMENTWISE = 48 };

// Members first .. end - 1 of the region, which expressions compute and whose results all have the same extents.
// kept: (values) the results that are written to memory; the others are used by these members alone.
// EX_SOFTWARE: more than DP_CUDA_MAX_ELEMENTWISE operands and results.
dp_status dp_cuda_elementwise_make(const dp_kernel_region *region, int first, int end, const bool *kept,
                                   dp_cuda_elementwise **made) DP_MUST_USE;

// Where the values of a region are: operands, results, and those inside, at offsets of scratch.
typedef struct {
  int n_inputs, n_outputs;
  const void *const *in;
  void *const *out;
  char *scratch;
  const uint64_t *offsets;  // (values)
  const int32_t *homes;     // (values) the value in whose memory it is; NULL: each has its own
  const uint64_t *inner;    // (values) where it begins there, in bytes, if there are homes
} dp_cuda_values;

static inline void *dp_cuda_value_at(const dp_cuda_values *values, int32_t value) {
  const uint64_t inner = values->homes ? values->inner[value] : 0;
  if (values->homes) value = values->homes[value];
  char *home = value < values->n_inputs                       ? (char *)(uintptr_t)values->in[value]
               : value < values->n_inputs + values->n_outputs ? (char *)values->out[value - values->n_inputs]
                                                              : values->scratch + values->offsets[value];
  return inner ? home + inner : home;
}

dp_status dp_cuda_elementwise_enqueue(const dp_cuda_elementwise *elementwise, dp_queue *queue,
                                      const dp_cuda_values *values) DP_MUST_USE;
void dp_cuda_elementwise_free(dp_cuda_elementwise *elementwise);

#ifdef __cplusplus
}
#endif
#endif
