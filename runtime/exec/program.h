// A program of a plan, bound: for one n, every instruction on every device with its addresses, kernel and order. The parts
// that the roles have of it are one. Private to the runtime.
#ifndef DP_RUNTIME_EXEC_PROGRAM_H
#define DP_RUNTIME_EXEC_PROGRAM_H

#include "runtime/bind/memory.h"
#include "runtime/comm/transfer.h"
#include "runtime/exec/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

// What all programs of a session share.
typedef struct {
  const dp_memory *memory;
  const dp_mesh *mesh;
  const dp_role_map *roles;
  void *detector;          // the backend's
  struct dp_trace *trace;  // NULL: nothing is recorded
} dp_binding;

// What the devices of one role do of a program.
typedef struct {
  const Dp__Program *program;  // NULL: nothing
  const dp_graph *graph;
  dp_node *const *const *nodes;  // [stream][instruction] carry the attributes
} dp_role_program;

// An instruction and the stream of its program that it is in.
typedef struct {
  const Dp__Instruction *instruction;
  const char *stream;
  int stream_index;
} dp_step_at;

// A dp_kernel_spec without the operands that the instruction has not, which are most of one.
typedef struct {
  const dp_node *node;  // carries the attributes
  int n_inputs, n_outputs, threads;
  const dp_kernel_operand *operands;  // (n_inputs + n_outputs)
} dp_unit_spec;

// An instruction on one device, a collective on the devices of its group (in rank order), or a transfer between two
// devices: the sender and the receiver, each with an instruction of its own.
typedef struct {
  dp_step_at at[2];  // [1]: of a transfer's receiver
  bool between_two;
  const char *name;  // of the logical node that it computes, NULL for communication
  int micro;         // the micro-batch that it is for; -1: no single one
  int n_devices;
  int *devices;
  // A kernel
  const dp_kernel *kernel;
  const dp_unit_spec *spec;
  void *state;
  const void *in[DP_MAX_OPERANDS];
  void *out[DP_MAX_OPERANDS], *scratch;
  // or communication; NULL: this device has nothing to move.
  dp_transfer *transfer;
  int n_ranges;
  dp_range *ranges;
} dp_unit;

// Of member m: [0, n_devices).
static inline const dp_step_at *dp_unit_at(const dp_unit *unit, int m) { return &unit->at[unit->between_two && m]; }

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
