// Damages to regions: a member left out, doubled or out of order; an operand of a member that is another value or
// version, or does not exist; a result that stays inside although others need it; a value inside that another
// instruction reads; a result that overwrites an operand which a later member reads, also where a second region makes
// that result again.
#include <algorithm>
#include <cstring>
#include <set>

#include "tests/ir/verify/campaign/damage_kinds.h"

namespace dp_test {

namespace {

bool IsRegion(const Dp__Instruction *in) { return in->n_members > 1; }

// The list of members with copies that may be changed.
Dp__Instruction *Member(Edit &e, Dp__Instruction *in, size_t m) {
  in->members = static_cast<Dp__Instruction **>(dp_memdup(e.arena, in->members, in->n_members * sizeof *in->members));
  return in->members[m] = e.CloneInstruction(in->members[m]);
}

bool ChooseMember(Edit &e, Dp__Instruction **in, size_t *m) {
  if (!e.ChooseWhere(IsRegion, in)) return false;
  *m = e.UpTo((*in)->n_members);
  return true;
}

bool IsInside(const Edit &e, uint32_t tensor) { return e.Tensor(tensor)->space == DP__SPACE__INSIDE; }

std::vector<uint32_t> Insides(const Edit &e, const Dp__Instruction *in) {
  std::vector<uint32_t> found;
  for (size_t m = 0; m < in->n_members; m++)
    for (size_t k = 0; k < in->members[m]->n_outputs; k++)
      if (IsInside(e, in->members[m]->outputs[k])) found.push_back(in->members[m]->outputs[k]);
  return found;
}

}  // namespace

bool RegionMissing(Edit &e) {
  Dp__Instruction *in;
  size_t m;
  if (!ChooseMember(e, &in, &m)) return false;
  Member(e, in, m);
  Remove(&in->n_members, in->members, m);
  if (e.OneIn(2)) return true;
  in->nodes = static_cast<uint32_t *>(dp_memdup(e.arena, in->nodes, in->n_nodes * sizeof *in->nodes));
  Remove(&in->n_nodes, in->nodes, m);
  return true;
}

bool RegionOrder(Edit &e) {
  Dp__Instruction *in;
  size_t m;
  if (!ChooseMember(e, &in, &m) || m + 1 == in->n_members) return false;
  Member(e, in, m);
  in->nodes = static_cast<uint32_t *>(dp_memdup(e.arena, in->nodes, in->n_nodes * sizeof *in->nodes));
  std::swap(in->members[m], in->members[m + 1]);
  std::swap(in->nodes[m], in->nodes[m + 1]);
  return true;
}

// Another tensor of the program, inside the region or not.
bool RegionOperand(Edit &e) {
  Dp__Instruction *in;
  size_t m;
  if (!ChooseMember(e, &in, &m) || !in->members[m]->n_inputs) return false;
  Dp__Instruction *member = Member(e, in, m);
  const size_t k = e.UpTo(member->n_inputs);
  const uint32_t other =
      e.OneIn(2) ? static_cast<uint32_t>(1 + e.UpTo(e.program->n_tensors)) : in->inputs[e.UpTo(in->n_inputs)];
  if (other == member->inputs[k]) return false;
  member->inputs[k] = other;
  return true;
}

bool RegionAttribute(Edit &e) {
  Dp__Instruction *in;
  size_t m;
  if (!ChooseMember(e, &in, &m)) return false;
  Dp__Instruction *member = Member(e, in, m);
  if (member->n_attributes) {
    Remove(&member->n_attributes, member->attributes, e.UpTo(member->n_attributes));
    return true;
  }
  // Uses another operator with the same operands.
  const char *other = member->n_inputs == 1 ? "Neg" : "Sub";
  if (!strcmp(member->op, other)) return false;
  member->op = e.Keep(other);
  member->domain = e.Keep("");
  return true;
}

bool RegionEnd(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsRegion, &in)) return false;
  if (e.OneIn(2) && in->n_inputs > 1)
    Remove(&in->n_inputs, in->inputs, e.UpTo(in->n_inputs));
  else if (in->n_outputs > 1)
    Remove(&in->n_outputs, in->outputs, e.UpTo(in->n_outputs));
  else
    return false;
  return true;
}

