// See tasks.h. A task's steps are adjacent on the compute stream. Steps between them that belong to no micro-batch, or
// to an earlier one, count as part of the task too. So do collectives of the same micro-batch, and collectives of no
// micro-batch whose first user is a step of the task, such as gathers of parameters: they take no time, so they need
// not wait for each other on their stream. Every other step is a unit of its own.
#include "ir/plan/report/tasks.h"

#include <string.h>

typedef struct {
  const dp_plan_steps *steps;
  uint32_t *unit;      // (steps) the first step of its task, or the step that stands for it
  uint32_t *begin_of;  // (steps) for a task, its first computing step, plus 1; 0: not a task
  double *ns;          // (units)
  uint32_t *missing;   // (units)
  double *begin;       // (units)
  uint32_t *task;      // (micro-batches, forward and backward) the current role's task by its first step, plus 1
} tasks;

// A valid plan has no more micro-batches than steps.
static bool is_of_task(const dp_plan_steps *s, const dp_plan_step *step) {
  return dp_plan_step_computes(step) && step->micro >= 0 && (uint32_t)step->micro < s->n_steps;
}

// The steps of one stream, from `first` to before `end`.
static void divide_stream(tasks *t, uint32_t first, uint32_t end, bool stage_backs, bool trains, double *sum) {
  const dp_plan_steps *s = t->steps;
  uint32_t open = end, done = first;  // the current task; steps before `done` are divided
  for (uint32_t i = first; i < end; i++) {
    const dp_plan_step *step = &s->steps[i];
    if (!is_of_task(s, step)) continue;
    uint32_t *task = &t->task[2 * (size_t)step->micro + step->backward];
    if (*task <= first) {
      *task = i + 1;
      open = done = i;
      t->begin_of[i] = i + 1;
      t->ns[i] = step->backward ? 2 : trains && !stage_backs ? 3 : 1;
      *sum += t->ns[i];
    }
    for (; done <= i; done++) t->unit[done] = open;
  }
}

static bool is_collective(const dp_plan_step *step) {
  const Dp__Communication *c = step->in->communication;
  return c && c->n_axes && !c->n_peer && strcmp(step->in->op, "Slice") && strcmp(step->in->op, "Accumulate");
}

// The steps of one role, from `first` to before `end`, whose tasks are known. user: (tensors) scratch.
static void join_collectives(tasks *t, uint32_t first, uint32_t end, uint32_t *user) {
  const dp_plan_steps *s = t->steps;
  for (uint32_t i = end; i-- > first;)
    for (size_t k = 0; k < s->steps[i].in->n_inputs; k++)
      if (s->steps[i].in->inputs[k] && dp_plan_step_computes(&s->steps[i])) user[s->steps[i].in->inputs[k] - 1] = i + 1;
  for (uint32_t i = first; i < end; i++) {
    const dp_plan_step *step = &s->steps[i];
    if (!is_collective(step) || t->unit[i] != i) continue;
    uint32_t own = 0;
    if (step->micro >= 0 && (uint32_t)step->micro < s->n_steps)
      own = t->task[2 * (size_t)step->micro + step->backward];
    else if (step->in->outputs[0] && user[step->in->outputs[0] - 1])
      own = t->unit[user[step->in->outputs[0] - 1] - 1] + 1;
    if (own > first && t->begin_of[own - 1]) t->unit[i] = own - 1;
  }
}

static void divide_into_tasks(dp_arena *arena, tasks *t, double *sums) {
  const dp_plan_steps *s = t->steps;
  const size_t n_roles = s->plan->n_roles;
  bool *backs = dp_alloc_n(arena, n_roles, sizeof *backs), trains = n_roles == 1;
  for (uint32_t i = 0; i < s->n_steps; i++) {
    t->unit[i] = s->one[i];
    if (!is_of_task(s, &s->steps[i])) continue;
    backs[s->steps[i].role] |= s->steps[i].backward;
    trains |= s->steps[i].backward;
  }
  memset(sums, 0, n_roles * sizeof *sums);
  for (uint32_t i = 0, begin = 0, end; i < s->n_steps; i = end) {
    const dp_plan_step *step = &s->steps[i];
    for (end = i; end < s->n_steps && s->steps[end].role == step->role && s->steps[end].stream == step->stream;) end++;
    divide_stream(t, i, end, backs[step->role], trains, &sums[step->role]);
    if (end < s->n_steps && s->steps[end].role == step->role) continue;
    join_collectives(t, begin, end, dp_alloc_n(arena, s->programs[step->role]->n_tensors + 1, sizeof *t->unit));
    begin = end;
  }
}

