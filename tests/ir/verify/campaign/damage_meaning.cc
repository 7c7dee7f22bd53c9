// Damages to the meaning: what collectives do, when data arrives, and operators, operands, attributes and versions.
#include <algorithm>
#include <cstring>

#include "tests/ir/verify/campaign/damage_kinds.h"

namespace dp_test {

namespace {

bool Any(const Dp__Instruction *) { return true; }
bool HasKernel(const Dp__Instruction *in) { return *in->kernel; }
bool IsUpdate(const Edit &e, const Dp__Instruction *in) {
  for (size_t k = 0; k < in->n_outputs; k++)
    if (in->outputs[k] && e.Tensor(in->outputs[k])->space == DP__SPACE__PERSISTENT) return true;
  return false;
}

// Changes op and kernel to another operator's.
void Rename(Edit &e, Dp__Instruction *in, const std::string &op) {
  std::string kernel = in->kernel, old = in->op;
  if (!kernel.empty()) in->kernel = e.Keep(kernel.substr(0, kernel.size() - old.size()) + op);
  in->op = e.Keep(op);
}

}  // namespace

// ---- collectives ----------------------------------------------------------------------------------------------------

bool CollectiveAxis(Edit &e) {
  Dp__Instruction *in;
  if (e.plan->n_mesh < 2) return false;
  auto over = [](const Dp__Instruction *is) { return is->communication && is->communication->n_axes; };
  if (!e.ChooseWhere(over, &in)) return false;
  uint32_t axis = (in->communication->axes[0] + 1) % static_cast<uint32_t>(e.plan->n_mesh);
  in->communication->axes[0] = axis;
  if (e.OneIn(2)) in->attributes[0]->s = e.plan->mesh[axis]->name;
  return true;
}

bool CollectiveAlone(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsCollective, &in)) return false;
  in->communication->n_axes = 0;
  return true;
}

// Takes fewer elements, or a tensor of another size.
bool CollectiveCount(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsCollective, &in)) return false;
  size_t k = e.UpTo(in->n_inputs);
  uint32_t &operand = e.OneIn(2) ? in->inputs[k] : in->outputs[k];
  if (e.OneIn(2)) return e.ChooseOther(operand, false, &operand);
  operand = e.Clone(operand);
  uint64_t less = 8 * (1 + e.UpTo(4));
  if (e.Tensor(operand)->bytes < less) return false;
  e.Tensor(operand)->bytes -= less;
  return true;
}

bool CollectiveType(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsReduction, &in)) return false;
  const int32_t types[] = {DP_FLOAT32, DP_INT64, DP_INT32, DP_FLOAT16};
  size_t k = e.UpTo(in->n_inputs);
  switch (e.UpTo(3)) {
    case 0:
      in->compute_dtype = DP_FLOAT32;
      return true;
    case 1:
      in->inputs[k] = e.Clone(in->inputs[k]);
      e.Tensor(in->inputs[k])->dtype = types[e.UpTo(4)];
      return true;
    default:
      in->outputs[k] = e.Clone(in->outputs[k]);
      e.Tensor(in->outputs[k])->dtype = types[e.UpTo(4)];
  }
  return true;
}

bool CollectivePeer(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsCollective, &in)) return false;
  auto *peer = e.New(dp__peer_expression__init);
  peer->axis = in->communication->axes[0];
  peer->scale = static_cast<int64_t>(e.UpTo(2));
  peer->offset = static_cast<int64_t>(e.UpTo(3));
  Append(e.arena, &in->communication->n_peer, &in->communication->peer, peer);
  return true;
}

bool CollectiveReduction(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsReduction, &in)) return false;
  in->communication->reduction = !in->communication->reduction;
  return true;
}

bool CollectiveKind(Edit &e) {
  Dp__Instruction *in;
  static const char *const kinds[] = {"AllReduce", "ReduceScatter", "AllGather", "AllToAll", "Slice"};
  auto between = [](const Dp__Instruction *is) { return IsCollective(is) || !strcmp(is->op, "Slice"); };
  if (!e.ChooseWhere(between, &in)) return false;
  const char *kind = kinds[e.UpTo(5)];
  if (!strcmp(kind, in->op)) return false;
  in->op = e.Keep(kind);
  return true;
}

// Sends, or overwrites, another tensor of the same kind.
bool CollectiveOperand(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsCollective, &in)) return false;
  size_t k = e.UpTo(in->n_inputs);
  uint32_t &operand = e.OneIn(2) ? in->inputs[k] : in->outputs[k];
  return e.ChooseOther(operand, true, &operand);
}

// ---- buckets --------------------------------------------------------------------------------------------------------

