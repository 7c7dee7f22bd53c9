// Folds what repeats in a plan's lists into loops. See loops.h.
#include "ir/plan/loops.h"
#include "ir/plan/loops_find.h"

// ---- loops ----------------------------------------------------------------------------------------------------------

// By how much number k of item i is more in iteration j than in the one before.
static int64_t step_of(const dp_loops_items *f, const dp_loops_repeat *r, size_t i, size_t k, size_t j) {
  const dp_loops_item *now = &f->items[i + j * r->length], *before = now - r->length;
  return (int64_t)(now->numbers[k] - before->numbers[k]);
}

// The change of number k of item i; NULL: it stays.
static Dp__Change *change_of(dp_arena *arena, const dp_loops_items *f, const dp_loops_repeat *r, size_t i, size_t k) {
  const int64_t first = step_of(f, r, i, k, 1);
  bool regular = true;
  for (size_t j = 2; j < r->count; j++) regular &= step_of(f, r, i, k, j) == first;
  if (regular && !first) return NULL;
  Dp__Change *change = dp_alloc(arena, sizeof *change);
  dp__change__init(change);
  change->n_by = regular ? 1 : r->count - 1;
  change->by = dp_alloc_n(arena, change->n_by, sizeof *change->by);
  for (size_t j = 0; j < change->n_by; j++) change->by[j] = step_of(f, r, i, k, j + 1);
  return change;
}

static Dp__Loop *loop_of(dp_arena *arena, const dp_loops_items *f, const dp_loops_repeat *r, size_t first) {
  Dp__Loop *loop = dp_alloc(arena, sizeof *loop);
  dp__loop__init(loop);
  loop->first = (uint32_t)first;
  loop->length = (uint32_t)r->length;
  loop->count = (uint32_t)r->count;
  size_t number = 0;  // of the body's
  for (size_t i = r->first; i < r->first + r->length; i++)
    for (size_t k = 0; k < f->items[i].n_numbers; k++, number++) {
      Dp__Change *change = change_of(arena, f, r, i, k);
      if (!change) continue;
      change->number = (uint32_t)number;
      DP_PUSH(arena, loop->changes, loop->n_changes, change);
    }
  return loop;
}

// memory: that iterations of the plan take so far; what would take too much stays as it is.
// A list that has loops stays as it is.
static void fold(dp_arena *arena, dp_plan_list list, uint64_t *memory) {
  if (*list.n_loops) return;
  ProtobufCMessage **items = *list.items, **kept = dp_alloc_n(arena, *list.n_items, sizeof *kept);
  size_t n_kept = 0, from = 0;
  dp_arena *scratch = dp_arena_create_within(arena);
  const dp_loops_items f = dp_loops_look_at(scratch, *list.n_items, items);
  dp_loops_repeat *repeats = NULL;
  const size_t n_repeats = dp_loops_find(&f, &repeats);
  for (size_t i = 0; i < n_repeats; i++) {
    const dp_loops_repeat *r = &repeats[i];
    if (!dp_plan_loops_fit(items + r->first, r->length, r->count - 1, memory)) continue;
    while (from < r->first) kept[n_kept++] = items[from++];
    Dp__Loop *loop = loop_of(arena, &f, r, n_kept);
    DP_PUSH(arena, *list.loops, *list.n_loops, loop);
    while (from < r->first + r->length) kept[n_kept++] = items[from++];
    from = r->first + r->length * r->count;
  }
  while (from < *list.n_items) kept[n_kept++] = items[from++];
  *list.items = kept;
  *list.n_items = n_kept;
  dp_arena_destroy(scratch);
}

// ---- a plan ---------------------------------------------------------------------------------------------------------

// A copy of the array, whose messages are copies.
static void copy_each(dp_arena *arena, size_t count, void *array, size_t bytes) {
  void ***messages = array;
  if (!count) return;
  *messages = dp_memdup(arena, *messages, count * sizeof **messages);
  for (size_t i = 0; i < count; i++) (*messages)[i] = dp_memdup(arena, (*messages)[i], bytes);
}

static void fold_program(dp_arena *arena, Dp__Program *program, uint64_t *memory) {
  copy_each(arena, program->n_streams, &program->streams, sizeof **program->streams);
  fold(arena, dp_plan_list_of_tensors(program), memory);
  for (size_t s = 0; s < program->n_streams; s++)
    fold(arena, dp_plan_list_of_instructions(program->streams[s]), memory);
}

Dp__Plan *dp_plan_loops_fold(dp_arena *arena, const Dp__Plan *plan) {
  Dp__Plan *folded = dp_memdup(arena, plan, sizeof *plan);
  uint64_t memory = 0;
  copy_each(arena, folded->n_roles, &folded->roles, sizeof **folded->roles);
  for (size_t r = 0; r < folded->n_roles; r++) {
    Dp__Role *role = folded->roles[r];
    copy_each(arena, role->n_programs, &role->programs, sizeof **role->programs);
    for (size_t p = 0; p < role->n_programs; p++) fold_program(arena, role->programs[p], &memory);
  }
  return folded;
}
