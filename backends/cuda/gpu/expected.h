// Libraries that plans may need, loaded beside other work. Private to the backend.
#ifndef DP_BACKENDS_CUDA_EXPECTED_H
#define DP_BACKENDS_CUDA_EXPECTED_H

#include "backends/cuda/api/library.h"
#include "backends/cuda/gpu/background.h"

#ifdef __cplusplus
extern "C" {
#endif

// Static, and {{.work = dp_cuda_expected_load}, &library} at first; dp_cuda_job_start begins it. A failure shows when
// the library is needed.
typedef struct {
  dp_cuda_job job;
  dp_cuda_library *library;
} dp_cuda_expected;

void dp_cuda_expected_load(dp_cuda_job *job);

#ifdef __cplusplus
}
#endif
#endif
