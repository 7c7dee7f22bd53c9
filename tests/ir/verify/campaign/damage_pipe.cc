// Damages to micro-batches and pipelines: what is accumulated, what stages send each other, what is on which stage.
#include <algorithm>
#include <cstring>
#include <set>

#include "tests/ir/verify/campaign/damage_kinds.h"

namespace dp_test {

namespace {

enum { kAlignment = 64 };

bool Is(const Dp__Instruction *in, const char *op) { return !strcmp(in->op, op); }
bool IsAccumulate(const Dp__Instruction *in) { return Is(in, "Accumulate"); }
bool IsTransfer(const Dp__Instruction *in) { return Is(in, "Send") || Is(in, "Recv"); }
bool OnDevice(const Dp__DeviceTensor *t) {
  return t->space == DP__SPACE__TRANSIENT || t->space == DP__SPACE__PERSISTENT;
}
bool IsOf(const Dp__DeviceTensor *t, uint32_t micro) {
  return t->micro && t->micro->count == 1 && t->micro->first == micro;
}

// Redirects all readers of one tensor to another.
void Redirect(Edit &e, uint32_t from, uint32_t to, const Dp__Instruction *but = nullptr) {
  for (const Spot &s : e.Where([&](const Dp__Instruction *in) { return in != but && e.Reads(in, from); }))
    for (size_t i = 0; i < e.At(s)->n_inputs; i++)
      if (e.At(s)->inputs[i] == from) e.At(s)->inputs[i] = to;
}

// Declares that one tensor is at the bytes of another.
uint32_t SayItIs(Edit &e, uint32_t bytes_of, uint32_t claims_of) {
  uint32_t lie = e.Clone(claims_of);
  const Dp__DeviceTensor *t = e.Tensor(bytes_of);
  e.Tensor(lie)->space = t->space;
  e.Tensor(lie)->offset = t->offset;
  e.Tensor(lie)->bytes = t->bytes;
  return lie;
}

// Another tensor of the same size and element type.
bool ChooseAlike(Edit &e, uint32_t operand, const std::function<bool(const Dp__DeviceTensor *)> &test,
                 uint32_t *other) {
  std::vector<uint32_t> others;
  const Dp__DeviceTensor *is = e.Tensor(operand);
  for (uint32_t i = 1; i <= e.program->n_tensors; i++) {
    const Dp__DeviceTensor *t = e.Tensor(i);
    if (i != operand && OnDevice(t) && t->bytes == is->bytes && t->dtype == is->dtype && test(t)) others.push_back(i);
  }
  return e.Choose(others, other);
}

}  // namespace

// ---- micro-batches --------------------------------------------------------------------------------------------------

// Uses one of two pieces twice.
bool MicroDropped(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  if (!e.ChooseWhere(IsAccumulate, &in, &spot)) return false;
  uint32_t kept = in->inputs[e.UpTo(2)], both = in->outputs[0];
  e.TakeOut(spot);
  Redirect(e, both, e.OneIn(2) ? kept : SayItIs(e, kept, both));
  return true;
}

namespace {

// In one role: drops everything that is done for one micro-batch.
void TakeOutMicro(Edit &e, uint32_t micro) {
  std::set<uint32_t> gone;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Spot &s : e.Where([](const Dp__Instruction *) { return true; })) {
      Dp__Instruction *in = e.At(s);
      bool out = in->n_outputs && !IsAccumulate(in);
      for (size_t k = 0; k < in->n_outputs; k++) out &= in->outputs[k] && IsOf(e.Tensor(in->outputs[k]), micro);
      if (Is(in, "Send")) out = in->inputs[0] && IsOf(e.Tensor(in->inputs[0]), micro);
      size_t missing = 0, k = 0;
      for (size_t i = 0; IsAccumulate(in) && i < 2; i++)
        if (gone.count(in->inputs[i]) || IsOf(e.Tensor(in->inputs[i]), micro)) missing++, k = 1 - i;
      if (!out && !missing) continue;
      uint32_t result = in->n_outputs ? in->outputs[0] : 0, kept = missing == 1 ? in->inputs[k] : 0;
      e.TakeOut(s);
      if (kept)
        Redirect(e, result, SayItIs(e, kept, result));
      else
        gone.insert(result);
      changed = true;
      break;
    }
  }
}

}  // namespace

