// A program of a plan, bound: for one n, every instruction on every device with its addresses, kernel and order. The parts
// that the roles have of it are one. Private to the runtime.
#ifndef DP_RUNTIME_EXEC_PROGRAM_H
#define DP_RUNTIME_EXEC_PROGRAM_H

#include "runtime/bind/unit.h"
#include "runtime/exec/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int64_t n;
  int program;  // of the session
  const dp_binding *binding;
  dp_unit *units;
  dp_task_graph schedule;
  dp_pool_state *state;
  int slot;      // host input copy of the run that is on
  uint64_t run;  // counts the session's runs
} dp_bound;

// Binds a program for n samples. parts: (roles). Allocates in `arena`, but for what dp_bound_release gives back (after a
// failure too). EX_UNAVAILABLE: a kernel is absent or asks more scratch here; EX_DATAERR: a kernel is not one for its
// instruction, a transfer has no other side, or steps wait for each other.
dp_status dp_bound_make(dp_arena *arena, const dp_binding *binding, const dp_role_program *parts, int64_t n,
                        dp_bound *bound) DP_MUST_USE;
void dp_bound_release(dp_bound *bound);

// The dp_task_graph's run function; its context is the dp_bound.
dp_status dp_bound_run(void *bound, int unit, int part, int parts) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
