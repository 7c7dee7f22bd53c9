// Binds one unit of a program: the addresses and extents of its operands for n samples, and either its kernel (bind.c)
// or the data it moves (communication.c). Private to the runtime.
#ifndef DP_RUNTIME_BIND_BIND_H
#define DP_RUNTIME_BIND_BIND_H

#include "ir/plan/layout.h"
#include "runtime/bind/unit.h"

#ifdef __cplusplus
extern "C" {
#endif

// The state of binding one role's part of a program.
typedef struct {
  dp_arena *arena;
  const dp_binding *binding;
  const Dp__Program *program;
  const dp_graph *graph;
  int64_t n;
  int slot;  // whose copies of inputs and outputs it takes
  // Of the instruction at hand.
  const dp_kernel_spec *last;  // on the device before; devices with equal shards share one
  int n_members;
  const dp_kernel_member *members;  // NULL: it is no region
  size_t n_values;                  // operands, results, and what stays inside
  uint32_t *slots;                  // (n_values) the tensor; not set where an operand or result is left out
  uint32_t *slot_of;                // (tensors) of a region's values, plus 1; all 0 between instructions
  dp_kernel_operand *room;          // (n_values) where a spec is put together
} dp_bind;

// Checks that the tensors' micro-batches exist in the mesh. The functions below rely on it. EX_DATAERR.
dp_status dp_bind_check(const dp_bind *bind) DP_MUST_USE;

// The tensor of an operand or result; `operand` is its index plus 1.
static inline const Dp__DeviceTensor *dp_bind_tensor(const dp_bind *b, uint32_t operand) {
  return b->program->tensors[operand - 1];
}
static inline dp_layout dp_bind_layout(const Dp__DeviceTensor *t) { return dp_plan_to_layout(t->layout); }
static inline dp_dtype dp_bind_dtype(const dp_bind *b, const Dp__DeviceTensor *t) {
  return b->graph->values[t->value]->type->dtype;
}

// The shard that a device holds: of a single micro-batch if the tensor holds just one, else in the extents of the whole
// tensor.
dp_local dp_bind_local(const dp_bind *bind, const Dp__DeviceTensor *tensor, int device);
// The part of the tensor that belongs to micro-batch `micro`; -1: to all micro-batches.
dp_local dp_bind_local_at(const dp_bind *bind, const Dp__DeviceTensor *tensor, int device, int64_t micro);

// Records that the unit reads (or writes) the shard `local`, which starts at `first`.
void dp_bind_use(const dp_bind *bind, dp_unit *unit, const void *first, const dp_local *local, dp_dtype dtype,
                 bool written);

// Records that the unit reads (or writes) only `part` of a tensor that starts at `first` and has the extents `there`.
// It adds a range for each run of bytes, so it does nothing unless the backend watches the ranges.
void dp_bind_use_part(const dp_bind *bind, dp_unit *unit, const void *first, const dp_local *there,
                      const dp_local *part, dp_dtype dtype, bool written);

bool dp_bind_is_communication(const Dp__Instruction *instruction);
// Sets the values, and a region's members, of an instruction that no device has been bound to yet.
void dp_bind_values(dp_bind *bind, const dp_node *node, const Dp__Instruction *instruction);
// Binds a kernel; `node` carries the instruction's attributes, and a region's body those of its members.
// EX_UNAVAILABLE: the backend has no such kernel, or it needs more scratch than the plan reserves; EX_DATAERR: the
// kernel does not fit the instruction.
dp_status dp_bind_kernel(dp_bind *bind, const dp_node *node, dp_unit *unit) DP_MUST_USE;
// Sets the devices that communicate with `device`, including itself, in rank order. EX_DATAERR.
dp_status dp_bind_group(const dp_bind *bind, int device, dp_unit *unit) DP_MUST_USE;
// Binds communication among devices of one role, or between a device and the host. EX_DATAERR, EX_UNAVAILABLE.
dp_status dp_bind_collective(const dp_bind *bind, dp_unit *unit) DP_MUST_USE;
// Binds a transfer from one device to another. The caller has set the unit's devices and steps. EX_DATAERR.
dp_status dp_bind_between(const dp_bind *sender, const dp_bind *receiver, dp_unit *unit) DP_MUST_USE;
// Sets what each device of a bound unit computes and moves (docs/running.md, "Traces"). receiver: of a transfer, the
// binding of the second device; else the same.
void dp_bind_costs(const dp_bind *bind, const dp_bind *receiver, dp_unit *unit);

#ifdef __cplusplus
}
#endif
#endif