// Drops everything that is done for one micro-batch, on all stages.
bool MicroChain(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsAccumulate, &in)) return false;
  const Dp__DeviceTensor *piece = e.Tensor(in->inputs[1]);
  if (!piece->micro) return false;
  const uint32_t micro = piece->micro->first;
  const size_t role = e.RoleIndex();
  for (size_t r = 0; r < e.plan->n_roles; r++) {
    e.Enter(r);
    TakeOutMicro(e, micro);
  }
  e.Enter(role);
  return true;
}

// Takes a piece again, or another piece of the sum instead of the next one.
bool MicroDoubled(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsAccumulate, &in)) return false;
  uint32_t &piece = in->inputs[1], other = in->inputs[0];
  const uint32_t value = e.Tensor(piece)->value;
  auto same = [&](const Dp__DeviceTensor *t) { return t->value == value && t->micro; };
  if (e.OneIn(2) && !ChooseAlike(e, piece, same, &other)) return false;
  if (e.Tensor(other)->bytes != e.Tensor(piece)->bytes) return false;
  piece = e.OneIn(2) ? other : SayItIs(e, other, piece);
  return true;
}

// Two accumulations exchange pieces.
bool MicroCrossed(Edit &e) {
  Dp__Instruction *a, *b;
  if (!e.ChooseWhere(IsAccumulate, &a) || !e.ChooseWhere(IsAccumulate, &b) || a == b) return false;
  uint32_t x = a->inputs[1], y = b->inputs[1];
  if (e.Tensor(x)->bytes != e.Tensor(y)->bytes) return false;
  bool say = e.OneIn(2);
  a->inputs[1] = say ? SayItIs(e, y, x) : y;
  b->inputs[1] = say ? SayItIs(e, x, y) : x;
  return true;
}

// Concatenates a piece before it exists.
bool MicroEarly(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  if (!e.ChooseWhere(IsAccumulate, &in, &spot)) return false;
  for (size_t i = spot.at; i-- > 0;)
    if (e.Writes(e.At({spot.stream, i}), in->inputs[1])) {
      e.Move(spot, i);
      return true;
    }
  if (!in->n_waits) return false;
  in->n_waits = 0;
  return true;
}

// Declares that a tensor belongs to a neighbouring micro-batch, or to one more or fewer, in one use or everywhere.
bool MicroSet(Edit &e) {
  Dp__Instruction *in;
  auto has = [&](uint32_t operand) { return operand && e.Tensor(operand)->micro && e.Tensor(operand)->micro->count; };
  auto any = [&](const Dp__Instruction *is) {
    for (size_t i = 0; i < is->n_inputs; i++)
      if (has(is->inputs[i])) return true;
    return is->n_outputs && has(is->outputs[0]);
  };
  if (!e.ChooseWhere(any, &in)) return false;
  std::vector<uint32_t *> operands;
  for (size_t i = 0; i < in->n_inputs; i++)
    if (has(in->inputs[i])) operands.push_back(&in->inputs[i]);
  for (size_t i = 0; i < in->n_outputs; i++)
    if (has(in->outputs[i])) operands.push_back(&in->outputs[i]);
  uint32_t *operand;
  if (!e.Choose(operands, &operand)) return false;
  if (e.OneIn(2)) *operand = e.Clone(*operand);
  Dp__MicroSet *set = e.Tensor(*operand)->micro;
  switch (e.UpTo(6)) {
    case 0:
      set->count++;
      return true;
    case 1:
      set->count--;
      return true;
    case 2:
    case 3:
      set->first++;
      return true;
    default:
      if (set->first)
        set->first--;
      else
        set->first = set->of - 1;
      return true;
  }
}

// Uses the sum over some micro-batches instead of over all.
bool MicroUpdate(Edit &e) {
  Dp__Instruction *in;
  auto last = [&](const Dp__Instruction *is) {
    const Dp__DeviceTensor *t = IsAccumulate(is) ? e.Tensor(is->outputs[0]) : nullptr;
    return t && (!t->micro || !t->micro->count);
  };
  if (!e.ChooseWhere(last, &in)) return false;
  uint32_t some = in->inputs[e.UpTo(2)], all = in->outputs[0];
  if (e.Tensor(some)->offset == e.Tensor(all)->offset && e.Tensor(some)->space == e.Tensor(all)->space) return false;
  Redirect(e, all, e.OneIn(2) ? some : SayItIs(e, some, all), in);
  return true;
}

