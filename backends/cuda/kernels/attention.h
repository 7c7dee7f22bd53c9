// Attention by functions of our own, for kernels that leave some of it to them.
#ifndef DP_BACKENDS_CUDA_KERNELS_ATTENTION_H
#define DP_BACKENDS_CUDA_KERNELS_ATTENTION_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const dp_kernel dp_kernel_cuda_dp_ScaledDotProductAttention, dp_kernel_cuda_dp_ScaledDotProductAttentionGrad;

#ifdef __cplusplus
}
#endif
#endif
