// Describes to a kernel the operands and results of its instruction, and of a region also the members and the values
// inside.
#include <string.h>

#include "runtime/bind/bind.h"

static void add_slots(dp_bind *b, size_t count, const uint32_t *operands) {
  for (size_t i = 0; i < count; i++, b->n_values++) {
    if (!operands[i]) continue;
    b->slots[b->n_values] = operands[i] - 1;
    b->slot_of[operands[i] - 1] = (uint32_t)b->n_values + 1;
  }
}

static const int32_t *slots_of(const dp_bind *b, size_t count, const uint32_t *operands) {
  int32_t *slots = dp_alloc_n(b->arena, count, sizeof *slots);
  for (size_t i = 0; i < count; i++) slots[i] = operands[i] ? (int32_t)b->slot_of[operands[i] - 1] - 1 : -1;
  return slots;
}

static void forget_slots(const dp_bind *b, size_t count, const uint32_t *operands) {
  for (size_t i = 0; i < count; i++)
    if (operands[i]) b->slot_of[operands[i] - 1] = 0;
}

static void add_members(dp_bind *b, const dp_node *node, const Dp__Instruction *in) {
  dp_kernel_member *members = dp_alloc_n(b->arena, in->n_members, sizeof *members);
  for (size_t m = 0; m < in->n_members; m++) {
    const Dp__Instruction *member = in->members[m];
    for (size_t k = 0; k < member->n_outputs; k++)
      if (member->outputs[k] && !b->slot_of[member->outputs[k] - 1]) add_slots(b, 1, &member->outputs[k]);
    const dp_node *carrier = node->body->nodes[m];
    members[m] = (dp_kernel_member){.op = carrier->op,
                                    .node = carrier,
                                    .n_inputs = (int)member->n_inputs,
                                    .n_outputs = (int)member->n_outputs,
                                    .inputs = slots_of(b, member->n_inputs, member->inputs),
                                    .outputs = slots_of(b, member->n_outputs, member->outputs)};
  }
  b->members = members;
  b->n_members = (int)in->n_members;
}

static void add_region(dp_bind *b, const dp_node *node, const Dp__Instruction *in) {
  if (!b->slot_of) b->slot_of = dp_alloc_n(b->arena, b->program->n_tensors, sizeof *b->slot_of);
  b->n_values = 0;
  add_slots(b, in->n_inputs, in->inputs);
  add_slots(b, in->n_outputs, in->outputs);
  add_members(b, node, in);
  forget_slots(b, in->n_inputs, in->inputs);
  for (size_t m = 0; m < in->n_members; m++) forget_slots(b, in->members[m]->n_outputs, in->members[m]->outputs);
}

void dp_bind_values(dp_bind *b, const dp_node *node, const Dp__Instruction *in) {
  b->n_values = in->n_inputs + in->n_outputs;
  size_t most = b->n_values;
  for (size_t m = 0; m < in->n_members; m++) most += in->members[m]->n_outputs;
  b->members = NULL;
  b->n_members = 0;
  b->slots = dp_alloc_n(b->arena, most, sizeof *b->slots);
  if (in->n_members) add_region(b, node, in);
  b->room = dp_alloc_n(b->arena, b->n_values, sizeof *b->room);
}
