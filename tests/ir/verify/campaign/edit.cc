// See edit.h.
#include "tests/ir/verify/campaign/edit.h"

#include <cstring>
#include <stdexcept>

#include "ir/file/wire.h"

namespace dp_test {

bool IsReduction(const Dp__Instruction *in) { return !strcmp(in->op, "AllReduce") || !strcmp(in->op, "ReduceScatter"); }

bool IsCollective(const Dp__Instruction *in) {
  return IsReduction(in) || !strcmp(in->op, "AllGather") || !strcmp(in->op, "AllToAll");
}

// ---- without an instruction -----------------------------------------------------------------------------------------

namespace {

void AddWait(dp_arena *arena, Dp__Instruction *in, uint32_t event) {
  for (size_t w = 0; w < in->n_waits; w++)
    if (in->waits[w] == event) return;
  Append(arena, &in->n_waits, &in->waits, event);
}

template <typename Visit>
void Each(Dp__Program *program, Visit visit) {
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++) visit(program->streams[s]->instructions[i]);
}

// What waited for the removed instruction's event now waits for everything that the instruction waited for, and for
// `last` if the previous instruction has another event.
void PassOn(dp_arena *arena, const Dp__Instruction *gone, Dp__Instruction *in, uint32_t event, bool keeps,
            const Dp__Instruction *last) {
  for (size_t w = 0; w < in->n_waits; w++) {
    if (in->waits[w] != event) continue;
    if (!keeps) Remove(&in->n_waits, in->waits, w);
    for (size_t k = 0; k < gone->n_waits; k++) AddWait(arena, in, gone->waits[k]);
    if (!keeps && last) AddWait(arena, in, last->signal - 1);
    return;
  }
}

}  // namespace

void TakeOut(dp_arena *arena, Dp__Program *program, Spot spot) {
  Dp__Stream *stream = program->streams[spot.stream];
  Dp__Instruction *gone = stream->instructions[spot.at], *last = spot.at ? stream->instructions[spot.at - 1] : nullptr;
  Remove(&stream->n_instructions, stream->instructions, spot.at);
  if (spot.at < stream->n_instructions)
    for (size_t w = 0; w < gone->n_waits; w++) AddWait(arena, stream->instructions[spot.at], gone->waits[w]);
  if (!gone->signal) return;
  uint32_t event = gone->signal - 1, top = program->events - 1;
  bool keeps = last && !last->signal;  // the previous instruction takes over the event
  if (keeps) last->signal = gone->signal;
  Each(program, [&](Dp__Instruction *in) { PassOn(arena, gone, in, event, keeps, last); });
  if (keeps) return;
  program->events--;  // the last event takes the free number
  Each(program, [&](Dp__Instruction *in) {
    if (in->signal == top + 1) in->signal = event + 1;
    for (size_t w = 0; w < in->n_waits; w++)
      if (in->waits[w] == top) in->waits[w] = event;
  });
}

// ---- choices --------------------------------------------------------------------------------------------------------

Edit::Edit(const std::vector<uint8_t> &packed, unsigned seed) : random_(seed) {
  ProtobufCMessage *message;
  std::string failure =
      Message(dp_wire_unpack(arena, &dp__plan__descriptor, packed.data(), packed.size(), "plan", &message));
  if (!failure.empty()) throw std::runtime_error(failure);
  plan = reinterpret_cast<Dp__Plan *>(message);
  role = plan->roles[plan->n_roles > 1 ? UpTo(plan->n_roles) : 0];
  static const char *const names[] = {"train", "train", "train", "train", "train",
                                      "train", "train", "eval",  "infer", "init"};
  const std::string name = names[UpTo(10)];
  program = role->programs[0];
  for (size_t p = 0; p < role->n_programs; p++)
    if (role->programs[p]->name == name) program = role->programs[p];
}

std::string Edit::Pack() const {
  std::string bytes(dp__plan__get_packed_size(plan), 0);
  dp__plan__pack(plan, reinterpret_cast<uint8_t *>(&bytes[0]));
  return bytes;
}

size_t Edit::RoleIndex() const {
  for (size_t r = 0; r < plan->n_roles; r++)
    if (plan->roles[r] == role) return r;
  throw std::logic_error("a role that is not the plan's");
}

void Edit::Enter(size_t role_index) {
  const std::string name = program->name;
  role = plan->roles[role_index];
  for (size_t p = 0; p < role->n_programs; p++)
    if (role->programs[p]->name == name) program = role->programs[p];
}

// ---- looking --------------------------------------------------------------------------------------------------------

std::vector<Spot> Edit::Where(const Test &test) const {
  std::vector<Spot> spots;
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++)
      if (test(program->streams[s]->instructions[i])) spots.push_back({s, i});
  return spots;
}

bool Edit::ChooseWhere(const Test &test, Dp__Instruction **in, Spot *spot) {
  Spot found;
  if (!Choose(Where(test), &found)) return false;
  *in = At(found);
  if (spot) *spot = found;
  return true;
}

static bool SameKind(const Edit &e, const Dp__DeviceTensor *a, const Dp__DeviceTensor *b) {
  const Dp__TensorType *x = e.Value(a)->type, *y = e.Value(b)->type;
  bool same = a->bytes == b->bytes && a->dtype == b->dtype && x->shape->n_dims == y->shape->n_dims;
  for (size_t i = 0; same && i < x->shape->n_dims; i++)
    same =
        x->shape->dims[i]->scale == y->shape->dims[i]->scale && x->shape->dims[i]->offset == y->shape->dims[i]->offset;
  for (size_t i = 0; same && i < a->n_placements; i++)
    same = a->placements[i]->kind == b->placements[i]->kind && a->placements[i]->dim == b->placements[i]->dim;
  return same;
}