// Makes an instruction take one micro-batch for the whole batch, and divide accordingly.
bool MicroWhole(Edit &e) {
  Dp__Instruction *in;
  auto of = [&](uint32_t operand) { return operand && e.Tensor(operand)->micro && e.Tensor(operand)->micro->count; };
  auto takes = [&](const Dp__Instruction *is) { return *is->kernel && is->n_inputs && of(is->inputs[0]); };
  if (!e.ChooseWhere(takes, &in)) return false;
  for (size_t k = 0; k < in->n_inputs + in->n_outputs; k++) {
    uint32_t &operand = k < in->n_inputs ? in->inputs[k] : in->outputs[k - in->n_inputs];
    if (!of(operand) || (k >= in->n_inputs && e.OneIn(3))) continue;
    operand = e.Clone(operand);
    Dp__DeviceTensor *t = e.Tensor(operand);
    for (size_t a = 0; a < e.plan->n_mesh; a++) {
      if (strcmp(e.plan->mesh[a]->name, "micro")) continue;
      if (t->placements[a]->kind == DP_SHARD) t->bytes *= static_cast<uint64_t>(e.plan->mesh[a]->size);
      dp__placement__init(t->placements[a]);
    }
    t->micro = nullptr;
    t->bytes = std::min(t->bytes, e.ArenaBytes(static_cast<int>(t->space)) - t->offset);
  }
  return true;
}

// ---- transfers ------------------------------------------------------------------------------------------------------

namespace {

void SetChannel(Edit &e, Dp__Instruction *in, uint32_t channel) {
  in->communication->channel = channel;
  for (size_t i = 0; i < in->n_attributes; i++)
    if (!strcmp(in->attributes[i]->name, "channel")) {
      in->attributes[i] = static_cast<Dp__Attribute *>(dp_memdup(e.arena, in->attributes[i], sizeof(Dp__Attribute)));
      in->attributes[i]->i = channel;
    }
}

bool Send(const Dp__Instruction *in) { return Is(in, "Send"); }
bool Recv(const Dp__Instruction *in) { return Is(in, "Recv"); }

}  // namespace

// Sends another value, declared as what it is or as what is expected.
bool TransferValue(Edit &e) {
  Dp__Instruction *in;
  uint32_t other;
  if (!e.ChooseWhere(Send, &in)) return false;
  auto any = [](const Dp__DeviceTensor *) { return true; };
  if (!ChooseAlike(e, in->inputs[0], any, &other)) return false;
  in->inputs[0] = e.OneIn(2) ? other : SayItIs(e, other, in->inputs[0]);
  return true;
}

// Sends the value of another micro-batch, or declares that the received one belongs to another.
bool TransferMicro(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsTransfer, &in)) return false;
  uint32_t &operand = Send(in) ? in->inputs[0] : in->outputs[0], other;
  const Dp__DeviceTensor *is = e.Tensor(operand);
  auto differs = [&](const Dp__DeviceTensor *t) {
    return t->value == is->value && t->micro && is->micro && t->micro->first != is->micro->first;
  };
  if (!ChooseAlike(e, operand, differs, &other)) return false;
  operand = other;
  return true;
}

// Two Sends, or two Recvs, exchange channels.
bool TransferCrossed(Edit &e) {
  Dp__Instruction *a, *b;
  if (!e.ChooseWhere(IsTransfer, &a) || !e.ChooseWhere(IsTransfer, &b) || a == b || !Is(a, b->op)) return false;
  const uint32_t x = a->communication->channel, y = b->communication->channel;
  SetChannel(e, a, y);
  SetChannel(e, b, x);
  return true;
}

