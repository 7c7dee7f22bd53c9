// See cost.h.
#include "ir/kernel/cost.h"

#include "ir/kernel/member.h"

static dp_value **values_of(dp_arena *arena, int count, const dp_kernel_operand *operands) {
  dp_value **values = dp_alloc_n(arena, (size_t)count, sizeof *values);
  for (int i = 0; i < count; i++) {
    if (!operands[i].present) continue;
    const dp_local *local = &operands[i].local;
    dp_type *type = dp_alloc(arena, sizeof *type);
    type->dtype = operands[i].dtype;
    type->shape.rank = local->rank;
    for (int d = 0; d < local->rank; d++) type->shape.dims[d] = dp_dim_of(local->extents[d]);
    values[i] = dp_alloc(arena, sizeof **values);
    values[i]->type = type;
  }
  return values;
}

// Of a node with the device's extents as its own, which depend on no n any more.
static dp_cost cost_of_node(dp_arena *arena, const dp_kernel_spec *spec) {
  dp_node node = *spec->node;
  node.n_inputs = spec->n_inputs;
  node.n_outputs = spec->n_outputs;
  node.inputs = values_of(arena, spec->n_inputs, spec->inputs);
  node.outputs = values_of(arena, spec->n_outputs, spec->outputs);
  return dp_op_cost(&node, 0);
}

static double bytes_of(int count, const dp_kernel_operand *operands) {
  double bytes = 0;
  for (int i = 0; i < count; i++)
    if (operands[i].present)
      bytes += (double)dp_local_count(&operands[i].local) * (double)dp_type_bytes(operands[i].dtype);
  return bytes;
}

dp_cost dp_kernel_cost(dp_arena *arena, const dp_kernel_spec *spec) {
  if (!spec->region) return cost_of_node(arena, spec);
  dp_cost cost = {.bytes = bytes_of(spec->n_inputs, spec->inputs) + bytes_of(spec->n_outputs, spec->outputs)};
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    cost.flops += cost_of_node(arena, &member.spec).flops;
  }
  return cost;
}
