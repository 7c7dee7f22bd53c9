// A bound program consists of units. A unit is an instruction on one device, a collective, or a transfer. Private to
// the runtime.
#ifndef DP_RUNTIME_BIND_UNIT_H
#define DP_RUNTIME_BIND_UNIT_H

#include "runtime/bind/exchange.h"
#include "runtime/bind/memory.h"
#include "runtime/bind/prepared.h"
#include "runtime/comm/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

// What all programs of a session share.
typedef struct {
  const dp_memory *memory;
  const dp_mesh *mesh;
  const dp_role_map *roles;
  const dp_peers *peers;   // NULL: all devices are here
  void *detector;          // the backend's
  struct dp_trace *trace;  // NULL: nothing is recorded
  dp_prepared *prepared;   // states that kernels share
  bool in_rank_order;      // sums are taken in rank order, also where a library would take them otherwise
  bool tf32, winograd;     // as in dp_kernel_spec
  bool check_finite;       // whether each node's numbers are looked at (runtime/exec/finite.h)
} dp_binding;

// One role's program of that name, or none.
typedef struct {
  const Dp__Program *program;  // NULL: this role has no such program
  const dp_graph *graph;
  dp_node *const *const *nodes;  // [stream][instruction], carry the attributes
} dp_role_program;

// An instruction and its stream.
typedef struct {
  const Dp__Instruction *instruction;
  const char *stream;
  int stream_index;
} dp_instruction_at;

// An instruction on one device, a collective on the devices of its group (in rank order), or a transfer between two
// devices, the sender and the receiver, each of which has its own instruction.
typedef struct {
  dp_instruction_at at[2];  // [1]: the receiver's, for a transfer
  bool between_two;
  const char *name;   // of the logical node it computes; NULL for communication
  const char *moved;  // the (first) logical value that communication moves; NULL for a node
  int micro;          // the micro-batch it works on; -1: not a single one
  int role, number;   // the instruction: its role, and counted over all streams of that; of a transfer the sender's
  int n_devices;
  int *devices;    // those elsewhere among them
  dp_cost *costs;  // (n_devices) what each computes and moves; NULL: nothing is traced
  // For a node:
  const dp_kernel *kernel;
  const dp_kernel_spec *spec;
  void *state;  // kept by the session where the kernel shares it
  const void **in;
  void **out, *scratch;
  const void *plain;  // the operand that in[kernel->packs] is the packed form of; NULL: none is packed
  void *packed;       // where that form goes
  // or communication; NULL: this device has nothing to move.
  dp_transfer *transfer;
  void *transfer_state;  // of a backend with queues
  // With devices elsewhere: what is exchanged before the transfer. A unit of its own posts it, the one before this.
  dp_exchange *exchange;
  bool posts;
  int n_ranges;
  dp_range *ranges;
  dp_range *other_ranges;  // where a run has the other copy of the host's inputs; NULL: they are the same
} dp_unit;

// The step of member m, 0 <= m < n_devices.
static inline const dp_instruction_at *dp_unit_at(const dp_unit *unit, int m) {
  return &unit->at[unit->between_two && m];
}

#ifdef __cplusplus
}
#endif
#endif
