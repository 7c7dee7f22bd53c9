// Events.
#include <stdlib.h>

#include "tests/cuda/standin/state.h"

struct CUevent_st {
  CUevent next;
  int device;
  bool timing;
  standin_marker *recorded;  // NULL: never, or in a capture
  standin_captured_at captured;
};

static CUevent events;

// The place in the list that holds the event, or NULL.
static CUevent *find(CUevent event) {
  for (CUevent *link = &events; *link; link = &(*link)->next)
    if (*link == event) return link;
  return NULL;
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  if (!event || flags & ~(unsigned)CU_EVENT_DISABLE_TIMING) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  CUevent made = calloc(1, sizeof *made);
  if (!made) return standin_leave(CUDA_ERROR_OUT_OF_MEMORY);
  *made = (struct CUevent_st){.next = events, .device = standin_current, .timing = !(flags & CU_EVENT_DISABLE_TIMING)};
  events = made;
  standin_counts.events++;
  *event = made;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent event) {
  CUresult result = standin_enter(__func__, STANDIN_CONTEXT);
  CUevent *link = find(event);
  if (!link) return standin_leave(result ? result : STANDIN_INVALID_HANDLE);
  *link = event->next;
  standin_unref(event->recorded);
  standin_points_clear(&event->captured.after);
  free(event);
  standin_counts.events--;
  return standin_leave(result);
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  if (!find(event) || !standin_is_stream(stream)) return standin_leave(STANDIN_INVALID_HANDLE);
  if (event->device != standin_device_of(stream)) return standin_leave(STANDIN_INVALID_HANDLE);
  const bool captured = standin_captured(stream);
  refused = captured ? standin_capture_record(stream, &event->captured) : standin_capture_implicit(stream);
  if (refused) return standin_leave(refused);
  if (!captured) event->captured.capture = 0;
  standin_unref(event->recorded);
  event->recorded = captured ? NULL : standin_mark(stream);
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  if (flags) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  if (!find(event) || !standin_is_stream(stream)) return standin_leave(STANDIN_INVALID_HANDLE);
  if (event->captured.capture) return standin_leave(standin_capture_wait(stream, &event->captured));
  if (!event->recorded) return standin_leave(CUDA_SUCCESS);
  if (standin_captured(stream)) refused = standin_capture_refuse(stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  if (!refused) refused = standin_capture_implicit(stream);
  if (refused) return standin_leave(refused);
  standin_wait(stream, event->recorded);
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuEventQuery(CUevent event) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  if (!find(event)) return standin_leave(STANDIN_INVALID_HANDLE);
  refused = standin_capture_touch(&event->captured);
  if (!refused) refused = standin_capture_unsafe();
  if (refused) return standin_leave(refused);
  if (event->recorded) standin_run_some(event->recorded);
  return standin_leave(event->recorded && !event->recorded->done ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

CUresult cuEventSynchronize(CUevent event) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  if (!find(event)) return standin_leave(STANDIN_INVALID_HANDLE);
  refused = standin_capture_touch(&event->captured);
  if (!refused) refused = standin_capture_unsafe();
  if (refused) return standin_leave(refused);
  if (event->recorded) standin_run_until(event->recorded);
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  if (!milliseconds) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  if (!find(begin) || !find(end) || begin->device != end->device) return standin_leave(STANDIN_INVALID_HANDLE);
  refused = standin_capture_touch(&begin->captured);
  if (!refused) refused = standin_capture_touch(&end->captured);
  if (refused) return standin_leave(refused);
  if (!begin->timing || !end->timing || !begin->recorded || !end->recorded)
    return standin_leave(STANDIN_INVALID_HANDLE);
  if (!begin->recorded->done || !end->recorded->done) return standin_leave(CUDA_ERROR_NOT_READY);
  *milliseconds = (float)((end->recorded->time_ns - begin->recorded->time_ns) / 1e6);
  return standin_leave(CUDA_SUCCESS);
}