bool Edit::ChooseOther(uint32_t operand, bool same_kind, uint32_t *other) {
  std::vector<uint32_t> others;
  for (uint32_t i = 1; i <= program->n_tensors; i++) {
    const Dp__DeviceTensor *t = Tensor(i), *is = Tensor(operand);
    if (t->value == is->value) continue;
    bool device = t->space == DP__SPACE__TRANSIENT || t->space == DP__SPACE__PERSISTENT;
    if (device && SameKind(*this, t, is) == same_kind) others.push_back(i);
  }
  return Choose(others, other);
}

bool Edit::Find(const Dp__Instruction *in, Spot *spot) const {
  for (const Spot &s : Where([&](const Dp__Instruction *is) { return is == in; })) {
    *spot = s;
    return true;
  }
  return false;
}

bool Edit::Signaller(uint32_t event, Spot *spot) const {
  for (const Spot &s : Where([&](const Dp__Instruction *in) { return in->signal == event + 1; })) {
    *spot = s;
    return true;
  }
  return false;
}

bool Edit::Reads(const Dp__Instruction *in, uint32_t operand) const {
  for (size_t i = 0; i < in->n_inputs; i++)
    if (in->inputs[i] == operand) return true;
  return false;
}

bool Edit::Writes(const Dp__Instruction *in, uint32_t operand) const {
  for (size_t i = 0; i < in->n_outputs; i++)
    if (in->outputs[i] == operand) return true;
  return false;
}

bool Edit::Follows(Spot a, Spot b) const {
  // Walks backwards from b, tracking the last instruction seen in each stream.
  std::vector<long> seen(program->n_streams, -1);
  std::vector<Spot> open = {b};
  while (!open.empty()) {
    Spot at = open.back();
    open.pop_back();
    while (static_cast<long>(at.at) > seen[at.stream]) {
      long first = seen[at.stream] + 1;
      seen[at.stream] = static_cast<long>(at.at);
      for (long i = first; i <= static_cast<long>(at.at); i++) {
        const Dp__Instruction *in = At({at.stream, static_cast<size_t>(i)});
        Spot before;
        for (size_t w = 0; w < in->n_waits; w++)
          if (Signaller(in->waits[w], &before)) open.push_back(before);
      }
    }
  }
  return !(a == b) && seen[a.stream] >= static_cast<long>(a.at);
}

uint64_t Edit::ArenaBytes(int space) const {
  for (size_t i = 0; i < role->n_arenas; i++)
    if (static_cast<int>(role->arenas[i]->space) == space) return role->arenas[i]->bytes;
  return 0;
}

// ---- changing -------------------------------------------------------------------------------------------------------

uint32_t Edit::Clone(uint32_t operand) {
  auto *copy = static_cast<Dp__DeviceTensor *>(dp_memdup(arena, Tensor(operand), sizeof(Dp__DeviceTensor)));
  copy->placements =
      static_cast<Dp__Placement **>(dp_memdup(arena, copy->placements, copy->n_placements * sizeof *copy->placements));
  if (copy->micro) copy->micro = static_cast<Dp__MicroSet *>(dp_memdup(arena, copy->micro, sizeof(Dp__MicroSet)));
  for (size_t a = 0; a < copy->n_placements; a++)
    copy->placements[a] = static_cast<Dp__Placement *>(dp_memdup(arena, copy->placements[a], sizeof(Dp__Placement)));
  Append(arena, &program->n_tensors, &program->tensors, copy);
  return static_cast<uint32_t>(program->n_tensors);
}

Dp__Instruction *Edit::CloneInstruction(const Dp__Instruction *in) {
  auto *copy = static_cast<Dp__Instruction *>(dp_memdup(arena, in, sizeof *in));
  copy->inputs = static_cast<uint32_t *>(dp_memdup(arena, in->inputs, in->n_inputs * sizeof *in->inputs));
  copy->outputs = static_cast<uint32_t *>(dp_memdup(arena, in->outputs, in->n_outputs * sizeof *in->outputs));
  copy->waits = nullptr;
  copy->n_waits = 0;
  copy->signal = 0;
  return copy;
}

void Edit::AddWait(Dp__Instruction *in, uint32_t event) { dp_test::AddWait(arena, in, event); }

void Edit::Insert(Spot spot, Dp__Instruction *in) {
  Dp__Stream *stream = program->streams[spot.stream];
  Append(arena, &stream->n_instructions, &stream->instructions, in);
  Move({spot.stream, stream->n_instructions - 1}, spot.at);
}

void Edit::Move(Spot from, size_t to) {
  Dp__Instruction **list = program->streams[from.stream]->instructions, *in = list[from.at];
  for (size_t i = from.at; i > to; i--) list[i] = list[i - 1];
  for (size_t i = from.at; i < to; i++) list[i] = list[i + 1];
  list[to] = in;
}

void Edit::Swap(Spot a, Spot b) {
  std::swap(program->streams[a.stream]->instructions[a.at], program->streams[b.stream]->instructions[b.at]);
}

void Edit::TakeOut(Spot spot) { dp_test::TakeOut(arena, program, spot); }

Dp__Stream *Edit::NewStream(const std::string &name) {
  auto *stream = New(dp__stream__init);
  stream->name = Keep(name);
  Append(arena, &program->n_streams, &program->streams, stream);
  return stream;
}

}  // namespace dp_test
