// Damages to host memory: two devices write the same bytes without being ordered.
#include <algorithm>
#include <cstring>

#include "tests/ir/verify/campaign/damage_kinds.h"

namespace dp_test {

namespace {

enum { kAlignment = 64, kReplicate = 0, kShard = 1 };

bool IsGather(const Dp__Instruction *in) { return !strcmp(in->op, "Gather") && in->n_outputs && in->outputs[0]; }

// The same program of the role under another name.
void EnterProgram(Edit &e, const std::string &name) {
  for (size_t p = 0; p < e.role->n_programs; p++)
    if (e.role->programs[p]->name == name) e.program = e.role->programs[p];
}

// What a Gather can take: on devices, of the whole batch, and not a partial sum.
bool CanBeGathered(const Edit &e, const Dp__Instruction *in) {
  if (!in->n_outputs || !in->outputs[0]) return false;
  const Dp__DeviceTensor *t = e.Tensor(in->outputs[0]);
  bool whole = (t->space == DP__SPACE__TRANSIENT || t->space == DP__SPACE__PERSISTENT) && !t->version && !t->micro;
  for (size_t a = 0; a < t->n_placements; a++)
    whole &= t->placements[a]->kind == kReplicate || t->placements[a]->kind == kShard;
  return whole;
}

uint64_t WholeBytes(const Edit &e, const Dp__DeviceTensor *t) {
  const Dp__TensorType *type = e.Value(t)->type;
  const uint64_t element = type->dtype == DP_FLOAT32 || type->dtype == DP_INT32 ? 4 : type->dtype == DP_BOOL ? 1 : 8;
  uint64_t bytes = element;
  for (size_t i = 0; i < type->shape->n_dims; i++)
    bytes *= static_cast<uint64_t>(type->shape->dims[i]->offset + type->shape->dims[i]->scale * e.plan->batch);
  return bytes;
}

// Adds a Gather after the instruction at `spot`. It writes that instruction's result to host bytes that overlap those
// of `victim`.
void GatherOnto(Edit &e, Spot spot, const Dp__DeviceTensor *victim) {
  const uint32_t operand = e.At(spot)->outputs[0], result = e.Clone(operand);
  Dp__DeviceTensor *t = e.Tensor(result);
  for (size_t a = 0; a < t->n_placements; a++) *t->placements[a] = DP__PLACEMENT__INIT;
  t->space = DP__SPACE__HOST_OUTPUT;
  t->bytes = WholeBytes(e, t);
  const uint64_t most = std::min(victim->offset, (t->bytes - 1) / kAlignment * kAlignment) / kAlignment;
  t->offset = victim->offset - e.UpTo(most + 1) * kAlignment;
  auto *gather = e.New(dp__instruction__init);
  gather->op = e.Keep("Gather");
  gather->domain = e.Keep("dp");
  Append(e.arena, &gather->n_inputs, &gather->inputs, operand);
  Append(e.arena, &gather->n_outputs, &gather->outputs, result);
  e.Insert({spot.stream, spot.at + 1}, gather);
  for (size_t r = 0; r < e.plan->n_roles; r++)
    for (size_t i = 0; i < e.plan->roles[r]->n_arenas; i++) {
      Dp__Arena *arena = e.plan->roles[r]->arenas[i];
      if (arena->space == DP__SPACE__HOST_OUTPUT) arena->bytes = std::max(arena->bytes, t->offset + t->bytes);
    }
}

}  // namespace

// Writes another value over the bytes of an output, before the output is written. The order is fixed on each device,
// but not between two devices.
bool HostBefore(Edit &e) {
  if (e.OneIn(2)) EnterProgram(e, "infer");
  Dp__Instruction *gather;
  Spot at, maker;
  if (!e.ChooseWhere(IsGather, &gather, &at)) return false;
  std::vector<Spot> makers;
  for (const Spot &s : e.Where([&](const Dp__Instruction *in) { return CanBeGathered(e, in); }))
    if (e.Follows(s, at)) makers.push_back(s);
  if (!e.Choose(makers, &maker)) return false;
  GatherOnto(e, maker, e.Tensor(gather->outputs[0]));
  return true;
}

// Another stage writes over the bytes of an output.
bool HostStage(Edit &e) {
  if (e.plan->n_roles < 2) return false;
  if (e.OneIn(2)) EnterProgram(e, "infer");
  Dp__Instruction *gather, *maker;
  Spot spot;
  if (!e.ChooseWhere(IsGather, &gather)) return false;
  const Dp__DeviceTensor *victim = e.Tensor(gather->outputs[0]);
  e.Enter((e.RoleIndex() + 1 + e.UpTo(e.plan->n_roles - 1)) % e.plan->n_roles);
  if (!e.ChooseWhere([&](const Dp__Instruction *in) { return CanBeGathered(e, in); }, &maker, &spot)) return false;
  GatherOnto(e, spot, victim);
  return true;
}

// Writes an output where inputs are, or reads an input where outputs are.
bool HostSpace(Edit &e) {
  Dp__Instruction *in;
  auto either = [&](const Dp__Instruction *is) { return IsGather(is) || !strcmp(is->op, "Scatter"); };
  if (!e.ChooseWhere(either, &in)) return false;
  uint32_t *operand = IsGather(in) ? &in->outputs[0] : &in->inputs[0];
  *operand = e.Clone(*operand);
  Dp__DeviceTensor *t = e.Tensor(*operand);
  t->space = IsGather(in) ? DP__SPACE__HOST_INPUT : DP__SPACE__HOST_OUTPUT;
  return t->offset + t->bytes <= e.ArenaBytes(t->space);
}

}  // namespace dp_test
