// Tasks and their schedule. See roles.h.
//
// A task is what a stage does for one micro-batch, forward or backward. Backward is what depends on a higher stage's
// work, so the last stage does both at once. Each stage has a list of tasks:
//
//   gpipe  F0 F1 ... B0 B1 ...
//   1f1b   min(m, p-1-s) forward tasks, then one forward and one backward in turn, then the remaining backward tasks:
//          never more than p-s micro-batches are in flight. Narayanan et al.: "PipeDream-Flush", of "Memory-Efficient
//          Pipeline-Parallel DNN Training", ICML 2021.
//
// A task begins when those it needs are done. Forward takes 1, backward 2, transfers nothing. The tasks are ordered by
// when they begin in this simulation.
#include <stdlib.h>

#include "passes/pipeline/roles.h"

// ---- which ----------------------------------------------------------------------------------------------------------

static void count_in(dp_roles_item *item, const dp_value *v) {
  if (v && v->micro_count && item->micro < v->micro_first + v->micro_count - 1)
    item->micro = v->micro_first + v->micro_count - 1;
}

void dp_roles_tasks_find(dp_roles *r) {
  int *top = dp_alloc_n(r->scratch, (size_t)r->n_items + 1, sizeof *top);  // the highest stage before
  for (int32_t i = 0; i < r->n_items; i++) {
    dp_roles_item *item = &r->items[i];
    const dp_node *node = item->node;
    top[i] = item->stage;
    if (item->from_host) continue;
    for (int k = 0; k < node->n_inputs; k++) {
      const dp_value *x = node->inputs[k];
      count_in(item, x);
      int32_t before = x && x->producer ? dp_roles_item_of(r, x, item->stage) : -1;
      if (before >= 0 && top[before] > top[i]) top[i] = top[before];
    }
    for (int k = 0; k < node->n_outputs; k++) count_in(item, node->outputs[k]);
    item->backward = top[i] > item->stage;
    // A task's results are combined as soon as they are available.
    const dp_value *x = node->n_inputs ? node->inputs[0] : NULL;
    if (item->micro >= 0 || !x || !x->producer || !dp_op_is(node->op, DP_OP_COMMUNICATION)) continue;
    const dp_roles_item *before = &r->items[dp_roles_item_of(r, x, item->stage)];
    if (before->stage == item->stage && !before->from_host) item->micro = before->micro;
  }
}

// ---- the simulation -------------------------------------------------------------------------------------------------

// Kinds of tasks: 2 * stage, and 1 more when backward.
typedef struct {
  int n_kinds, m;
  bool *present;  // (kinds)
  bool *needs;    // (kinds, kinds) for one micro-batch
  double *end;    // (kinds, m) when it is done; negative: not yet
} simulation;

static int kind_of(const dp_roles_item *item) { return 2 * item->stage + item->backward; }

static void find_needs(const dp_roles *r, simulation *s) {
  for (int32_t i = 0; i < r->n_items; i++) {
    const dp_roles_item *item = &r->items[i];
    if (item->micro < 0) continue;
    s->present[kind_of(item)] = true;
    for (int k = 0; k < item->node->n_inputs; k++) {
      const dp_value *x = item->node->inputs[k];
      if (!x || !x->producer) continue;
      const dp_roles_item *before = &r->items[dp_roles_item_of(r, x, item->stage)];
      if (before->micro == item->micro && kind_of(before) != kind_of(item))
        s->needs[kind_of(item) * s->n_kinds + kind_of(before)] = true;
    }
  }
}

// The tasks of a stage in their order. Returns how many.
static int list_tasks(const dp_roles *r, const simulation *s, int stage, bool gpipe, dp_roles_task *list) {
  int n = 0, forward = 0, backward = 0;
  int warm_up = gpipe ? r->m : (int)dp_min_i64(r->m, r->n_stages - 1 - stage);
  bool has[2] = {s->present[2 * stage], s->present[2 * stage + 1]};
  if (!has[1]) warm_up = r->m;
  while (forward < r->m || backward < r->m) {
    bool back = forward == r->m || (forward > warm_up && forward - warm_up > backward);
    int micro = back ? backward++ : forward++;
    if (has[back]) list[n++] = (dp_roles_task){.stage = stage, .micro = micro, .backward = back};
  }
  return n;
}

// Whether all tasks that it needs are done. Raises *start to the time when the last of them ends.
static bool is_ready(const simulation *s, const dp_roles_task *task, double *start) {
  const bool *needs = &s->needs[(2 * task->stage + task->backward) * s->n_kinds];
  for (int k = 0; k < s->n_kinds; k++) {
    if (!needs[k]) continue;
    double end = s->end[k * s->m + task->micro];
    if (end < 0) return false;
    if (end > *start) *start = end;
  }
  return true;
}

static int by_start(const void *a, const void *b) {
  const dp_roles_task *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  if (x->stage != y->stage) return x->stage < y->stage ? -1 : 1;
  return (x->micro > y->micro) - (x->micro < y->micro);
}

// Goes through the lists as far as possible. lists: (stages, 2 * m)
static void simulate(const dp_roles *r, simulation *s, dp_roles_task *lists, const int *counts) {
  int *next = dp_alloc_n(r->scratch, (size_t)r->n_stages, sizeof *next);
  double *idle = dp_alloc_n(r->scratch, (size_t)r->n_stages, sizeof *idle);
  bool any_backward = false;
  for (int k = 1; k < s->n_kinds; k += 2) any_backward |= s->present[k];
  for (bool moved = true; moved;) {
    moved = false;
    for (int stage = 0; stage < r->n_stages; stage++)
      while (next[stage] < counts[stage]) {
        dp_roles_task *task = &lists[stage * 2 * s->m + next[stage]];
        double start = idle[stage];
        if (!is_ready(s, task, &start)) break;
        bool both = any_backward && !s->present[2 * stage + 1];
        task->start = start;
        idle[stage] = start + (task->backward ? 2 : both ? 3 : 1);
        s->end[(2 * stage + task->backward) * s->m + task->micro] = idle[stage];
        next[stage]++;
        moved = true;
      }
  }
}

int32_t dp_roles_tasks_order(const dp_roles *r, bool gpipe, dp_roles_task **tasks) {
  simulation s = {.n_kinds = 2 * r->n_stages, .m = r->m};
  size_t n = (size_t)s.n_kinds;
  s.present = dp_alloc_n(r->scratch, n, sizeof *s.present);
  s.needs = dp_alloc_n(r->scratch, n * n, sizeof *s.needs);
  s.end = dp_alloc_n(r->scratch, n * (size_t)s.m, sizeof *s.end);
  for (size_t i = 0; i < n * (size_t)s.m; i++) s.end[i] = -1;
  find_needs(r, &s);
  dp_roles_task *lists = dp_alloc_n(r->scratch, n * (size_t)s.m + 1, sizeof *lists);
  int *counts = dp_alloc_n(r->scratch, (size_t)r->n_stages, sizeof *counts);
  for (int i = 0; i < r->n_stages; i++) counts[i] = list_tasks(r, &s, i, gpipe, &lists[i * 2 * s.m]);
  simulate(r, &s, lists, counts);
  int32_t count = 0;
  for (int i = 0; i < r->n_stages; i++)
    for (int k = 0; k < counts[i]; k++) {
      dp_roles_task task = lists[i * 2 * s.m + k];
      if (s.end[(2 * i + task.backward) * s.m + task.micro] < 0) return 0;
      lists[count++] = task;
    }
  qsort(lists, (size_t)count, sizeof *lists, by_start);
  *tasks = lists;
  return count;
}
