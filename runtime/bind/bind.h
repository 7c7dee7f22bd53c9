// What one unit of a program does: its operands' addresses and extents at n, its kernel (bind.c) or what it moves
// (communication.c). Private to the runtime.
#ifndef DP_RUNTIME_BIND_BIND_H
#define DP_RUNTIME_BIND_BIND_H

#include "runtime/bind/unit.h"

#ifdef __cplusplus
extern "C" {
#endif

// Of one role's part of a program.
typedef struct {
  dp_arena *arena;
  const dp_binding *binding;
  const Dp__Program *program;
  const dp_graph *graph;
  int64_t n;
  const dp_unit_spec *last;  // of the instruction at hand, on the device before; devices with equal parts share one
} dp_bind;

// Everything that follows takes for granted that this holds of the part's tensors: their micro-batches are of the mesh.
dp_status dp_bind_check(const dp_bind *bind) DP_MUST_USE;

// The tensor of an operand or result (an index plus 1).
static inline const Dp__DeviceTensor *dp_bind_tensor(const dp_bind *b, uint32_t operand) {
  return b->program->tensors[operand - 1];
}
static inline dp_dtype dp_bind_dtype(const dp_bind *b, const Dp__DeviceTensor *t) {
  return b->graph->values[t->value]->type.dtype;
}

// What a device holds of a tensor: of the one micro-batch that the tensor is of, or in the whole tensor's extents.
dp_local dp_bind_local(const dp_bind *bind, const Dp__DeviceTensor *tensor, int device);
// What of it belongs to a micro-batch; -1: to all of them.
dp_local dp_bind_local_at(const dp_bind *bind, const Dp__DeviceTensor *tensor, int device, int64_t micro);

// The unit reads (or writes) what a tensor has at `first`.
void dp_bind_use(const dp_bind *bind, dp_unit *unit, const void *first, const dp_local *local, dp_dtype dtype,
                 bool written);

// The same of a part of it: what a device has, of a tensor that lies at `first` in the extents `there`. A range for each run
// of bytes, and so only where a backend watches.
void dp_bind_use_part(const dp_bind *bind, dp_unit *unit, const void *first, const dp_local *there,
                      const dp_local *part, dp_dtype dtype, bool written);

bool dp_bind_is_communication(const Dp__Instruction *instruction);
// node: carries the attributes.
dp_status dp_bind_kernel(dp_bind *bind, const dp_node *node, dp_unit *unit) DP_MUST_USE;
// The devices that take part in a communication with `device`, itself among them, in rank order.
dp_status dp_bind_group(const dp_bind *bind, int device, dp_unit *unit) DP_MUST_USE;
// Between devices of one role, or between one and the host.
dp_status dp_bind_collective(const dp_bind *bind, dp_unit *unit) DP_MUST_USE;
// From one device to another. The unit's devices and steps are set.
dp_status dp_bind_between(const dp_bind *sender, const dp_bind *receiver, dp_unit *unit) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
