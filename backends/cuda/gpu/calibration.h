// What libraries are to choose: taken from a plan's calibration, or measured for one. Private to the backend.
//
// A library's call is described by a text, an algorithm by another, both without addresses. Libraries name their
// algorithms in an order that depends on their version, the GPU and the call alone, so the texts mean the same as long
// as these are the same, which the backend checks (backends/cuda/calibration.h).
#ifndef DP_BACKENDS_CUDA_CALIBRATION_STATE_H
#define DP_BACKENDS_CUDA_CALIBRATION_STATE_H

#include "backends/cuda/gpu/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where kernels look from now on; NULL: nowhere.
void dp_cuda_calibration_use(const dp_calibration *calibration);
// The choice for a call; NULL: none, so that the library's first one is taken.
const char *dp_cuda_calibration_choice(const char *call);
// The failure for a choice that the library does not offer.
dp_status dp_cuda_calibration_missing(const char *call, const char *choice) DP_MUST_USE;

// ---- measuring: by one thread ---------------------------------------------------------------------------------------

// What is measured from now on lives in the arena.
void dp_cuda_calibration_begin(dp_arena *arena);
// Ends, and gives what was measured.
void dp_cuda_calibration_end(dp_calibration *calibration);
// Whether kernels are to measure when they are prepared.
bool dp_cuda_calibration_measures(void);
// Whether that call has been measured.
bool dp_cuda_calibration_has(const char *call);
// Keeps what was found for a call. library: "cuBLASLt 13.1.0".
void dp_cuda_calibration_add(const char *library, const dp_calibrated_choice *choice);

// Operands of a call that is measured, on the GPU that the thread uses.
enum { DP_CUDA_TRIAL_OPERANDS = 6 };
typedef struct {
  void *at[DP_CUDA_TRIAL_OPERANDS];
} dp_cuda_trial;
// bytes: of each; 0: none. The numbers in them are small, whatever their type. DP_EX_MEMORY.
dp_status dp_cuda_trial_make(const uint64_t bytes[DP_CUDA_TRIAL_OPERANDS], dp_cuda_trial *trial) DP_MUST_USE;
void dp_cuda_trial_free(dp_cuda_trial *trial);
// The time of one run, in ns: the mean of a few at once, the shortest such of several. `run` puts one on the queue.
// best_ns: the shortest time so far of what it is compared with, or 0; what takes more than twice as long is run a few
// times at once for it and no more, after a run that does not count.
dp_status dp_cuda_trial_time(dp_status (*run)(void *context, dp_queue *queue), void *context, double best_ns,
                             double *ns) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
