// Gates: where streams wait for each other, as the ranks of a collective do, and streams that stand still.
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/standin/state.h"

struct dp_standin_gate {
  standin_marker *marker;    // what streams wait for
  standin_marker **arrived;  // (n)
  int n;
  bool shut;
};

bool standin_gate_is_open(const dp_standin_gate *gate, double *time_ns) {
  *time_ns = 0;
  if (gate->shut) return false;
  for (int i = 0; i < gate->n; i++) {
    if (!gate->arrived[i]->done) return false;
    if (gate->arrived[i]->time_ns > *time_ns) *time_ns = gate->arrived[i]->time_ns;
  }
  return true;
}

int standin_gate_arrivals(const dp_standin_gate *gate, standin_marker *const **arrived) {
  *arrived = gate->arrived;
  return gate->n;
}

dp_standin_gate *dp_standin_gate_make(void) {
  dp_standin_gate *gate = calloc(1, sizeof *gate);
  standin_marker *marker = calloc(1, sizeof *marker);
  if (!gate || !marker) abort();
  *marker = (standin_marker){.references = 1, .gate = gate};
  gate->marker = marker;
  return gate;
}

void dp_standin_gate_free(dp_standin_gate *gate) {
  gate->marker->gate = NULL;
  gate->marker->done = true;
  standin_unref(gate->marker);
  for (int i = 0; i < gate->n; i++) standin_unref(gate->arrived[i]);
  free(gate->arrived);
  free(gate);
}

CUresult dp_standin_gate_arrive(dp_standin_gate *gate, CUstream stream) {
  standin_lock();
  CUresult result = standin_stuck();
  if (!result && !standin_is_stream(stream)) result = STANDIN_INVALID_HANDLE;
  if (!result && standin_captured(stream)) result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!result) {
    standin_marker **arrived = realloc(gate->arrived, ((size_t)gate->n + 1) * sizeof *arrived);
    if (!arrived) abort();
    gate->arrived = arrived;
    gate->arrived[gate->n++] = standin_mark(stream);
  }
  standin_close();
  standin_unlock();
  return result;
}

CUresult dp_standin_gate_wait(dp_standin_gate *gate, CUstream stream) {
  standin_lock();
  CUresult result = standin_stuck();
  if (!result && !standin_is_stream(stream)) result = STANDIN_INVALID_HANDLE;
  if (!result) standin_wait(stream, gate->marker);
  standin_close();
  standin_unlock();
  return result;
}

void dp_standin_gate_shut(dp_standin_gate *gate) {
  standin_lock();
  gate->shut = true;
  standin_unlock();
}

void dp_standin_gate_open(dp_standin_gate *gate) {
  standin_lock();
  gate->marker->done = true;
  standin_unlock();
}

bool standin_stalls(int device, const char *what) {
  static int64_t count;
  return device == standin_set.stall_device && what && strstr(what, standin_set.stall_what) &&
         ++count == standin_set.stall_number;
}

void dp_standin_halt(CUstream stream) {
  standin_lock();
  standin_stream_halt(stream);
  standin_unlock();
}
