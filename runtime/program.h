// A program of a plan, bound: for one n, every instruction on every device with its addresses, kernel and order. Private to
// the runtime.
#ifndef DP_RUNTIME_PROGRAM_H
#define DP_RUNTIME_PROGRAM_H

#include "ir/plan.pb-c.h"
#include "runtime/backend.h"
#include "runtime/pool.h"
#include "runtime/transfer.h"

enum { DP_HOST_COPIES = 2 };

// Where a role's arenas are. Host input has two copies.
typedef struct {
  char *persistent, *transient;  // of one device
} dp_device_memory;

typedef struct {
  const dp_backend *backend;
  void *watch;
  const dp_mesh *mesh;
  int n_devices;
  const dp_device_memory *devices;  // (n_devices)
  char *host_input[DP_HOST_COPIES], *host_output;
} dp_binding;

// An instruction on one device, or a collective on the devices of its group (in rank order).
typedef struct {
  const Dp__Instruction *instruction;
  const char *stream;
  int stream_index;
  int n_devices;
  int *devices;
  // A kernel
  const dp_kernel *kernel;
  dp_kernel_spec *spec;
  void *state;
  const void *in[DP_MAX_OPERANDS];
  void *out[DP_MAX_OPERANDS], *scratch;
  // or communication.
  dp_transfer *transfer;
  int n_ranges;
  dp_range *ranges;
} dp_unit;

typedef struct {
  int64_t n;
  const dp_binding *binding;
  dp_unit *units;
  dp_schedule schedule;
  dp_pool_state *state;
  int slot;  // host input copy of the run that is on
  struct dp_trace *trace;
  int program;
} dp_bound;

// Binds program `index` of the plan's role for n samples. `nodes[stream][instruction]` carry the attributes. Allocates in
// `arena`, but for kernel states: dp_bound_release. EX_UNAVAILABLE when a kernel is absent or asks more scratch.
dp_status dp_bound_make(dp_arena *arena, const dp_binding *binding, const Dp__Program *program, const dp_graph *graph,
                        dp_node *const *const *nodes, int64_t n, dp_bound *bound) DP_MUST_USE;
void dp_bound_release(dp_bound *bound);

#endif
