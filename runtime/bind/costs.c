// Costs of bind.h: operations and bytes of each device of a unit, at its n.
#include "ir/kernel/cost.h"
#include "ir/plan/moves.h"
#include "runtime/bind/bind.h"

static double bytes_on(const dp_bind *b, size_t count, const uint32_t *operands, size_t k, int device) {
  if (k >= count || !operands[k]) return 0;
  const Dp__DeviceTensor *t = dp_bind_tensor(b, operands[k]);
  const dp_local local = dp_bind_local(b, t, device);
  return (double)dp_local_count(&local) * (double)dp_type_bytes(dp_bind_dtype(b, t));
}

// What the device sends or receives, or reads and writes if nothing leaves it.
static double bytes_of(const dp_bind *b, const dp_unit *unit, int m) {
  const Dp__Instruction *in = dp_unit_at(unit, m)->instruction;
  const dp_moves *moves = dp_moves_find(in->op);
  if (!moves) return unit->transfer ? dp_transfer_bytes(unit->transfer) : 0;
  if (moves->between == DP_MOVES_HOST && !unit->n_ranges) return 0;  // another device has the same copy
  const size_t n = in->n_inputs > in->n_outputs ? in->n_inputs : in->n_outputs;
  double bytes = 0;
  for (size_t k = 0; k < n; k++)
    bytes += dp_moves_bytes(moves, unit->n_devices, bytes_on(b, in->n_inputs, in->inputs, k, unit->devices[m]),
                            bytes_on(b, in->n_outputs, in->outputs, k, unit->devices[m]));
  return bytes;
}

void dp_bind_costs(const dp_bind *b, const dp_bind *receiver, dp_unit *unit) {
  unit->costs = dp_alloc_n(b->arena, (size_t)unit->n_devices, sizeof *unit->costs);
  for (int m = 0; m < unit->n_devices; m++)
    unit->costs[m] =
        unit->kernel ? dp_kernel_cost(b->arena, unit->spec) : (dp_cost){.bytes = bytes_of(m ? receiver : b, unit, m)};
}
