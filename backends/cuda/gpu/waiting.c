// See waiting.h.
#include "backends/cuda/gpu/waiting.h"

#include <time.h>

enum { SPIN_US = 100, NAP_US = 50 };

static const dp_cuda_watch *watch;
static bool lost;

void dp_cuda_watch_by(const dp_cuda_watch *by) { watch = by; }

bool dp_cuda_is_lost(void) { return lost; }

double dp_cuda_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Either an event or a stream.
static CUresult ask(CUevent event, CUstream stream) {
  return event ? dp_cu.cuEventQuery(event) : dp_cu.cuStreamQuery(stream);
}

static dp_status wait_watched(CUevent event, CUstream stream) {
  const double begin = dp_cuda_now();
  double until = 0;
  dp_status failure = DP_OK;
  for (;;) {
    const CUresult result = ask(event, stream);
    if (result != CUDA_ERROR_NOT_READY) return failure ? failure : dp_cuda_check(result, "computing");
    const double now = dp_cuda_now();
    if (!failure) {
      failure = watch->look(now - begin);
      if (failure) until = now + watch->drain_s;
    } else if (lost || now > until) {
      lost = true;
      return failure;
    }
    if (now - begin > 1e-6 * SPIN_US) nanosleep(&(struct timespec){.tv_nsec = NAP_US * 1000}, NULL);
  }
}

static dp_status wait_for(CUevent event, CUstream stream) {
  if (watch && watch->needed()) return wait_watched(event, stream);
  return dp_cuda_check(event ? dp_cu.cuEventSynchronize(event) : dp_cu.cuStreamSynchronize(stream), "computing");
}

dp_status dp_cuda_wait_event(CUevent event) { return wait_for(event, NULL); }
dp_status dp_cuda_wait_stream(CUstream stream) { return wait_for(NULL, stream); }
