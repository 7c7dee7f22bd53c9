// Makes the functions of plans beforehand.
#ifndef DP_BACKENDS_CUDA_CODE_MAKER_H
#define DP_BACKENDS_CUDA_CODE_MAKER_H

#include "runtime/base/code_maker.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const dp_code_maker dp_code_maker_cuda;
// A backend without a GPU, for sessions whose steps are bound, and neither prepared nor run.
extern const dp_backend dp_cuda_backend_unattached;

#ifdef __cplusplus
}
#endif
#endif
