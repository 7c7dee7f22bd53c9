// A plan bound to a backend: memory, prepared kernels, workers. Runs the plan's programs.
//
// Everything is allocated at load; running a program allocates nothing. Only one thread at a time may call into a
// session, except that a prefetching thread may write the host input copy that no run uses.
#ifndef DP_RUNTIME_SESSION_H
#define DP_RUNTIME_SESSION_H

#include <stdio.h>

#include "ir/graph/graph.h"
#include "ir/plan/plan.pb-c.h"
#include "runtime/base/calibrator.h"
#include "runtime/base/code_maker.h"
#include "runtime/base/peers.h"
#include "runtime/exec/shares.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_session dp_session;

typedef struct {
  int workers;     // threads in total; 0: one for each core
  bool unchecked;  // for tests: load without dp_verify_plan
  uint64_t seed;   // of initial values
  bool trace;      // record what ran when (dp_trace_write)
  // Fail with EX_DATAERR at the first node that makes NaN or Inf, and name it with its operands' ranges. Slow: what
  // a node computes is looked at before the next one begins.
  bool check_finite;
  // Where the plan's other devices are; outlives the session. NULL: all are here.
  const dp_peers *peers;
  // Of dp_plan_read_apart: has first values of variables and nothing else that is read. The session gives each back to
  // the system once it has copied it, so that they are never all there twice. NULL: they stay.
  dp_arena *initial;
} dp_session_options;

// Checks the plan, allocates its arenas on every device, loads the variables that have data and runs "init" for the
// others. The plan must outlive the session. EX_DATAERR: the checker rejects it; EX_UNAVAILABLE: a kernel or ISA is
// missing here; DP_EX_MEMORY.
//
// With devices in other processes, each of them creates a session of the same plan, with the same seed, and makes the
// same calls in the same order. Each is given the inputs of all samples. An output has the parts that its own devices
// hold, of several equal ones any; what one process computes is what one session of all devices would, bit for bit.
dp_status dp_session_create(const Dp__Plan *plan, const dp_backend *backend, const dp_session_options *options,
                            dp_session **session) DP_MUST_USE;
void dp_session_destroy(dp_session *session);

int dp_session_find(const dp_session *session, const char *program);  // -1: the plan has no such program
// Prepares kernels for n samples. Call it once for each n to come, or dp_session_run does it at the first use.
dp_status dp_session_prepare(dp_session *session, int program, int64_t n) DP_MUST_USE;

// The host memory of an input, copy `slot` (0 or 1): dense, in the input's shape for n samples. NULL: no such input.
void *dp_session_input(dp_session *session, int program, const char *name, int slot);
// The host memory of an output of the run that ended last, valid until another run of the same slot begins. type:
// receives its whole type; may be NULL.
const void *dp_session_output(dp_session *session, int program, const char *name, dp_type *type);
// Element 0 of an output, as a number.
double dp_session_number(dp_session *session, int program, const char *name);

typedef struct {
  int64_t step, n;
  double lr;
} dp_step;

// Gives a code maker what the program's steps need for n samples. The session is one on the maker's backend.
dp_status dp_session_add_code(dp_session *session, int program, int64_t n, const dp_code_maker *maker) DP_MUST_USE;
// Lets a calibrator measure libraries for the program's steps. The session is one on the calibrator's backend, and the
// calibrator has begun.
dp_status dp_session_calibrate(dp_session *session, int program, int64_t n,
                               const dp_calibrator *calibrator) DP_MUST_USE;
// Prints what the backend chooses for an instruction of the program when its steps are prepared for n samples: a line
// for all devices, or several where they differ; none where it chooses nothing. EX_UNAVAILABLE, DP_EX_MEMORY.
dp_status dp_session_print_choices(dp_session *session, int program, int64_t n, const Dp__Instruction *instruction,
                                   FILE *out) DP_MUST_USE;

// Runs a program once, on the inputs in copy `slot`. EX_DATAERR: an operator cannot take the data. DP_EX_PEER_LOST, or
// what else the transport says: a message was not carried out.
dp_status dp_session_run(dp_session *session, int program, int slot, const dp_step *step) DP_MUST_USE;

// The same in two halves, so that the next run's inputs go to the devices beside this run, and nothing waits for the
// host to look at results. At most dp_session_depth runs may be on, with their inputs in different slots; what each
// computes does not depend on whether another one is on. A failure of the older run shows when it ends.
dp_status dp_session_begin(dp_session *session, int program, int slot, const dp_step *step) DP_MUST_USE;
// 2 where the plan has outputs in two copies, else 1.
int dp_session_depth(const dp_session *session);
// Blocks until the run that was begun last has taken its inputs, so that their slot may be filled again. Only with a
// depth of 2: otherwise a run reads them until it ends. EX_UNAVAILABLE: the device has failed.
dp_status dp_session_taken(dp_session *session) DP_MUST_USE;
// Blocks until the run that was begun first is over; DP_OK if none is on. After a failure none is on.
dp_status dp_session_end(dp_session *session) DP_MUST_USE;

// Prints where the backend has put the plan's devices, for people; nothing where there is nothing to say.
void dp_session_describe(const dp_session *session, FILE *out);

// Why the device runs steps slower than it could, to be told to the user; NULL: it does not. Lives with the session.
const char *dp_session_remark(const dp_session *session);

// Copies a variable, whole, from or to all devices here that hold it. The buffer has dp_session_variable_bytes bytes.
// No run may be on. EX_UNAVAILABLE: a part of it is only in another process.
dp_status dp_session_variable_read(dp_session *session, int32_t variable, void *whole) DP_MUST_USE;
dp_status dp_session_variable_write(dp_session *session, int32_t variable, const void *whole) DP_MUST_USE;
// The model of the plan's logical graphs: variables with names and types, mesh, batch.
const dp_model *dp_session_model(const dp_session *session);
const dp_graph *dp_session_graph(const dp_session *session, int program);

// Bytes allocated, by Dp__Space, for all devices and both copies of host input. They equal the plan's figures.
uint64_t dp_session_bytes(const dp_session *session, Dp__Space space);
// The bytes of all spaces that occupy physical memory now. Memory that no step has touched does not count.
uint64_t dp_session_resident(const dp_session *session);

// Writes the recording as Chrome trace events, which Perfetto reads: a track for each device and stream, with slices
// for work and slices for waiting. EX_CANTCREAT, EX_IOERR.
dp_status dp_session_trace_write(const dp_session *session, const char *path) DP_MUST_USE;
// Computes the overlap of communication from the recording.
dp_status dp_session_trace_share(const dp_session *session, dp_trace_shares *shares) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
