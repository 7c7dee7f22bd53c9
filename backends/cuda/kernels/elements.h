// What GatherElements and ScatterElements share.
#ifndef DP_BACKENDS_CUDA_KERNELS_ELEMENTS_H
#define DP_BACKENDS_CUDA_KERNELS_ELEMENTS_H

#include "backends/cuda/device/elements.h"
#include "backends/cuda/gpu/function.h"

#ifdef __cplusplus
extern "C" {
#endif

// Operand 0 is the data, operand 1 the indices. Without count and addresses.
dp_elements_arguments dp_cuda_elements_of(const dp_kernel_spec *spec, const dp_queue *queue);

#ifdef __cplusplus
}
#endif
#endif
