// The alignment of values and scratch memory on GPUs: of the target, so of every plan that runs on them.
#ifndef DP_BACKENDS_CUDA_ALIGNMENT_H
#define DP_BACKENDS_CUDA_ALIGNMENT_H

enum { DP_CUDA_ALIGNMENT = 256 };  // bytes: what cuMemAlloc gives, and what vectorised loads and cuDNN are glad of

#endif