namespace {

bool IsBucket(const Dp__Instruction *in) { return IsCollective(in) && in->n_inputs > 1; }

void RemovePair(Dp__Instruction *in, size_t k) {
  Remove(&in->n_inputs, in->inputs, k);
  Remove(&in->n_outputs, in->outputs, k);
}

}  // namespace

// Reduces one tensor not at all, or apart from the others.
bool BucketMissing(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsBucket, &in)) return false;
  RemovePair(in, e.UpTo(in->n_inputs));
  return true;
}

// One tensor occurs twice, or replaces another.
bool BucketDoubled(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsBucket, &in)) return false;
  size_t k = e.UpTo(in->n_inputs), other = (k + 1) % in->n_inputs;
  if (e.OneIn(2)) RemovePair(in, other);
  k = std::min(k, in->n_inputs - 1);
  Append(e.arena, &in->n_inputs, &in->inputs, in->inputs[k]);
  Append(e.arena, &in->n_outputs, &in->outputs, in->outputs[k]);
  return true;
}

// Exchanges the results of two sums.
bool BucketCrossed(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(IsBucket, &in)) return false;
  size_t k = e.UpTo(in->n_inputs), other = (k + 1) % in->n_inputs;
  std::swap(in->outputs[k], in->outputs[other]);
  return true;
}

// Reduces one tensor with another collective, which may come too early or too late for it.
bool BucketMoved(Edit &e) {
  Dp__Instruction *in, *other;
  if (!e.ChooseWhere(IsBucket, &in) || !e.ChooseWhere(IsReduction, &other) || in == other) return false;
  size_t k = e.UpTo(in->n_inputs);
  Append(e.arena, &other->n_inputs, &other->inputs, in->inputs[k]);
  Append(e.arena, &other->n_outputs, &other->outputs, in->outputs[k]);
  RemovePair(in, k);
  return true;
}

// ---- use before arrival ---------------------------------------------------------------------------------------------

namespace {

// A reader that follows the writer of its operand on the same stream.
bool ChooseReader(Edit &e, Spot *writer, Spot *reader) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(Any, &in, reader)) return false;
  std::vector<size_t> writers;
  for (size_t i = 0; i < reader->at; i++)
    for (size_t k = 0; k < in->n_inputs; k++)
      if (in->inputs[k] && e.Writes(e.At({reader->stream, i}), in->inputs[k])) writers.push_back(i);
  *writer = *reader;
  return e.Choose(writers, &writer->at);
}

}  // namespace

// Moves the reader to just before the writer.
bool EarlyRead(Edit &e) {
  Spot writer, reader;
  if (!ChooseReader(e, &writer, &reader)) return false;
  e.Move(reader, writer.at);
  return true;
}

// Moves the writer to just after the reader.
bool EarlyMove(Edit &e) {
  Spot writer, reader;
  if (!ChooseReader(e, &writer, &reader)) return false;
  e.Move(writer, reader.at);
  return true;
}

// ---- reductions -----------------------------------------------------------------------------------------------------

bool ReduceMissing(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  if (!e.ChooseWhere(IsReduction, &in, &spot)) return false;
  e.TakeOut(spot);
  return true;
}

// Reduces the result of a reduction again.
bool ReduceDoubled(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  if (!e.ChooseWhere(IsReduction, &in, &spot)) return false;
  Dp__Instruction *again = e.CloneInstruction(in);
  for (size_t k = 0; k < in->n_inputs; k++) {
    const Dp__DeviceTensor *to = e.Tensor(in->outputs[k]);
    again->inputs[k] = e.Clone(in->inputs[k]);
    Dp__DeviceTensor *from = e.Tensor(again->inputs[k]);
    from->space = to->space;
    from->offset = to->offset;
    from->bytes = to->bytes;
  }
  std::swap(again->signal, in->signal);
  e.Insert({spot.stream, spot.at + 1}, again);
  return true;
}

// ---- versions -------------------------------------------------------------------------------------------------------

// Reads a variable after its update instead of before.
bool StaleReader(Edit &e) {
  Dp__Instruction *update, *reader;
  Spot at, spot;
  if (!e.ChooseWhere([&](const Dp__Instruction *in) { return IsUpdate(e, in); }, &update, &at)) return false;
  auto reads = [&](const Dp__Instruction *in) {
    if (in == update) return false;
    for (size_t i = 0; i < in->n_inputs; i++)
      for (size_t k = 0; in->inputs[i] && k < update->n_outputs; k++) {
        const Dp__DeviceTensor *t = e.Tensor(in->inputs[i]);
        const Dp__DeviceTensor *storage = update->outputs[k] ? e.Tensor(update->outputs[k]) : nullptr;
        if (storage && t->space == DP__SPACE__PERSISTENT && t->offset == storage->offset) return true;
      }
    return false;
  };
  if (!e.ChooseWhere(reads, &reader, &spot) || spot.stream != at.stream || spot.at > at.at) return false;
  e.Move(spot, at.at);
  return true;
}