// Keeps a value inside that others need and read.
bool RegionKept(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsRegion, &in)) return false;
  const size_t k = e.UpTo(in->n_outputs);
  const uint32_t tensor = in->outputs[k];
  Dp__DeviceTensor *t = e.Tensor(tensor);
  t->space = DP__SPACE__INSIDE;
  t->offset = t->bytes = 0;
  if (in->n_outputs > 1) Remove(&in->n_outputs, in->outputs, k);
  return true;
}

// Makes another instruction read a value inside the region.
bool RegionLeaked(Edit &e) {
  Dp__Instruction *in, *other;
  Spot spot;
  uint32_t inside;
  if (!e.ChooseWhere([&](const Dp__Instruction *i) { return !Insides(e, i).empty(); }, &in, &spot)) return false;
  if (!e.Choose(Insides(e, in), &inside)) return false;
  if (!e.ChooseWhere([&](const Dp__Instruction *i) { return i != in && i->n_inputs; }, &other)) return false;
  if (other->n_members && e.OneIn(2)) {
    Dp__Instruction *member = Member(e, other, e.UpTo(other->n_members));
    if (!member->n_inputs) return false;
    member->inputs[e.UpTo(member->n_inputs)] = inside;
  } else {
    other->inputs[e.UpTo(other->n_inputs)] = inside;
  }
  return true;
}

// Puts a result where an operand is.
bool RegionOver(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere([](const Dp__Instruction *i) { return IsRegion(i) && i->n_inputs; }, &in)) return false;
  const Dp__DeviceTensor *x = e.Tensor(in->inputs[e.UpTo(in->n_inputs)]);
  Dp__DeviceTensor *y = e.Tensor(in->outputs[e.UpTo(in->n_outputs)]);
  if (x->space != y->space || x->bytes != y->bytes || x->offset == y->offset) return false;
  y->offset = x->offset;
  return true;
}

// Makes a result again by a second region, as another of its members, and puts that where an operand of the first is.
bool RegionAgain(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  if (!e.ChooseWhere([](const Dp__Instruction *i) { return IsRegion(i) && i->n_inputs; }, &in, &spot)) return false;
  std::vector<size_t> alone;  // members that take operands of the region and give one result of it
  const std::set<uint32_t> operands(in->inputs, in->inputs + in->n_inputs);
  for (size_t m = 0; m < in->n_members; m++) {
    const Dp__Instruction *member = in->members[m];
    const auto taken = [&](uint32_t x) { return !x || operands.count(x); };
    if (member->n_outputs == 1 && !IsInside(e, member->outputs[0]) &&
        std::all_of(member->inputs, member->inputs + member->n_inputs, taken))
      alone.push_back(m);
  }
  size_t again;
  if (!e.Choose(alone, &again)) return false;
  alone.erase(std::find(alone.begin(), alone.end(), again));
  alone.push_back(again);
  Dp__Instruction *second = e.CloneInstruction(in);
  second->n_members = second->n_nodes = second->n_outputs = 0;
  for (size_t m : alone) {
    Append<Dp__Instruction *>(e.arena, &second->n_members, &second->members, in->members[m]);
    Append(e.arena, &second->n_nodes, &second->nodes, in->nodes[m]);
    Append(e.arena, &second->n_outputs, &second->outputs, in->members[m]->outputs[0]);
  }
  std::swap(second->signal, in->signal);
  const Dp__DeviceTensor *x = e.Tensor(in->inputs[e.UpTo(in->n_inputs)]);
  Dp__DeviceTensor *y = e.Tensor(in->members[again]->outputs[0]);
  if (x->space != y->space || x->bytes != y->bytes || x->offset == y->offset) return false;
  y->offset = x->offset;
  e.Insert({spot.stream, spot.at + 1}, second);
  return true;
}

}  // namespace dp_test
