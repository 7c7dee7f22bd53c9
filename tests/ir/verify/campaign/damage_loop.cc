// Damages to loops of the file: iterations missing or too many, and differences between them that are not right.
#include "ir/plan/loops.h"
#include "tests/ir/verify/campaign/damage_kinds.h"

namespace dp_test {

namespace {

// Folds the plan and chooses a loop of the program.
bool ChooseLoop(Edit &e, Dp__Loop **loop) {
  const size_t role = e.RoleIndex();
  e.plan = dp_plan_loops_fold(e.arena, e.plan);
  e.Enter(role);
  std::vector<Dp__Loop *> loops(e.program->loops, e.program->loops + e.program->n_loops);
  for (size_t s = 0; s < e.program->n_streams; s++) {
    const Dp__Stream *stream = e.program->streams[s];
    loops.insert(loops.end(), stream->loops, stream->loops + stream->n_loops);
  }
  return e.Choose(loops, loop);
}

// Each change has as many differences as before, or one more or fewer.
void SetCount(Edit &e, Dp__Loop *loop, uint32_t count) {
  for (size_t i = 0; i < loop->n_changes; i++) {
    Dp__Change *c = loop->changes[i];
    if (c->n_by == 1) continue;
    if (count < loop->count)
      c->n_by--;
    else
      Append(e.arena, &c->n_by, &c->by, c->by[e.UpTo(c->n_by)]);
  }
  loop->count = count;
}

}  // namespace

bool LoopShort(Edit &e) {
  Dp__Loop *loop;
  if (!ChooseLoop(e, &loop)) return false;
  SetCount(e, loop, loop->count - 1);
  return true;
}

bool LoopLong(Edit &e) {
  Dp__Loop *loop;
  if (!ChooseLoop(e, &loop)) return false;
  SetCount(e, loop, loop->count + 1);
  return true;
}

// One number changes by more or less: by one, or by an arena's alignment.
bool LoopChange(Edit &e) {
  Dp__Loop *loop;
  if (!ChooseLoop(e, &loop) || !loop->n_changes) return false;
  Dp__Change *c = loop->changes[e.UpTo(loop->n_changes)];
  static const int64_t wrong[] = {1, -1, 64, -64};
  c->by[e.UpTo(c->n_by)] += wrong[e.UpTo(4)];
  return true;
}

// Another number changes instead.
bool LoopNumber(Edit &e) {
  Dp__Loop *loop;
  if (!ChooseLoop(e, &loop) || !loop->n_changes) return false;
  const size_t i = e.UpTo(loop->n_changes);
  const uint32_t number = loop->changes[i]->number;
  const bool free_after = i + 1 == loop->n_changes || loop->changes[i + 1]->number > number + 1;
  const bool free_before = number && (!i || loop->changes[i - 1]->number < number - 1);
  if (!free_after && !free_before) return false;
  loop->changes[i]->number += free_after ? 1 : -1u;
  return true;
}

// One number stays.
bool LoopStays(Edit &e) {
  Dp__Loop *loop;
  if (!ChooseLoop(e, &loop) || !loop->n_changes) return false;
  Remove(&loop->n_changes, loop->changes, e.UpTo(loop->n_changes));
  return true;
}

// The body begins an item later or earlier.
bool LoopMoved(Edit &e) {
  Dp__Loop *loop;
  if (!ChooseLoop(e, &loop)) return false;
  loop->first += e.OneIn(2) || !loop->first ? 1 : -1u;
  return true;
}

}  // namespace dp_test
