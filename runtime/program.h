// A program of a plan, bound: for one n, every instruction on every device with its addresses, kernel and order. Private to
// the runtime.
#ifndef DP_RUNTIME_PROGRAM_H
#define DP_RUNTIME_PROGRAM_H

#include "runtime/memory.h"
#include "runtime/pool.h"
#include "runtime/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

// What all programs of a session share.
typedef struct {
  const dp_memory *memory;
  const dp_mesh *mesh;
  void *watch;             // the backend's
  struct dp_trace *trace;  // NULL: nothing is recorded
} dp_binding;

// An instruction on one device, or a collective on the devices of its group (in rank order).
typedef struct {
  const Dp__Instruction *instruction;
  const char *name, *stream;  // name: of the logical node that it computes, NULL for communication
  int stream_index;
  int n_devices;
  int *devices;
  // A kernel
  const dp_kernel *kernel;
  const dp_kernel_spec *spec;
  void *state;
  const void *in[DP_MAX_OPERANDS];
  void *out[DP_MAX_OPERANDS], *scratch;
  // or communication; NULL: this device has nothing to move.
  dp_transfer *transfer;
  int n_ranges;
  dp_range *ranges;
} dp_unit;

typedef struct {
  int64_t n;
  int program;  // of the session
  const dp_binding *binding;
  dp_unit *units;
  dp_schedule schedule;
  dp_pool_state *state;
  int slot;      // host input copy of the run that is on
  uint64_t run;  // counts the session's runs
} dp_bound;

// Binds a program for n samples. nodes[stream][instruction] carry the attributes. Allocates in `arena`, but for what
// dp_bound_release gives back (after a failure too). EX_UNAVAILABLE: a kernel is absent or asks more scratch here;
// EX_DATAERR: a kernel is not one for its instruction.
dp_status dp_bound_make(dp_arena *arena, const dp_binding *binding, const Dp__Program *program, const dp_graph *graph,
                        dp_node *const *const *nodes, int64_t n, dp_bound *bound) DP_MUST_USE;
void dp_bound_release(dp_bound *bound);

// The dp_schedule's run function; its context is the dp_bound.
dp_status dp_bound_run(void *bound, int unit, int part, int parts) DP_MUST_USE;

// ---- between program.c and bind.c -----------------------------------------------------------------------------------

typedef struct {
  dp_arena *arena;
  const dp_binding *binding;
  const Dp__Program *program;
  const dp_graph *graph;
  int64_t n;
  const dp_kernel_spec *last;  // of the instruction at hand, on the device before; devices with equal parts share one
} dp_bind;

bool dp_bind_is_communication(const Dp__Instruction *instruction);
// The devices that take part with `device`, itself among them, in rank order.
void dp_bind_group(const dp_bind *bind, int device, dp_unit *unit);
// Fills in what the unit does. node: carries a kernel's attributes.
dp_status dp_bind_kernel(dp_bind *bind, const dp_node *node, dp_unit *unit) DP_MUST_USE;
dp_status dp_bind_communication(const dp_bind *bind, dp_unit *unit) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
