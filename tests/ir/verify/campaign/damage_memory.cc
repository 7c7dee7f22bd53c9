// Damages to memory: where tensors are, how large they are, which rows they hold.
#include <algorithm>
#include <cstring>

#include "tests/ir/verify/campaign/damage_kinds.h"

namespace dp_test {

namespace {

enum { kAlignment = 64 };

bool Any(const Dp__Instruction *) { return true; }
bool HasScratch(const Dp__Instruction *in) { return in->scratch && in->scratch->bytes; }

// Moves a tensor elsewhere in its arena, aligned and within bounds.
bool Displace(Edit &e, Dp__DeviceTensor *t) {
  uint64_t room = e.ArenaBytes(t->space);
  if (room < t->bytes + kAlignment) return false;
  uint64_t offset = e.UpTo((room - t->bytes) / kAlignment + 1) * kAlignment;
  if (offset == t->offset) return false;
  t->offset = offset;
  return true;
}

// The location of the index of an instruction's operand or result.
uint32_t *ChooseOperand(Edit &e, Dp__Instruction *in) {
  size_t k = e.UpTo(in->n_inputs + in->n_outputs);
  uint32_t *at = k < in->n_inputs ? &in->inputs[k] : &in->outputs[k - in->n_inputs];
  return *at ? at : nullptr;
}

// The first and the last instruction of the stream that access the tensor. False if another stream accesses it, or if
// it is never written or never read.
bool Lives(const Edit &e, uint32_t operand, size_t stream, size_t *first, size_t *last) {
  bool any = false, read = false;
  for (const Spot &s : e.Where(Any)) {
    bool reads = e.Reads(e.At(s), operand);
    if (!reads && !e.Writes(e.At(s), operand)) continue;
    if (s.stream != stream) return false;
    if (!any) *first = s.at;
    *last = s.at;
    any = true;
    read |= reads;
  }
  return read && *first < *last;
}

uint64_t RowBytes(const Edit &e, const Dp__DeviceTensor *t) {
  const Dp__TensorType *type = e.Value(t)->type;
  int64_t bytes = 8;
  for (size_t i = 1; i < type->shape->n_dims; i++)
    bytes *= std::max<int64_t>(type->shape->dims[i]->offset + type->shape->dims[i]->scale * e.plan->batch, 1);
  return static_cast<uint64_t>(bytes);
}

}  // namespace

// ---- offsets --------------------------------------------------------------------------------------------------------

bool OffsetTensor(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(Any, &in)) return false;
  uint32_t *operand = ChooseOperand(e, in);
  return operand && Displace(e, e.Tensor(*operand));
}

// Moves a tensor in one instruction's view only.
bool OffsetOperand(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(Any, &in)) return false;
  uint32_t *operand = ChooseOperand(e, in);
  if (!operand) return false;
  *operand = e.Clone(*operand);
  return Displace(e, e.Tensor(*operand));
}

// ---- layouts --------------------------------------------------------------------------------------------------------