// Drops one end, or both.
bool TransferDropped(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  if (!e.ChooseWhere(IsTransfer, &in, &spot)) return false;
  const uint32_t channel = in->communication->channel;
  const size_t role = e.RoleIndex();
  e.TakeOut(spot);
  if (!e.OneIn(3)) return true;
  for (size_t r = 0; r < e.plan->n_roles; r++) {
    e.Enter(r);
    auto end = [&](const Dp__Instruction *is) { return IsTransfer(is) && is->communication->channel == channel; };
    if (e.ChooseWhere(end, &in, &spot)) e.TakeOut(spot);
  }
  e.Enter(role);
  return true;
}

// Sends to, or receives from, another stage.
bool TransferPeer(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsTransfer, &in) || !in->communication->n_peer) return false;
  Dp__PeerExpression *peer = in->communication->peer[0];
  switch (e.UpTo(4)) {
    case 0:
      peer->scale = 0;
      return true;
    case 1:
      peer->axis = static_cast<uint32_t>((peer->axis + 1) % e.plan->n_mesh);
      return true;
    default:
      peer->offset += e.OneIn(2) ? 1 : -1;
  }
  for (size_t i = 0; i < in->n_attributes && e.OneIn(2); i++)
    if (!strcmp(in->attributes[i]->name, "peer")) in->attributes[i]->i += 1;
  return true;
}

// Two ends exchange places, with or without their waits and signals.
bool TransferOrder(Edit &e) {
  Dp__Instruction *a, *b;
  Spot x, y;
  if (!e.ChooseWhere(IsTransfer, &a, &x) || !e.ChooseWhere(IsTransfer, &b, &y) || a == b || !Is(a, b->op)) return false;
  if (e.OneIn(2)) {
    std::swap(a->n_waits, b->n_waits);
    std::swap(a->waits, b->waits);
    std::swap(a->signal, b->signal);
  }
  e.Swap(x, y);
  return true;
}

// Drops a wait of a transfer, or a wait for one.
bool TransferWait(Edit &e) {
  Dp__Instruction *in;
  std::vector<std::pair<Dp__Instruction *, size_t>> waits;
  for (const Spot &s : e.Where([](const Dp__Instruction *is) { return is->n_waits; })) {
    in = e.At(s);
    Spot giver;
    for (size_t w = 0; w < in->n_waits; w++)
      if (IsTransfer(in) || (e.Signaller(in->waits[w], &giver) && IsTransfer(e.At(giver)))) waits.push_back({in, w});
  }
  std::pair<Dp__Instruction *, size_t> one;
  if (!e.Choose(waits, &one)) return false;
  Remove(&one.first->n_waits, one.first->waits, one.second);
  return true;
}

// Another stage reads a weight from its own storage, which nobody updates, instead of receiving it.
bool TransferStale(Edit &e) {
  const size_t role = e.RoleIndex();
  Dp__Instruction *in, *send;
  Spot spot;
  auto weight = [&](const Dp__Instruction *is) {
    return Recv(is) && is->outputs[0] && e.Value(e.Tensor(is->outputs[0]))->kind == DP_VALUE_VARIABLE;
  };
  if (!e.ChooseWhere(weight, &in, &spot)) return false;
  const Dp__Value *value = e.Value(e.Tensor(in->outputs[0]));
  Dp__Variable *storage = e.plan->variables[value->variable];
  const uint32_t channel = in->communication->channel, received = in->outputs[0], own = e.Clone(received);
  e.Tensor(own)->space = DP__SPACE__PERSISTENT;
  e.Tensor(own)->offset = storage->offset;
  e.TakeOut(spot);
  Redirect(e, received, own);
  auto *found = e.New(dp__update__init);
  found->variable = static_cast<uint32_t>(value->variable);
  found->value = own - 1;
  Append(e.arena, &e.program->n_entry, &e.program->entry, found);
  storage->n_stages = 0;
  for (size_t r = 0; r < e.plan->n_roles; r++) {
    e.Enter(r);
    auto end = [&](const Dp__Instruction *is) { return Send(is) && is->communication->channel == channel; };
    if (e.ChooseWhere(end, &send, &spot)) e.TakeOut(spot);
  }
  e.Enter(role);
  return true;
}

// ---- stages ---------------------------------------------------------------------------------------------------------