static bool uses(const dp_plan_step *user, const dp_plan_step *maker) {
  for (size_t k = 0; k < user->in->n_inputs; k++)
    for (size_t o = 0; o < maker->in->n_outputs; o++)
      if (user->in->inputs[k] && user->in->inputs[k] == maker->in->outputs[o]) return true;
  return false;
}

// When the first step allows the second, in another unit, to begin.
static double lets_begin(const tasks *t, uint32_t before, uint32_t after) {
  uint32_t unit = t->unit[before];
  bool at_once = t->begin_of[unit] == before + 1 && !uses(&t->steps->steps[after], &t->steps->steps[before]);
  return t->begin[unit] + (at_once ? 0 : t->ns[unit]);
}

// ---- the clock ------------------------------------------------------------------------------------------------------

typedef struct {
  uint32_t *first, *step, *after;  // by unit: edges from its steps to steps of other units
} edges;

// Whether the k-th predecessor of step i must also precede it in time.
static bool counts(const tasks *t, uint32_t i, uint32_t k) {
  const dp_plan_step *step = &t->steps->steps[i], *before = &t->steps->steps[t->steps->before[k]];
  bool same_stream = before->role == step->role && before->stream == step->stream;
  return t->unit[t->steps->before[k]] != t->unit[i] && !(same_stream && is_collective(step) && is_collective(before));
}

static edges turn_round(dp_arena *arena, tasks *t) {
  const dp_plan_steps *s = t->steps;
  uint32_t n = s->n_steps;
  edges e = {dp_alloc_n(arena, (size_t)n + 2, sizeof *e.first),
             dp_alloc_n(arena, (size_t)s->first[n] + 1, sizeof *e.step),
             dp_alloc_n(arena, (size_t)s->first[n] + 1, sizeof *e.after)};
  for (int fill = 0; fill < 2; fill++) {
    for (uint32_t i = 0; i < n; i++)
      for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++) {
        uint32_t from = t->unit[s->before[k]];
        if (!counts(t, i, k)) continue;
        if (!fill) {
          e.first[from + 2]++;
          t->missing[t->unit[i]]++;
          continue;
        }
        e.step[e.first[from + 1]] = s->before[k];
        e.after[e.first[from + 1]++] = i;
      }
    for (uint32_t i = 0; i < n && !fill; i++) e.first[i + 2] += e.first[i + 1];
  }
  return e;
}

double dp_plan_tasks_run(dp_arena *arena, const dp_plan_steps *steps, double *sums) {
  const size_t n = (size_t)steps->n_steps + 1;
  tasks t = {steps,
             dp_alloc_n(arena, n, sizeof *t.unit),
             dp_alloc_n(arena, n, sizeof *t.begin_of),
             dp_alloc_n(arena, n, sizeof *t.ns),
             dp_alloc_n(arena, n, sizeof *t.missing),
             dp_alloc_n(arena, n, sizeof *t.begin),
             dp_alloc_n(arena, 2 * n, sizeof *t.task)};
  divide_into_tasks(arena, &t, sums);
  if (steps->plan->n_roles == 1) return sums[0];  // a single stage waits for no other, and its tasks may overlap
  edges e = turn_round(arena, &t);
  uint32_t *ready = dp_alloc_n(arena, n, sizeof *ready), count = 0, units = 0;
  double last = 0;
  for (uint32_t i = 0; i < steps->n_steps; i++) {
    units += t.unit[i] == i;
    if (t.unit[i] == i && !t.missing[i]) ready[count++] = i;
  }
  for (uint32_t k = 0; k < count; k++) {
    uint32_t unit = ready[k];
    if (t.begin[unit] + t.ns[unit] > last) last = t.begin[unit] + t.ns[unit];
    for (uint32_t i = e.first[unit]; i < e.first[unit + 1]; i++) {
      uint32_t after = t.unit[e.after[i]];
      double at = lets_begin(&t, e.step[i], e.after[i]);
      if (at > t.begin[after]) t.begin[after] = at;
      if (!--t.missing[after]) ready[count++] = after;
    }
  }
  return count == units ? last : -1;
}
