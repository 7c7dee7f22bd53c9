// See meeting.h.
#include "backends/cuda/gpu/meeting.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/gpu/watch.h"

static dp_status make_events(const dp_cuda_meeting *m) {
  for (int i = 0; i < m->n; i++) {
    dp_cuda_party *p = &m->parties[i];
    DP_TRY(dp_cuda_gpu_use(p->gpu));
    for (int slot = 0; slot < DP_CUDA_MEETING_SLOTS; slot++) {
      DP_TRY(dp_cuda_check(dp_cu.cuEventCreate(&p->come[slot], CU_EVENT_DISABLE_TIMING), "making an event"));
      DP_TRY(dp_cuda_check(dp_cu.cuEventCreate(&p->over[slot], CU_EVENT_DISABLE_TIMING), "making an event"));
    }
  }
  return DP_OK;
}

static dp_status fill(const char *what, bool gathers, int n, const dp_cuda_party *parties, dp_cuda_meeting *m) {
  m->what = strdup(what);
  m->parties = calloc((size_t)n, sizeof *m->parties);
  if (!m->what || !m->parties) return dp_fail(DP_EX_MEMORY, "no memory for a collective");
  m->gathers = gathers;
  m->n = n;
  for (int i = 0; i < n; i++)
    m->parties[i] = (dp_cuda_party){.rank = parties[i].rank, .device = parties[i].device, .gpu = parties[i].gpu};
  return make_events(m);
}

dp_status dp_cuda_meeting_make(const char *what, bool gathers, int n, const dp_cuda_party *parties,
                               dp_cuda_meeting **meeting) {
  dp_cuda_meeting *m = calloc(1, sizeof *m);
  if (!m) return dp_fail(DP_EX_MEMORY, "no memory for a collective");
  dp_status status = fill(what, gathers, n, parties, m);
  if (status) {
    dp_cuda_meeting_release(m);
    return status;
  }
  dp_cuda_watch_add(m);
  *meeting = m;
  return DP_OK;
}

void dp_cuda_meeting_release(dp_cuda_meeting *m) {
  if (!m) return;
  dp_cuda_watch_drop(m);
  for (int i = 0; i < m->n; i++)
    for (int slot = 0; slot < DP_CUDA_MEETING_SLOTS; slot++) {
      CUevent const events[] = {m->parties[i].come[slot], m->parties[i].over[slot]};
      for (size_t e = 0; e < DP_COUNT(events); e++)
        if (events[e]) dp_cu.cuEventDestroy_v2(events[e]);
    }
  free(m->parties);
  free(m->what);
  free(m);
}

static dp_status record(CUevent event, CUstream stream) {
  return dp_cuda_check(dp_cu.cuEventRecord(event, stream), "issuing a collective");
}

void dp_cuda_meeting_begin(dp_cuda_meeting *m, int slot) { m->issued[slot] = dp_cuda_watch_count(); }

dp_status dp_cuda_meeting_come(const dp_cuda_meeting *m, int slot, int party, CUstream stream) {
  return record(m->parties[party].come[slot], stream);
}

dp_status dp_cuda_meeting_over(const dp_cuda_meeting *m, int slot, int party, CUstream stream) {
  return record(m->parties[party].over[slot], stream);
}