namespace {

struct Image {
  Dp__Instruction *in = nullptr;
  uint32_t *operand = nullptr;  // or result
};

bool HasFourDims(const Dp__TensorType *type) { return type && type->shape && type->shape->n_dims == 4; }

std::vector<Image> ImagesOf(Edit &e, Dp__Instruction *in) {
  std::vector<Image> images;
  for (size_t k = 0; k < in->n_inputs + in->n_outputs; k++) {
    uint32_t *at = k < in->n_inputs ? &in->inputs[k] : &in->outputs[k - in->n_inputs];
    if (*at && HasFourDims(e.Value(e.Tensor(*at))->type)) images.push_back({in, at});
  }
  return images;
}

// An operand or result with four dims in transient memory, if there is one.
Image ChooseImage(Edit &e) {
  std::vector<Image> images;
  for (const Spot &s : e.Where(Any))
    for (const Image &image : ImagesOf(e, e.At(s)))
      if (e.Tensor(*image.operand)->space == DP__SPACE__TRANSIENT) images.push_back(image);
  Image chosen;
  if (!e.Choose(images, &chosen) && e.ChooseWhere(Any, &chosen.in)) chosen.operand = ChooseOperand(e, chosen.in);
  return chosen;
}

// Says that it lies in another layout than it does, any of them.
void Turn(Edit &e, Dp__DeviceTensor *t) {
  const int others = DP__LAYOUT__OIHW16I32O - DP__LAYOUT__PLAIN, was = t->layout - DP__LAYOUT__PLAIN;
  t->layout = static_cast<Dp__Layout>(DP__LAYOUT__PLAIN +
                                      (was + 1 + static_cast<int>(e.UpTo(static_cast<size_t>(others)))) % (others + 1));
}

void Replace(uint32_t before, uint32_t after, size_t count, uint32_t *operands) {
  for (size_t k = 0; k < count; k++)
    if (operands[k] == before) operands[k] = after;
}

// Turns a tensor in the view of one instruction and its members only. Returns what it was, and is now.
std::pair<uint32_t, uint32_t> TurnFor(Edit &e, const Image &image) {
  const uint32_t before = *image.operand, after = e.Clone(before);
  *image.operand = after;
  Turn(e, e.Tensor(after));
  for (size_t m = 0; m < image.in->n_members; m++) {
    Replace(before, after, image.in->members[m]->n_inputs, image.in->members[m]->inputs);
    Replace(before, after, image.in->members[m]->n_outputs, image.in->members[m]->outputs);
  }
  return {before, after};
}

bool IsUpdate(const Dp__Instruction *in) {
  bool is = false;
  for (const char *name : {"SGD", "Adam", "Assign"}) {
    is |= !strcmp(in->op, name);
    for (size_t m = 0; m < in->n_members; m++) is |= !strcmp(in->members[m]->op, name);
  }
  return is;
}

// One with four dims, and at times any other.
template <typename T>
bool ChooseVariable(Edit &e, size_t count, T *const *all, const std::function<const Dp__TensorType *(const T *)> &type,
                    T **chosen) {
  std::vector<T *> images, others(all, all + count);
  for (T *one : others)
    if (HasFourDims(type(one))) images.push_back(one);
  return e.OneIn(8) ? e.Choose(others, chosen) : e.Choose(images, chosen);
}

}  // namespace

// For whoever writes it and whoever reads it: where kernels alone do, it says the same.
bool LayoutTensor(Edit &e) {
  const Image image = ChooseImage(e);
  if (image.operand) Turn(e, e.Tensor(*image.operand));
  return image.operand;
}

// In one instruction's view only.
bool LayoutOperand(Edit &e) {
  const Image image = ChooseImage(e);
  if (!image.operand) return false;
  TurnFor(e, image);
  return true;
}

// As this program of this role finds or leaves a variable, for all its instructions.
bool LayoutVariable(Edit &e) {
  const bool leaves = e.program->n_exit && e.OneIn(2);
  Dp__Update *update;
  if (!ChooseVariable<Dp__Update>(
          e, leaves ? e.program->n_exit : e.program->n_entry, leaves ? e.program->exit : e.program->entry,
          [&](const Dp__Update *u) { return e.Value(e.program->tensors[u->value])->type; }, &update))
    return false;
  Turn(e, e.program->tensors[update->value]);
  return true;
}

// In the plan's table alone, or also as this program finds and leaves it.
bool LayoutStorage(Edit &e) {
  Dp__Variable *storage;
  if (!ChooseVariable<Dp__Variable>(
          e, e.plan->n_variables, e.plan->variables, [](const Dp__Variable *p) { return p->type; }, &storage))
    return false;
  storage->layout = storage->layout == DP__LAYOUT__NHWC ? DP__LAYOUT__LAYOUT_NONE : DP__LAYOUT__NHWC;
  if (e.OneIn(2)) return true;
  const auto turn = [&](size_t count, Dp__Update *const *updates) {
    for (size_t i = 0; i < count; i++)
      if (e.plan->variables[updates[i]->variable] == storage)
        e.program->tensors[updates[i]->value]->layout =
            storage->layout == DP__LAYOUT__NHWC ? DP__LAYOUT__NHWC : DP__LAYOUT__PLAIN;
  };
  turn(e.program->n_entry, e.program->entry);
  turn(e.program->n_exit, e.program->exit);
  return true;
}

// A parameter, its state or its gradient, old or new, in the view of what updates it only.
bool LayoutUpdate(Edit &e) {
  Dp__Instruction *in;
  Image chosen;
  if (!e.ChooseWhere(IsUpdate, &in) || !e.Choose(ImagesOf(e, in), &chosen)) return false;
  const auto [before, after] = TurnFor(e, chosen);
  // What the program leaves is that tensor, as half of the damages have it.
  for (size_t i = 0; i < e.program->n_exit; i++)
    if (e.program->exit[i]->value + 1 == before && e.OneIn(2)) e.program->exit[i]->value = after - 1;
  return true;
}

