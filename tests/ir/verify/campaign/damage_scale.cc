// Damages to the scale of float16's gradients: another number for the scale or its inverse, an update or the scale's
// own that is skipped by another count, gradients that are looked at before devices or micro-batches have added them
// up.
#include <cstring>

#include "tests/ir/verify/campaign/damage_kinds.h"

namespace dp_test {

namespace {

struct Operand {
  Dp__Instruction *in;      // an instruction, or a member of a region
  Dp__Instruction *region;  // that it is a member of, or NULL
  size_t k;
};

// Operands of instructions and members that the test takes: of what computes, and its number.
template <typename Test>
bool ChooseOperand(Edit &e, const Test &test, Operand *chosen) {
  std::vector<Operand> found;
  const auto look = [&](Dp__Instruction *in, Dp__Instruction *region) {
    for (size_t k = 0; k < in->n_inputs && *in->kernel + !!region; k++)
      if (in->inputs[k] && test(in, k)) found.push_back({in, region, k});
  };
  for (size_t s = 0; s < e.program->n_streams; s++)
    for (size_t i = 0; i < e.program->streams[s]->n_instructions; i++) {
      Dp__Instruction *in = e.program->streams[s]->instructions[i];
      if (!in->n_members) look(in, nullptr);
      for (size_t m = 0; m < in->n_members; m++) look(in->members[m], in);
    }
  return e.Choose(found, chosen);
}

// A region then takes it from outside.
void Replace(Edit &e, const Operand &operand, uint32_t other) {
  operand.in->inputs[operand.k] = other;
  Dp__Instruction *region = operand.region;
  if (!region || e.Reads(region, other) || e.Tensor(other)->space == DP__SPACE__INSIDE) return;
  Append(e.arena, &region->n_inputs, &region->inputs, other);
}

bool IsSkippable(const Dp__Instruction *in) {
  static const struct {
    const char *op;
    size_t operands;  // with `skip`
  } updates[] = {{"SGD", 7}, {"Adam", 8}, {"Assign", 3}};
  for (const auto &update : updates)
    if (!strcmp(in->op, update.op) && in->n_inputs == update.operands) return true;
  return false;
}

bool IsOfScale(const Edit &e, uint32_t operand) {
  const Dp__Value *value = e.Value(e.Tensor(operand));
  const bool named = !strncmp(value->name, "dp.loss_scale", 13) || !strncmp(value->name, "loss_scale/", 11);
  return named && !value->type->shape->n_dims;
}

}  // namespace

// Another number in place of the scale, its inverse, the number of steps or a count of what is not finite.
bool ScaleOther(Edit &e) {
  Operand operand;
  uint32_t other;
  const auto test = [&](const Dp__Instruction *in, size_t k) { return IsOfScale(e, in->inputs[k]); };
  if (!ChooseOperand(e, test, &operand) || !e.ChooseOther(operand.in->inputs[operand.k], true, &other)) return false;
  Replace(e, operand, other);
  return true;
}

// An update is skipped by another count: of refused data alone, or of one gradient.
bool ScaleSkip(Edit &e) {
  Operand operand;
  uint32_t other;
  bool scaled = false;
  for (size_t i = 0; i < e.plan->n_variables; i++) scaled |= !strcmp(e.plan->variables[i]->name, "dp.loss_scale");
  const auto test = [](const Dp__Instruction *in, size_t k) { return IsSkippable(in) && k + 1 == in->n_inputs; };
  if (!scaled || !ChooseOperand(e, test, &operand)) return false;
  if (!e.ChooseOther(operand.in->inputs[operand.k], true, &other)) return false;
  Replace(e, operand, other);
  return true;
}

// A gradient is looked at before it is whole.
bool ScalePart(Edit &e) {
  Operand operand;
  uint32_t other;
  const auto test = [&](const Dp__Instruction *in, size_t) {
    return in->n_outputs && in->outputs[0] && !strncmp(e.Value(e.Tensor(in->outputs[0]))->name, "loss_scale/Abs", 14);
  };
  if (!ChooseOperand(e, test, &operand)) return false;
  std::vector<uint32_t> parts;
  const uint32_t whole = operand.in->inputs[operand.k];
  for (uint32_t i = 1; i <= e.program->n_tensors; i++)
    if (i != whole && e.Tensor(i)->value == e.Tensor(whole)->value) parts.push_back(i);
  if (!e.Choose(parts, &other)) return false;
  Replace(e, operand, other);
  return true;
}

}  // namespace dp_test
