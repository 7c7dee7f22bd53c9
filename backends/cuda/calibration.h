// Measuring cuBLASLt's algorithms and cuDNN's engines on a GPU, and taking what was measured. Private to the backend.
#ifndef DP_BACKENDS_CUDA_CALIBRATION_H
#define DP_BACKENDS_CUDA_CALIBRATION_H

#include "runtime/base/calibrator.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const dp_calibrator dp_calibrator_cuda;

// As dp_backend.calibrate, for the GPUs that are attached.
dp_status dp_cuda_calibrate(const dp_calibration *calibration) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
