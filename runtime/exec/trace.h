// Records what ran when, in memory allocated at load, and writes it as Chrome trace events at the end. Private to the
// runtime.
#ifndef DP_RUNTIME_EXEC_TRACE_H
#define DP_RUNTIME_EXEC_TRACE_H

#include <stdatomic.h>

#include "runtime/exec/trace_share.h"

typedef struct dp_trace {
  int64_t start_ns;
  atomic_size_t count;  // may exceed capacity: later slices are not recorded
  size_t capacity;
  dp_slice *slices;
} dp_trace;

int64_t dp_trace_now(void);
dp_status dp_trace_create(size_t capacity, dp_trace **trace) DP_MUST_USE;
void dp_trace_destroy(dp_trace *trace);
size_t dp_trace_count(const dp_trace *trace);  // slices
void dp_trace_record(dp_trace *trace, const dp_unit *unit, const dp_bound *bound, int64_t begin_ns, int64_t end_ns);
// programs: names, indexed by dp_slice.program. backend: whose devices they are; a session of it lives. EX_CANTCREAT,
// EX_IOERR.
dp_status dp_trace_write(const dp_trace *trace, const char *const *programs, const dp_role_map *roles,
                         const dp_backend *backend, const char *path) DP_MUST_USE;

#endif