// ---- scratch --------------------------------------------------------------------------------------------------------

// Moves scratch over bytes that this instruction or another one uses.
bool OffsetScratch(Edit &e) {
  Dp__Instruction *in, *other;
  if (!e.ChooseWhere(HasScratch, &in) || !e.ChooseWhere(Any, &other)) return false;
  uint32_t *operand = ChooseOperand(e, e.OneIn(2) ? in : other);
  if (!operand || e.Tensor(*operand)->space != DP__SPACE__TRANSIENT) return false;
  uint64_t offset = e.Tensor(*operand)->offset;
  if (offset == in->scratch->offset || offset + in->scratch->bytes > e.ArenaBytes(DP__SPACE__TRANSIENT)) return false;
  in->scratch->offset = offset;
  return true;
}

// Has a kernel take some operand packed, in bytes of its own or in others'.
bool PackedOperand(Edit &e) {
  Dp__Instruction *in;
  Dp__Arena *arena = nullptr;
  for (size_t i = 0; i < e.role->n_arenas; i++)
    if (e.role->arenas[i]->space == DP__SPACE__PERSISTENT) arena = e.role->arenas[i];
  if (!e.ChooseWhere([](const Dp__Instruction *is) { return *is->kernel && !is->n_members && is->n_inputs; }, &in))
    return false;
  const size_t k = e.UpTo(in->n_inputs);
  if (!arena || !in->inputs[k] || !e.Tensor(in->inputs[k])->bytes) return false;
  in->packed = e.New(dp__packed__init);
  in->packed->operand = static_cast<uint32_t>(k);
  in->packed->bytes = e.Tensor(in->inputs[k])->bytes;
  const uint64_t step = arena->alignment;
  in->packed->offset = e.OneIn(2) ? arena->bytes : e.UpTo(arena->bytes / step + 1) * step;
  const uint64_t end = (in->packed->offset + in->packed->bytes + step - 1) / step * step;
  arena->bytes = std::max(arena->bytes, end);
  return true;
}

bool OffsetOutside(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(Any, &in)) return false;
  uint32_t *operand = ChooseOperand(e, in);
  if (!operand) return false;
  Dp__DeviceTensor *t = e.Tensor(*operand);
  uint64_t room = e.ArenaBytes(t->space) / kAlignment * kAlignment;
  t->offset = room - std::min<uint64_t>(room, (t->bytes - 1) / kAlignment * kAlignment) + kAlignment;
  if (e.OneIn(4)) t->offset = UINT64_MAX - kAlignment + 1;  // its end wraps around
  return true;
}

bool OffsetHome(Edit &e) {
  Dp__Variable *p = e.plan->variables[e.UpTo(e.plan->n_variables)];
  uint64_t room = e.ArenaBytes(DP__SPACE__PERSISTENT);
  uint64_t offset = e.UpTo(room / kAlignment + 1) * kAlignment;
  if (offset == p->offset) return false;
  p->offset = offset;
  return true;
}

// ---- sizes ----------------------------------------------------------------------------------------------------------

bool SizeShort(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(Any, &in)) return false;
  uint32_t *operand = ChooseOperand(e, in);
  if (!operand || !e.Tensor(*operand)->bytes) return false;
  Dp__DeviceTensor *t = e.Tensor(*operand);
  t->bytes -= std::min<uint64_t>(t->bytes, 8 * (1 + e.UpTo(t->bytes / 8 + 1)));
  return true;
}

// So large that it covers the next tensor.
bool SizeLong(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(Any, &in)) return false;
  uint32_t *operand = ChooseOperand(e, in);
  if (!operand) return false;
  Dp__DeviceTensor *t = e.Tensor(*operand);
  uint64_t room = e.ArenaBytes(t->space) - t->offset;
  t->bytes = (t->bytes + kAlignment) / kAlignment * kAlignment + kAlignment * e.UpTo(8) + 8;
  if (t->bytes > room) t->bytes = room + (e.OneIn(2) ? 8 : 0);
  return true;
}

bool SizeArena(Edit &e) {
  Dp__Arena *arena = e.role->arenas[e.UpTo(e.role->n_arenas)];
  if (arena->bytes < kAlignment) return false;
  arena->bytes -= kAlignment * (1 + e.UpTo(arena->bytes / kAlignment));
  return true;
}