namespace {

// Instructions of the stream that other streams wait for, and that `in` waits for.
void ChooseGivers(const Edit &e, const Dp__Instruction *in, size_t stream, int depth,
                  std::vector<Dp__Instruction *> *givers) {
  Spot spot;
  for (size_t w = 0; w < in->n_waits && depth; w++) {
    if (!e.Signaller(in->waits[w], &spot)) continue;
    if (spot.stream == stream)
      givers->push_back(e.At(spot));
    else
      ChooseGivers(e, e.At(spot), stream, depth - 1, givers);
  }
}

}  // namespace

// Moves an update, and what makes its gradient, as early as possible: before the backward pass has used the parameter.
bool StaleEarly(Edit &e) {
  Dp__Instruction *update, *reader;
  Spot at, spot, giver;
  if (!e.ChooseWhere([&](const Dp__Instruction *in) { return IsUpdate(e, in); }, &update, &at)) return false;
  auto reads = [&](const Dp__Instruction *in) {
    for (size_t i = 0; in != update && i < in->n_inputs; i++)
      if (in->inputs[i] && e.Tensor(in->inputs[i])->space == DP__SPACE__PERSISTENT &&
          e.Tensor(in->inputs[i])->offset == e.Tensor(update->outputs[0])->offset)
        return true;
    return false;
  };
  std::vector<Spot> readers = e.Where(reads);
  if (!update->outputs[0] || readers.empty()) return false;
  spot = readers.back();
  reader = e.At(spot);
  if (spot.stream != at.stream || spot.at > at.at) return false;
  std::vector<Dp__Instruction *> givers;
  ChooseGivers(e, update, at.stream, 3, &givers);
  for (Dp__Instruction *in : givers)
    if (e.Find(in, &giver) && e.Find(reader, &spot) && giver.at > spot.at) e.Move(giver, spot.at);
  if (!e.Find(update, &at) || !e.Find(reader, &spot)) return false;
  e.Move(at, spot.at);
  return true;
}

// Drops the update, so the value does not change.
bool StaleUpdate(Edit &e) {
  Dp__Instruction *update;
  Spot at;
  if (!e.ChooseWhere([&](const Dp__Instruction *in) { return IsUpdate(e, in); }, &update, &at)) return false;
  e.TakeOut(at);
  return true;
}

bool UpdateDoubled(Edit &e) {
  Dp__Instruction *update;
  Spot at;
  auto adds = [&](const Dp__Instruction *in) {
    return in->n_inputs && in->inputs[0] && in->outputs[0] && IsUpdate(e, in) &&
           e.Tensor(in->inputs[0])->offset == e.Tensor(in->outputs[0])->offset &&
           e.Tensor(in->inputs[0])->space == DP__SPACE__PERSISTENT;
  };
  if (!e.ChooseWhere(adds, &update, &at)) return false;
  Dp__Instruction *again = e.CloneInstruction(update);
  std::swap(again->signal, update->signal);
  e.Insert({at.stream, at.at + 1}, again);
  return true;
}

// ---- operators ------------------------------------------------------------------------------------------------------

bool MeanSum(Edit &e) {
  Dp__Instruction *in;
  auto means = [](const Dp__Instruction *is) {
    return !strcmp(is->op, "ReduceMean") || strstr(is->op, "CrossEntropyLoss");
  };
  if (!e.ChooseWhere(means, &in)) return false;
  if (!strcmp(in->op, "ReduceMean")) {
    Rename(e, in, "ReduceSum");
    return true;
  }
  auto *attribute = e.New(dp__attribute__init);
  attribute->name = e.Keep("reduction");
  attribute->kind = 3;
  attribute->s = e.Keep("sum");
  Append(e.arena, &in->n_attributes, &in->attributes, attribute);
  return true;
}

// Skips a division, or multiplies instead.
bool MeanDivide(Edit &e) {
  Dp__Instruction *in, *reader;
  Spot spot;
  if (!e.ChooseWhere([](const Dp__Instruction *is) { return !strcmp(is->op, "Div"); }, &in, &spot)) return false;
  if (e.OneIn(2)) {
    Rename(e, in, "Mul");
    return true;
  }
  auto reads = [&](const Dp__Instruction *is) { return e.Reads(is, in->outputs[0]); };
  if (!e.ChooseWhere(reads, &reader)) return false;
  for (size_t i = 0; i < reader->n_inputs; i++)
    if (reader->inputs[i] == in->outputs[0]) reader->inputs[i] = in->inputs[0];
  return true;
}

