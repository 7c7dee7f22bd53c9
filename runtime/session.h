// A plan bound to a backend: memory, prepared kernels, workers; runs the plan's programs.
//
// Everything is allocated at load; running a program allocates nothing. One thread at a time may call into a session, but
// for the host input copy that no running program uses, which a prefetching thread may write meanwhile.
#ifndef DP_RUNTIME_SESSION_H
#define DP_RUNTIME_SESSION_H

#include "ir/graph/graph.h"
#include "ir/plan/plan.pb-c.h"
#include "runtime/base/backend.h"
#include "runtime/exec/shares.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_session dp_session;

typedef struct {
  int workers;     // threads in all; 0: one a core
  bool unchecked;  // tests only: load without dp_verify_plan
  uint64_t seed;   // of initial values
  bool trace;      // record what ran when (dp_trace_write)
} dp_session_options;

// Checks the plan, allocates its arenas on every device, loads the variables that have data, runs "init" for the
// others. The plan must outlive the session. EX_DATAERR: the checker's; EX_UNAVAILABLE: a kernel or ISA that is not here.
dp_status dp_session_create(const Dp__Plan *plan, const dp_backend *backend, const dp_session_options *options,
                            dp_session **session) DP_MUST_USE;
void dp_session_destroy(dp_session *session);

int dp_session_find(const dp_session *session, const char *program);  // -1 when the plan has none of that name
// Prepares kernels for n samples, once for each n that will come. dp_session_run does it when it was forgotten.
dp_status dp_session_prepare(dp_session *session, int program, int64_t n) DP_MUST_USE;

// Host memory of an input in copy `slot` (0 or 1): dense, in the input's shape at n. NULL: no such input.
void *dp_session_input(dp_session *session, int program, const char *name, int slot);
// Host memory of an output, valid after a run. type: its whole type, may be NULL.
const void *dp_session_output(dp_session *session, int program, const char *name, dp_type *type);
// The output's element 0 as a number.
double dp_session_number(dp_session *session, int program, const char *name);

typedef struct {
  int64_t step, n;
  double lr;
} dp_step;

// Runs a program once, on the inputs in copy `slot`. EX_DATAERR: data that an operator cannot take.
dp_status dp_session_run(dp_session *session, int program, int slot, const dp_step *step) DP_MUST_USE;

// A variable whole, from or to all devices by its placement. bytes: of dp_session_variable_bytes.
dp_status dp_session_variable_read(dp_session *session, int32_t variable, void *whole) DP_MUST_USE;
dp_status dp_session_variable_write(dp_session *session, int32_t variable, const void *whole) DP_MUST_USE;
// The model that the plan's logical graphs make: variables with names and types, mesh, batch.
const dp_model *dp_session_model(const dp_session *session);
const dp_graph *dp_session_graph(const dp_session *session, int program);

// Bytes allocated, by Dp__Space: the plan's figures to the byte, for every device and for both copies of host input.
uint64_t dp_session_bytes(const dp_session *session, Dp__Space space);
// Those of all spaces that are in the machine's memory by now: what no step touched is not.
uint64_t dp_session_resident(const dp_session *session);

// Writes what was recorded as Chrome trace events (Perfetto reads them): a track a device and stream, a slice for the work
// itself, waiting as slices of its own. EX_CANTCREAT, EX_IOERR.
dp_status dp_session_trace_write(const dp_session *session, const char *path) DP_MUST_USE;
// Of what was recorded.
dp_status dp_session_trace_share(const dp_session *session, dp_trace_shares *shares) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
