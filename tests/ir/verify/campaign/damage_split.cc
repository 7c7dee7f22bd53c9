// Damages to splits: the axis, each device's part of a value, what is whole and what is a part, and whose part an
// update changes. Most of them damage the instruction together with what its tensors declare, so that the plan is
// consistent but wrong.
#include <algorithm>
#include <cstring>

#include "tests/ir/verify/campaign/damage_kinds.h"

namespace dp_test {

namespace {

bool Is(const Dp__Instruction *in, const char *op) { return !strcmp(in->op, op); }
bool IsSplitOrJoin(const Dp__Instruction *in) { return IsCollective(in) || Is(in, "Slice"); }
bool IsOfClip(const Edit &e, uint32_t operand) { return !strncmp(e.Value(e.Tensor(operand))->name, "clip", 4); }
bool IsUpdate(const Dp__Instruction *in) { return Is(in, "SGD") || Is(in, "Adam"); }

// The first axis of the instruction's communication; false if there is none.
bool AxisOf(const Dp__Instruction *in, uint32_t *axis) {
  if (!in->communication || !in->communication->n_axes) return false;
  *axis = in->communication->axes[0];
  return true;
}

// Moves the instruction to another axis, with its own attribute and communication.
void TurnTo(Edit &e, Dp__Instruction *in, uint32_t axis) {
  in->attributes =
      static_cast<Dp__Attribute **>(dp_memdup(e.arena, in->attributes, in->n_attributes * sizeof *in->attributes));
  in->attributes[0] = static_cast<Dp__Attribute *>(dp_memdup(e.arena, in->attributes[0], sizeof(Dp__Attribute)));
  in->attributes[0]->s = e.plan->mesh[axis]->name;
  in->communication =
      static_cast<Dp__Communication *>(dp_memdup(e.arena, in->communication, sizeof(Dp__Communication)));
  in->communication->axes =
      static_cast<uint32_t *>(dp_memdup(e.arena, in->communication->axes, sizeof *in->communication->axes));
  in->communication->axes[0] = axis;
}

bool OtherAxis(Edit &e, uint32_t axis, uint32_t *other) {
  if (e.plan->n_mesh < 2) return false;
  *other = static_cast<uint32_t>((axis + 1 + e.UpTo(e.plan->n_mesh - 1)) % e.plan->n_mesh);
  return true;
}

using Change = std::function<void(Dp__Placement **)>;

// Changes one operand of one instruction, or all device tensors of its value in the program.
void ChangeClaims(Edit &e, uint32_t *operand, bool everywhere, const Change &change) {
  if (!everywhere) {
    *operand = e.Clone(*operand);
    return change(e.Tensor(*operand)->placements);
  }
  const uint32_t value = e.Tensor(*operand)->value;
  for (uint32_t i = 1; i <= e.program->n_tensors; i++) {
    const Dp__DeviceTensor *t = e.Tensor(i);
    if (t->value == value && (t->space == DP__SPACE__TRANSIENT || t->space == DP__SPACE__PERSISTENT))
      change(t->placements);
  }
}

void MakeWhole(Dp__Placement *p) {
  p->kind = 0;
  p->dim = 0;
  p->outer = p->unit = 0;
  p->reduction = 0;
}

// Redirects all readers of one tensor to another.
void Redirect(Edit &e, uint32_t from, uint32_t to) {
  for (const Spot &s : e.Where([&](const Dp__Instruction *in) { return e.Reads(in, from); }))
    for (size_t i = 0; i < e.At(s)->n_inputs; i++)
      if (e.At(s)->inputs[i] == from) e.At(s)->inputs[i] = to;
}

void RemovePair(Edit &e, Spot spot, size_t k) {
  Dp__Instruction *in = e.At(spot);
  if (in->n_inputs == 1) return e.TakeOut(spot);
  Remove(&in->n_inputs, in->inputs, k);
  Remove(&in->n_outputs, in->outputs, k);
}

}  // namespace

// ---- axes -----------------------------------------------------------------------------------------------------------

// Reduces over another axis, and declares operands and results accordingly: only the instruction's, or everywhere.
bool AxisSwapped(Edit &e) {
  Dp__Instruction *in;
  uint32_t axis, other;
  if (!e.ChooseWhere(IsReduction, &in) || !AxisOf(in, &axis) || !OtherAxis(e, axis, &other)) return false;
  TurnTo(e, in, other);
  auto swap = [&](Dp__Placement **at) { std::swap(at[axis], at[other]); };
  size_t k = e.UpTo(in->n_inputs);
  bool everywhere = e.OneIn(2);
  ChangeClaims(e, &in->inputs[k], everywhere, swap);
  if (!everywhere) ChangeClaims(e, &in->outputs[k], false, swap);
  return true;
}

// Sums over an axis again, or over one on which the parts are equal.
bool AxisTwice(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  uint32_t axis;
  if (!e.ChooseWhere([](const Dp__Instruction *is) { return Is(is, "AllReduce"); }, &in, &spot)) return false;
  if (!AxisOf(in, &axis)) return false;
  Dp__Instruction *again = e.CloneInstruction(in);
  const size_t k = e.UpTo(in->n_inputs);
  const uint32_t over = static_cast<uint32_t>(e.UpTo(e.plan->n_mesh));
  if (e.Tensor(in->outputs[k])->placements[over]->kind != DP_REPLICATE) return false;
  TurnTo(e, again, over);
  again->n_inputs = again->n_outputs = 1;
  again->inputs[0] = e.Clone(in->outputs[k]);
  again->outputs[0] = in->outputs[k];
  if (e.OneIn(2)) {
    e.Tensor(again->inputs[0])->placements[over]->kind = DP_PARTIAL;
    e.Tensor(again->inputs[0])->placements[over]->reduction = in->communication->reduction;
  }
  std::swap(again->signal, in->signal);
  e.Insert({spot.stream, spot.at + 1}, again);
  return true;
}

namespace {

// Drops a reduction and declares its operand to be whole, for its readers or everywhere.
bool TakePartial(Edit &e, Spot spot, size_t k) {
  Dp__Instruction *in = e.At(spot);
  uint32_t axis, from = in->inputs[k], to = in->outputs[k];
  if (!AxisOf(in, &axis) || !Is(in, "AllReduce")) return false;
  RemovePair(e, spot, k);
  uint32_t taken = e.OneIn(2) ? e.Clone(from) : from;
  MakeWhole(e.Tensor(taken)->placements[axis]);
  Redirect(e, to, taken);
  return true;
}

}  // namespace

bool PartialTaken(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  return e.ChooseWhere(IsReduction, &in, &spot) && TakePartial(e, spot, e.UpTo(in->n_inputs));
}

// Clips by the norm of one device's part of the gradients.
bool NormPart(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  auto clips = [&](const Dp__Instruction *is) { return IsReduction(is) && IsOfClip(e, is->inputs[0]); };
  return e.ChooseWhere(clips, &in, &spot) && TakePartial(e, spot, e.UpTo(in->n_inputs));
}

// ---- parts ----------------------------------------------------------------------------------------------------------

// Uses a device's part instead of the whole, with or without declaring it whole.
bool GatherDropped(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  uint32_t axis;
  if (!e.ChooseWhere([](const Dp__Instruction *is) { return Is(is, "AllGather"); }, &in, &spot)) return false;
  if (!AxisOf(in, &axis)) return false;
  uint32_t from = in->inputs[0], to = in->outputs[0], taken = e.Clone(from);
  const uint64_t bytes = e.Tensor(to)->bytes;
  e.TakeOut(spot);
  if (e.OneIn(2)) {
    MakeWhole(e.Tensor(taken)->placements[axis]);
    if (e.Tensor(taken)->offset + bytes <= e.ArenaBytes(static_cast<int>(e.Tensor(taken)->space)))
      e.Tensor(taken)->bytes = bytes;
  }
  Redirect(e, to, taken);
  return true;
}

namespace {

// A tensor of the instruction that is split on some axis: the location of its index, and the axis.
uint32_t *ChooseSplit(Edit &e, Dp__Instruction *in, uint32_t *axis) {
  std::vector<std::pair<uint32_t *, uint32_t>> all;
  for (size_t k = 0; k < in->n_inputs + in->n_outputs; k++) {
    uint32_t *operand = k < in->n_inputs ? &in->inputs[k] : &in->outputs[k - in->n_inputs];
    for (uint32_t a = 0; *operand && a < e.plan->n_mesh; a++)
      if (e.Tensor(*operand)->placements[a]->kind == DP_SHARD) all.push_back({operand, a});
  }
  std::pair<uint32_t *, uint32_t> one;
  if (!e.Choose(all, &one)) return nullptr;
  *axis = one.second;
  return one.first;
}

bool HasSplit(const Edit &e, const Dp__Instruction *in) {
  for (size_t k = 0; k < in->n_inputs + in->n_outputs; k++) {
    uint32_t operand = k < in->n_inputs ? in->inputs[k] : in->outputs[k - in->n_inputs];
    for (uint32_t a = 0; operand && a < e.plan->n_mesh; a++)
      if (e.Tensor(operand)->placements[a]->kind == DP_SHARD) return true;
  }
  return false;
}

// Bytes of `unit` indices in the split dim.
uint64_t StepBytes(const Edit &e, const Dp__DeviceTensor *t, const Dp__Placement *split, bool whole_unit) {
  const Dp__Shape *shape = e.Value(t)->type->shape;
  int64_t bytes = static_cast<int64_t>(dp_type_bytes(static_cast<dp_dtype>(t->dtype)));
  for (size_t i = split->dim + 1; i < shape->n_dims; i++)
    bytes *= std::max<int64_t>(shape->dims[i]->offset + shape->dims[i]->scale * e.plan->batch, 1);
  return static_cast<uint64_t>(bytes * (whole_unit ? split->unit : 1));
}

}  // namespace

// Starts a part that is split or concatenated one row, or one unit, too late or too early.
bool ShardRow(Edit &e) {
  Dp__Instruction *in;
  uint32_t axis;
  auto splits = [&](const Dp__Instruction *is) { return (IsSplitOrJoin(is) || IsUpdate(is)) && HasSplit(e, is); };
  if (!e.ChooseWhere(splits, &in)) return false;
  uint32_t *split = ChooseSplit(e, in, &axis);
  const uint64_t step = StepBytes(e, e.Tensor(*split), e.Tensor(*split)->placements[axis], e.OneIn(2));
  size_t k = e.UpTo(in->n_inputs + in->n_outputs);
  uint32_t *operand = IsUpdate(in) ? split : k < in->n_inputs ? &in->inputs[k] : &in->outputs[k - in->n_inputs];
  *operand = e.Clone(*operand);
  Dp__DeviceTensor *t = e.Tensor(*operand);
  t->offset += e.OneIn(2) && t->offset >= step ? -step : step;
  return true;
}

// Views the split dim differently, as other blocks or units, for one tensor, for the whole value, or for everything
// that is split like it, including storage.
bool ShardView(Edit &e) {
  Dp__Instruction *in;
  uint32_t axis;
  if (!e.ChooseWhere([&](const Dp__Instruction *is) { return HasSplit(e, is); }, &in)) return false;
  uint32_t *operand = ChooseSplit(e, in, &axis);
  const Dp__Placement was = *e.Tensor(*operand)->placements[axis];
  const int64_t extent = e.Value(e.Tensor(*operand))->type->shape->dims[was.dim]->offset;
  std::vector<std::pair<int64_t, int64_t>> views;
  for (int64_t outer = 1; outer <= std::max<int64_t>(extent, 2); outer++)
    for (int64_t unit = 1; outer * unit <= std::max<int64_t>(extent, 2); unit++)
      if (extent % (outer * unit) == 0 && (outer != was.outer || unit != was.unit)) views.push_back({outer, unit});
  std::pair<int64_t, int64_t> view;
  if (!e.Choose(views, &view)) return false;
  auto turn = [&](Dp__Placement **at) {
    for (size_t a = 0; a < e.plan->n_mesh; a++)
      if (at[a]->kind == DP_SHARD && at[a]->dim == was.dim && at[a]->outer == was.outer && at[a]->unit == was.unit) {
        at[a]->outer = view.first;
        at[a]->unit = view.second;
      }
  };
  size_t how = e.UpTo(8);
  ChangeClaims(e, operand, how > 3, turn);
  return true;
}

// Splits along another axis.
bool ShardAxis(Edit &e) {
  Dp__Instruction *in;
  uint32_t axis, other;
  if (!e.ChooseWhere([&](const Dp__Instruction *is) { return HasSplit(e, is); }, &in)) return false;
  uint32_t *operand = ChooseSplit(e, in, &axis);
  if (!OtherAxis(e, axis, &other)) return false;
  ChangeClaims(e, operand, e.OneIn(2), [&](Dp__Placement **at) { std::swap(at[axis], at[other]); });
  return true;
}

// ---- updates of parts -----------------------------------------------------------------------------------------------

// Updates the first part of a value on every device: reads it where the whole is.
bool UpdateShard(Edit &e) {
  Dp__Instruction *update, *slice;
  if (!e.ChooseWhere([&](const Dp__Instruction *in) { return IsUpdate(in) && HasSplit(e, in); }, &update)) return false;
  uint32_t &operand = update->inputs[e.UpTo(update->n_inputs)];
  if (!operand) return false;
  auto gives = [&](const Dp__Instruction *in) { return Is(in, "Slice") && e.Writes(in, operand); };
  if (!e.ChooseWhere(gives, &slice)) return false;
  const Dp__DeviceTensor *whole = e.Tensor(slice->inputs[0]);
  operand = e.Clone(operand);
  e.Tensor(operand)->space = whole->space;
  e.Tensor(operand)->offset = whole->offset;
  return true;
}

// Makes an update use another parameter's state: its tensors, or its own ones declared at the other's bytes.
bool UpdateState(Edit &e) {
  Dp__Instruction *a, *b;
  if (!e.ChooseWhere(IsUpdate, &a) || !e.ChooseWhere(IsUpdate, &b) || a == b || !Is(a, b->op)) return false;
  std::vector<size_t> states;
  for (size_t k = 1; k < std::min(a->n_outputs, b->n_outputs); k++)
    if (a->outputs[k] && b->outputs[k]) states.push_back(k);
  size_t k;
  if (!e.Choose(states, &k) || a->n_inputs <= k || b->n_inputs <= k || !a->inputs[k] || !b->inputs[k]) return false;
  if (e.OneIn(2)) {
    std::swap(a->inputs[k], b->inputs[k]);
    std::swap(a->outputs[k], b->outputs[k]);
    return true;
  }
  const uint64_t offset = e.Tensor(b->inputs[k])->offset;
  for (uint32_t operand : {a->inputs[k], a->outputs[k]}) e.Tensor(operand)->offset = offset;
  return true;
}

namespace {

uint32_t EventOf(Edit &e, Dp__Instruction *in) {
  if (!in->signal) in->signal = ++e.program->events;
  return in->signal - 1;
}

}  // namespace

// Gathers a parameter's parts just before the update. The order is correct, but the values are old.
bool StaleGathered(Edit &e) {
  Dp__Instruction *update, *gather;
  Spot at, spot;
  if (!e.ChooseWhere(IsUpdate, &update, &at) || !at.at || !update->inputs[0]) return false;
  auto gathers = [&](const Dp__Instruction *in) {
    return (Is(in, "AllGather") || Is(in, "Slice")) && in->inputs[0] == update->outputs[0];
  };
  if (!e.ChooseWhere(gathers, &gather, &spot)) return false;
  if (e.OneIn(2)) gather->inputs[0] = update->inputs[0];
  gather->n_waits = 0;
  if (spot.stream == at.stream) {
    e.Move(spot, at.at);
    return true;
  }
  for (size_t w = 0; w < update->n_waits; w++) e.AddWait(gather, update->waits[w]);
  e.AddWait(gather, EventOf(e, e.At({at.stream, at.at - 1})));
  e.AddWait(update, EventOf(e, gather));
  return true;
}

}  // namespace dp_test