// ---- lifetimes ------------------------------------------------------------------------------------------------------

// Writes a tensor over another one that is still to be read.
bool LifetimeTensor(Edit &e) {
  Dp__Instruction *in, *other;
  Spot spot;
  if (!e.ChooseWhere(Any, &in, &spot) || !in->n_outputs || !in->outputs[0]) return false;
  uint32_t live = in->outputs[0];
  size_t first = 0, last = 0;
  if (e.Tensor(live)->space != DP__SPACE__TRANSIENT || !Lives(e, live, spot.stream, &first, &last)) return false;
  if (first + 1 >= last) return false;
  other = e.At({spot.stream, first + 1 + e.UpTo(last - first - 1)});
  if (!other->outputs[0] || other->outputs[0] == live) return false;
  Dp__DeviceTensor *t = e.Tensor(other->outputs[0]), *victim = e.Tensor(live);
  if (t->space != DP__SPACE__TRANSIENT || t->offset == victim->offset) return false;
  if (victim->offset + t->bytes > e.ArenaBytes(DP__SPACE__TRANSIENT)) return false;
  t->offset = victim->offset;
  return true;
}

// Puts scratch over a tensor that is still to be read.
bool LifetimeScratch(Edit &e) {
  Dp__Instruction *in, *other;
  Spot spot;
  if (!e.ChooseWhere(Any, &in, &spot) || !in->outputs[0]) return false;
  uint32_t live = in->outputs[0];
  size_t first = 0, last = 0;
  if (e.Tensor(live)->space != DP__SPACE__TRANSIENT || !Lives(e, live, spot.stream, &first, &last)) return false;
  other = e.At({spot.stream, first + 1 + e.UpTo(last - first)});
  if (!*other->kernel || HasScratch(other)) return false;
  other->scratch = e.New(dp__scratch__init);
  other->scratch->offset = e.Tensor(live)->offset;
  other->scratch->bytes = e.Tensor(live)->bytes;
  return true;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// Shifts one instruction's view of a tensor by a row.
bool RowOperand(Edit &e) {
  Dp__Instruction *in;
  if (!e.ChooseWhere(Any, &in)) return false;
  uint32_t *operand = ChooseOperand(e, in);
  if (!operand) return false;
  uint64_t row = RowBytes(e, e.Tensor(*operand));
  *operand = e.Clone(*operand);
  Dp__DeviceTensor *t = e.Tensor(*operand);
  if (e.OneIn(2) && t->offset >= row)
    t->offset -= row;
  else
    t->offset += row;
  return true;
}

// Splits another dim, or views the dim differently.
bool RowPlacement(Edit &e) {
  Dp__Instruction *in;
  auto sharded = [&](const Dp__Instruction *is) {
    for (size_t k = 0; k < is->n_outputs; k++)
      for (size_t a = 0; is->outputs[k] && a < e.plan->n_mesh; a++)
        if (e.Tensor(is->outputs[k])->placements[a]->kind == 1) return true;
    return false;
  };
  if (!e.ChooseWhere(sharded, &in)) return false;
  for (size_t k = 0; k < in->n_outputs; k++)
    for (size_t a = 0; in->outputs[k] && a < e.plan->n_mesh; a++) {
      Dp__Placement *p = e.Tensor(in->outputs[k])->placements[a];
      if (p->kind != 1) continue;
      const Dp__TensorType *type = e.Value(e.Tensor(in->outputs[k]))->type;
      switch (e.UpTo(4)) {
        case 0:
          p->unit = 2;
          break;
        case 1:
          p->outer = 2;
          break;
        case 2:
          p->dim = static_cast<uint32_t>((p->dim + 1) % std::max<size_t>(type->shape->n_dims, 1));
          break;
        default:
          p->kind = 0, p->dim = 0, p->outer = p->unit = 0;
      }
      return true;
    }
  return false;
}

// Shifts the storage of a variable by a row.
bool RowHome(Edit &e) {
  Dp__Variable *p = e.plan->variables[e.UpTo(e.plan->n_variables)];
  int64_t row = 8;
  for (size_t i = 1; i < p->type->shape->n_dims; i++) row *= p->type->shape->dims[i]->offset;
  p->offset += static_cast<uint64_t>(row);
  return true;
}

}  // namespace dp_test
