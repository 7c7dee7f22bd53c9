// What several GPUs do together, with events by which it shows who has come to it and who has done a part of it.
// Private to the backend.
#ifndef DP_BACKENDS_CUDA_MEETING_H
#define DP_BACKENDS_CUDA_MEETING_H

#include <stdint.h>

#include "backends/cuda/gpu/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_CUDA_MEETING_SLOTS = 2 };

// A rank of a collective, whose GPU does a part of it.
typedef struct {
  int rank, device;  // the plan's device
  const dp_cuda_gpu *gpu;
  // For each slot:
  CUevent come[DP_CUDA_MEETING_SLOTS];  // its stream has come to the meeting
  CUevent over[DP_CUDA_MEETING_SLOTS];  // it has done its part
} dp_cuda_party;

typedef struct dp_cuda_meeting dp_cuda_meeting;
struct dp_cuda_meeting {
  char *what;    // "AllReduce of 'x' (program train, ...)"
  bool gathers;  // nobody goes on before all are through; else each goes on when it has done its part
  int n;
  dp_cuda_party *parties;                  // (n)
  uint64_t issued[DP_CUDA_MEETING_SLOTS];  // when, counted over all meetings from 1; 0: never
  dp_cuda_meeting *next;                   // of all that live
};

// A meeting of n parties, of which rank, device and gpu are given; it is watched (watch.h) until it is released.
// DP_EX_MEMORY, EX_UNAVAILABLE.
dp_status dp_cuda_meeting_make(const char *what, bool gathers, int n, const dp_cuda_party *parties,
                               dp_cuda_meeting **meeting) DP_MUST_USE;
void dp_cuda_meeting_release(dp_cuda_meeting *meeting);  // NULL is allowed

// It is issued: parties come, do their parts, and have done them. Each with the stream that the party has for it.
void dp_cuda_meeting_begin(dp_cuda_meeting *meeting, int slot);
dp_status dp_cuda_meeting_come(const dp_cuda_meeting *meeting, int slot, int party, CUstream stream) DP_MUST_USE;
dp_status dp_cuda_meeting_over(const dp_cuda_meeting *meeting, int slot, int party, CUstream stream) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
