// Computes how much communication between devices overlapped computation. Private to the runtime.
#ifndef DP_RUNTIME_EXEC_TRACE_SHARE_H
#define DP_RUNTIME_EXEC_TRACE_SHARE_H

#include "runtime/exec/program.h"
#include "runtime/exec/shares.h"

#ifdef __cplusplus
extern "C" {
#endif

// One part of one unit.
typedef struct {
  const dp_unit *unit;
  uint64_t run;
  int program;
  int64_t begin_ns, end_ns;  // monotonic clock
} dp_slice;

dp_status dp_trace_share(const dp_slice *slices, size_t count, dp_trace_shares *shares) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