bool NodeAttribute(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere([](const Dp__Instruction *is) { return HasKernel(is) && is->n_attributes; }, &in)) return false;
  size_t k = e.UpTo(in->n_attributes);
  auto *a = static_cast<Dp__Attribute *>(dp_memdup(e.arena, in->attributes[k], sizeof(Dp__Attribute)));
  in->attributes =
      static_cast<Dp__Attribute **>(dp_memdup(e.arena, in->attributes, in->n_attributes * sizeof *in->attributes));
  in->attributes[k] = a;
  if (e.OneIn(6)) {
    Remove(&in->n_attributes, in->attributes, k);
    return true;
  }
  if (a->kind == 1) a->i = a->i < 2 ? !a->i : a->i + 1;
  if (a->kind == 2) a->f = e.OneIn(2) ? a->f * 1.5 + 0.01 : 1 - a->f;
  if (a->kind == 4 && a->n_ints) {
    a->ints = static_cast<int64_t *>(dp_memdup(e.arena, a->ints, a->n_ints * sizeof *a->ints));
    a->ints[e.UpTo(a->n_ints)]++;
  }
  return a->kind == 1 || a->kind == 2 || (a->kind == 4 && a->n_ints);
}

bool NodeOperand(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere([](const Dp__Instruction *is) { return HasKernel(is) && is->n_inputs; }, &in)) return false;
  uint32_t &operand = in->inputs[e.UpTo(in->n_inputs)];
  return operand && e.ChooseOther(operand, true, &operand);
}

bool NodeSwapped(Edit &e) {
  Dp__Instruction *in;
  auto ordered = [](const Dp__Instruction *is) {
    static const char *const ops[] = {"Add", "Mul", "Max", "Min", "Equal"};
    for (const char *op : ops)
      if (!strcmp(is->op, op)) return false;
    return HasKernel(is) && is->n_inputs > 1;
  };
  if (!e.ChooseWhere(ordered, &in)) return false;
  size_t a = e.UpTo(in->n_inputs), b = (a + 1) % in->n_inputs;
  if (in->inputs[a] == in->inputs[b]) return false;
  std::swap(in->inputs[a], in->inputs[b]);
  return true;
}

// Uses another operator that takes the same operands, or just its kernel.
bool NodeKernel(Edit &e) {
  Dp__Instruction *in;
  static const char *const twins[][2] = {
      {"Add", "Sub"},      {"Sub", "Add"},      {"Mul", "Div"},          {"Max", "Min"},
      {"Relu", "Tanh"},    {"Tanh", "Relu"},    {"Sqrt", "Exp"},         {"ReduceSum", "ReduceMean"},
      {"Identity", "Neg"}, {"Sigmoid", "Tanh"}, {"ReluGrad", "TanhGrad"}};
  auto twin = [](const Dp__Instruction *is) -> const char * {
    for (const auto &pair : twins)
      if (!strcmp(is->op, pair[0])) return pair[1];
    return nullptr;
  };
  if (!e.ChooseWhere([&](const Dp__Instruction *is) { return twin(is) != nullptr; }, &in)) return false;
  char *op = in->op;
  Rename(e, in, twin(in));
  if (e.OneIn(2)) in->op = op;
  return true;
}

bool StepMissing(Edit &e) {
  Dp__Instruction *in;
  Spot spot;
  if (!e.ChooseWhere(Any, &in, &spot)) return false;
  e.TakeOut(spot);
  return true;
}

// ---- bindings -------------------------------------------------------------------------------------------------------

bool BindingInput(Edit &e) {
  if (e.program->n_inputs < 2) return false;
  Dp__Binding *a = e.program->inputs[e.UpTo(e.program->n_inputs)], *b = e.program->inputs[e.UpTo(e.program->n_inputs)];
  if (a == b) return false;
  if (e.OneIn(2))
    std::swap(a->tensor, b->tensor);
  else
    std::swap(a->name, b->name);
  return true;
}

bool BindingOutput(Edit &e) {
  if (!e.program->n_outputs) return false;
  Dp__Binding *b = e.program->outputs[e.UpTo(e.program->n_outputs)];
  uint32_t old = b->tensor;
  b->tensor = static_cast<uint32_t>(e.UpTo(e.program->n_tensors));
  return b->tensor != old;
}

}  // namespace dp_test
