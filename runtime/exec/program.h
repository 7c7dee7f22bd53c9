// A bound program of a plan: for one n, every instruction on every device with its addresses, its kernel and its order.
// Joins the programs of all roles. Private to the runtime.
#ifndef DP_RUNTIME_EXEC_PROGRAM_H
#define DP_RUNTIME_EXEC_PROGRAM_H

#include "runtime/bind/unit.h"
#include "runtime/exec/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int64_t n;
  int program;  // its number in the session
  const dp_binding *binding;
  const dp_role_program *programs;  // (roles)
  dp_unit *units;
  dp_task_graph task_graph;
  const dp_executor *executor;
  void *state;      // the executor's, from its `prepare`; NULL: not yet prepared
  int slot;         // whose copies of inputs and outputs the current run has
  uint64_t run;     // the number of the session's current run
  bool packs;       // some unit has a packed operand
  uint64_t packed;  // the state of the variables (dp_bound_pack) that operands are packed from; 0: none are yet
} dp_bound;

// Binds a program for n samples, and for the copies of inputs and outputs of bound->slot. Where tensors have one
// address for both slots (dp_memory_alternates), bound->slot may change between runs. programs: (roles). Allocates in
// `arena`, except for what dp_bound_release frees (call it after a failure too). The task graph is the executor's to
// prepare and to release. EX_UNAVAILABLE: a kernel is missing, or needs more scratch on this machine; EX_DATAERR: a
// kernel does not fit its instruction, a transfer lacks its other end, or steps wait for each other.
dp_status dp_bound_make(dp_arena *arena, const dp_binding *binding, const dp_role_program *programs, int64_t n,
                        dp_bound *bound) DP_MUST_USE;
void dp_bound_release(dp_bound *bound);
// Before a run, and while none is on: packs the operands that kernels take packed, unless that was done for this state
// of the variables. variables: a number, not 0, that is another one whenever any of them may have changed.
dp_status dp_bound_pack(dp_bound *bound, uint64_t variables) DP_MUST_USE;

// The functions of the dp_task_graph; their context is the dp_bound.
dp_status dp_bound_run(void *bound, int unit, int part, int parts) DP_MUST_USE;
dp_status dp_bound_enqueue(void *bound, int unit, dp_queue *const *queues) DP_MUST_USE;
void dp_bound_record(void *bound, int unit, int64_t begin_ns, int64_t end_ns);
dp_status dp_bound_explain(void *bound, int unit, dp_status status) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