// Moves a value to another stage, or adds a stage.
bool StageHome(Edit &e) {
  if (e.plan->n_roles < 2) return false;
  Dp__Variable *p = e.plan->variables[e.UpTo(e.plan->n_variables)];
  if (p->n_stages != 1) return false;
  p->stages = static_cast<uint32_t *>(dp_memdup(e.arena, p->stages, sizeof *p->stages));
  if (e.OneIn(3))
    p->n_stages = 0;
  else
    p->stages[0] = static_cast<uint32_t>((p->stages[0] + 1 + e.UpTo(e.plan->n_roles - 1)) % e.plan->n_roles);
  return true;
}

namespace {

// Adds a copy of the tensor to the role's program.
uint32_t CopyTo(Edit &e, size_t role, const Dp__DeviceTensor *t) {
  e.Enter(role);
  auto *copy = static_cast<Dp__DeviceTensor *>(dp_memdup(e.arena, t, sizeof *t));
  copy->stage = static_cast<uint32_t>(role);
  Append(e.arena, &e.program->n_tensors, &e.program->tensors, copy);
  return static_cast<uint32_t>(e.program->n_tensors);
}

}  // namespace

// Another stage makes an update too, after its own computation.
bool StageUpdate(Edit &e) {
  if (e.plan->n_roles < 2) return false;
  const size_t role = e.RoleIndex(), to = (role + 1 + e.UpTo(e.plan->n_roles - 1)) % e.plan->n_roles;
  Dp__Instruction *update;
  Spot spot;
  auto updates = [](const Dp__Instruction *in) { return Is(in, "SGD") || Is(in, "Adam"); };
  if (!e.ChooseWhere(updates, &update, &spot)) return false;
  Dp__Instruction *again = e.CloneInstruction(update);
  std::vector<Dp__DeviceTensor *> in, out;
  for (size_t i = 0; i < update->n_inputs; i++) in.push_back(update->inputs[i] ? e.Tensor(update->inputs[i]) : nullptr);
  for (size_t i = 0; i < update->n_outputs; i++)
    out.push_back(update->outputs[i] ? e.Tensor(update->outputs[i]) : nullptr);
  for (size_t i = 0; i < in.size(); i++) again->inputs[i] = in[i] ? CopyTo(e, to, in[i]) : 0;
  for (size_t i = 0; i < out.size(); i++) again->outputs[i] = out[i] ? CopyTo(e, to, out[i]) : 0;
  e.Enter(to);
  if (e.program->n_streams <= spot.stream) return false;
  Dp__Stream *stream = e.program->streams[spot.stream];
  Append(e.arena, &stream->n_instructions, &stream->instructions, again);
  return true;
}

namespace {

// Moves a tensor elsewhere in host memory.
bool MoveOnHost(Edit &e, Dp__DeviceTensor *t) {
  const uint64_t room = e.ArenaBytes(static_cast<int>(t->space));
  if (room < t->bytes + kAlignment) return false;
  const uint64_t offset = e.UpTo((room - t->bytes) / kAlignment + 1) * kAlignment;
  if (offset == t->offset) return false;
  t->offset = offset;
  return true;
}

}  // namespace

// One stage reads an input elsewhere in host memory.
bool StageInput(Edit &e) {
  if (e.plan->n_roles < 2 || !e.program->n_inputs) return false;
  return MoveOnHost(e, e.program->tensors[e.program->inputs[e.UpTo(e.program->n_inputs)]->tensor]);
}

// Another stage binds an output that it has not written, instead of the right stage or as well.
bool StageOutput(Edit &e) {
  if (e.plan->n_roles < 2 || !e.program->n_outputs) return false;
  const size_t role = e.RoleIndex(), to = (role + 1 + e.UpTo(e.plan->n_roles - 1)) % e.plan->n_roles;
  const size_t k = e.UpTo(e.program->n_outputs);
  auto *binding = static_cast<Dp__Binding *>(dp_memdup(e.arena, e.program->outputs[k], sizeof(Dp__Binding)));
  Dp__DeviceTensor *t = e.program->tensors[binding->tensor];
  if (!e.OneIn(3)) Remove(&e.program->n_outputs, e.program->outputs, k);
  binding->tensor = CopyTo(e, to, t) - 1;
  Append(e.arena, &e.program->n_outputs, &e.program->outputs, binding);
  return e.OneIn(2) || MoveOnHost(e, e.program->tensors[binding->tensor]);
}

}  // namespace dp_test
