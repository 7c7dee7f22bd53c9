// One order of all nodes of all stages. See roles.h.
//
// Tasks are visited in their order, and the nodes of each in the order of the graph. What a node needs and is not there
// yet is made first, so nodes of no micro-batch (prepared weights, denominators) come right before their first user.
// Partial results are combined as soon as they are available, so that few are live. The rest, the updates, comes last
// in the order of the graph; everything does when nothing belongs to a single micro-batch. A node that overwrites a
// variable comes after all that read it.
//
// A stage's nodes form runs. A task is one run. The rest is divided: a run ends before a node that takes a result of
// another stage which was not available when the run began. A transfer must precede its first user, but is moved ahead
// of it, to right after its value was made and the run before the user's began. It goes no earlier, so that a stage
// holds only what the current run and the next one need.
#include <string.h>

#include "passes/pipeline/roles.h"

enum { NO_TASK = -1, REST = -2 };

typedef struct crossing {
  int stage;
  struct crossing *next;
} crossing;

typedef struct {
  dp_roles *r;
  int32_t *first_reader, *readers;  // (variables + 1) items that read each
  int32_t *task_of;                 // (stages) the current task, by number
  crossing **crossings;             // (values) the stages to which it is transferred
  int32_t now;                      // the current task
  int32_t stack_size;
  int32_t *stack;
  int32_t *first_sum;       // (items) plus 1: what combines the item's results
  int32_t *next_sum;        // (items) plus 1: the next one that does so for the same item
  dp_roles_arrival **ends;  // (n_items + 1) the last of each list of arrivals
} work;

// ---- what comes first -----------------------------------------------------------------------------------------------

// Fills the variables' `readers`: items that are not from the host.
static void find_readers(work *w) {
  const dp_roles *r = w->r;
  int32_t n = r->graph->model->n_variables;
  w->first_reader = dp_alloc_n(r->scratch, (size_t)n + 2, sizeof *w->first_reader);
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < r->n_items; i++)
      for (int k = 0; k < r->items[i].node->n_inputs; k++) {
        const dp_value *x = r->items[i].node->inputs[k];
        if (!x || x->kind != DP_VALUE_VARIABLE) continue;
        if (pass)
          w->readers[w->first_reader[x->variable + 1]++] = i;
        else
          w->first_reader[x->variable + 2]++;
      }
    if (pass) break;
    for (int32_t p = 0; p < n; p++) w->first_reader[p + 2] += w->first_reader[p + 1];
    w->readers = dp_alloc_n(r->scratch, (size_t)w->first_reader[n + 1] + 1, sizeof *w->readers);
  }
}

static bool push_item(work *w, int32_t item) {
  const dp_roles_item *i = &w->r->items[item];
  if (i->from_host || i->position >= 0) return false;
  DP_PUSH(w->r->scratch, w->stack, w->stack_size, item);
  return true;
}

// Pushes the missing predecessors of an item; false when there are none.
static bool push_missing(work *w, int32_t item, const int32_t *overwrites) {
  const dp_roles *r = w->r;
  const dp_node *node = r->items[item].node;
  bool missing = false;
  // Pushed last, visited first.
  for (int k = node->n_inputs; k-- > 0;)
    if (node->inputs[k] && node->inputs[k]->producer)
      missing |= push_item(w, dp_roles_item_of(r, node->inputs[k], r->items[item].stage));
  for (int k = 0; k < node->n_outputs; k++) {
    int32_t p = node->outputs[k] ? overwrites[node->outputs[k]->id] - 1 : -1;
    for (int32_t i = p < 0 ? 0 : w->first_reader[p]; p >= 0 && i < w->first_reader[p + 1]; i++)
      if (r->items[w->readers[i]].node != node) missing |= push_item(w, w->readers[i]);
  }
  return missing;
}

// Whether the item combines partial results of a task, or those of the only micro-batch.
static bool is_sum(const dp_roles *r, const dp_roles_item *item) {
  if ((item->micro < 0 && r->m > 1) || !dp_op_is(item->node->op, DP_OP_COMMUNICATION)) return false;
  bool partial = false;
  for (int a = 0; a < DP_MAX_MESH; a++) partial |= item->node->inputs[0]->placements[a].kind == DP_PARTIAL;
  return partial;
}

static void find_sums(work *w) {
  dp_roles *r = w->r;
  w->first_sum = dp_alloc_n(r->scratch, (size_t)r->n_items + 1, sizeof *w->first_sum);
  w->next_sum = dp_alloc_n(r->scratch, (size_t)r->n_items + 1, sizeof *w->next_sum);
  for (int32_t i = r->n_items; i-- > 0;) {
    const dp_node *node = r->items[i].node;
    if (!is_sum(r, &r->items[i])) continue;
    // The last operand is the one that it waits for.
    const dp_value *x = node->inputs[node->n_inputs - 1];
    if (!x->producer) continue;
    int32_t *first = &w->first_sum[dp_roles_item_of(r, x, r->items[i].stage)];
    w->next_sum[i] = *first;
    *first = i + 1;
  }
}

static bool is_there(const work *w, const dp_roles_item *item) {
  bool there = true;
  for (int k = 0; k < item->node->n_inputs; k++) {
    const dp_value *x = item->node->inputs[k];
    there &= !x->producer || w->r->items[dp_roles_item_of(w->r, x, item->stage)].position >= 0;
  }
  return there;
}

// Pushes what combines the item's results, if all its operands are available.
static void push_sums(work *w, int32_t item) {
  for (int32_t i = w->first_sum[item] - 1; i >= 0; i = w->next_sum[i] - 1) {
    const dp_roles_item *sum = &w->r->items[i];
    if (sum->stage == w->r->items[item].stage && is_there(w, sum)) push_item(w, i);
  }
}

// ---- runs -----------------------------------------------------------------------------------------------------------

static bool has_begun(const dp_roles_runs *runs, int run) { return runs->count > run; }

// Whether an operand comes from another stage, was not available when the run began, and is not already in transit.
static bool is_late(const work *w, const dp_roles_item *item, int32_t began) {
  for (int k = 0; k < item->node->n_inputs; k++) {
    const dp_value *x = item->node->inputs[k];
    if (!x || !x->producer) continue;
    const dp_roles_item *before = &w->r->items[dp_roles_item_of(w->r, x, item->stage)];
    if (before->stage != item->stage && before->position > began) return true;
  }
  return false;
}

// Puts the item into a run of its stage.
static void enter_run(work *w, dp_roles_item *item, int *run) {
  dp_roles_runs *runs = &w->r->runs[item->stage];
  int32_t *task = &w->task_of[item->stage];
  bool own = w->now == REST || w->r->items[w->stack[0]].stage == item->stage;
  bool next = own && *task != w->now;
  if (own) *task = w->now;
  if (has_begun(runs, *run) && (next || is_late(w, item, runs->positions[*run]))) ++*run;
  item->run = *run;
}

// ---- transfers ------------------------------------------------------------------------------------------------------

// after: a position, or -1.
static void add_arrival(work *w, dp_roles_arrival arrival, int32_t after) {
  dp_roles *r = w->r;
  const dp_roles_runs *runs = &r->runs[arrival.stage];
  if (arrival.run > 0 && runs->positions[arrival.run - 1] > after) after = runs->positions[arrival.run - 1];
  dp_roles_arrival *a = dp_memdup(r->scratch, &arrival, sizeof arrival), **end = &w->ends[after + 1];
  if (*end)
    (*end)->next = a;
  else
    r->arrivals[after + 1] = a;
  *end = a;
}

static bool is_on_its_way(work *w, const dp_value *x, int stage) {
  for (const crossing *c = w->crossings[x->id]; c; c = c->next)
    if (c->stage == stage) return true;
  crossing *c = dp_alloc(w->r->scratch, sizeof *c);
  *c = (crossing){stage, w->crossings[x->id]};
  w->crossings[x->id] = c;
  return false;
}

// The transfers whose first user is the item.
static void add_arrivals(work *w, const dp_roles_item *item) {
  dp_roles *r = w->r;
  for (int k = 0; k < item->node->n_inputs; k++) {
    const dp_value *x = item->node->inputs[k];
    if (!x) continue;
    int from = dp_roles_source(r, x, item->stage);
    dp_roles_arrival arrival = {.stage = item->stage, .value = x, .from = from, .item = -1, .run = item->run};
    if (x->producer) arrival.item = dp_roles_item_of(r, x, item->stage);
    dp_roles_item *before = arrival.item < 0 ? NULL : &r->items[arrival.item];
    if (before && before->from_host) {
      if (before->position >= 0) continue;
      before->position = item->position;
      arrival.from = -1;
      add_arrival(w, arrival, -1);
    } else if (from != item->stage && !is_on_its_way(w, x, item->stage)) {
      add_arrival(w, arrival, before ? before->position : -1);
    }
  }
}

// ---- order ----------------------------------------------------------------------------------------------------------

static void append_item(work *w, int32_t index, int *run) {
  dp_roles *r = w->r;
  dp_roles_item *item = &r->items[index];
  enter_run(w, item, run);
  item->position = r->n_order;
  r->order[r->n_order++] = index;
  add_arrivals(w, item);
  dp_roles_runs *runs = &r->runs[item->stage];
  if (!has_begun(runs, *run) && !dp_op_is(item->node->op, DP_OP_COMMUNICATION))
    DP_PUSH(r->scratch, runs->positions, runs->count, item->position);
}

// The item, preceded by what it needs.
static void order_item(work *w, int32_t item, const int32_t *overwrites, int *runs) {
  if (!push_item(w, item)) return;
  while (w->stack_size) {
    int32_t top = w->stack[w->stack_size - 1];
    if (w->r->items[top].position >= 0) {
      w->stack_size--;
    } else if (!push_missing(w, top, overwrites)) {
      append_item(w, top, &runs[w->r->items[top].stage]);
      w->stack_size--;
      push_sums(w, top);
    }
  }
}

// The items of each task, in the graph's order: those of task (kind, micro) start at first[kind * m + micro].
static int32_t *by_task(const dp_roles *r, int32_t **first) {
  size_t n = 2 * (size_t)r->n_stages * (size_t)r->m;
  int32_t *at = *first = dp_alloc_n(r->scratch, n + 2, sizeof *at), *items;
  items = dp_alloc_n(r->scratch, (size_t)r->n_items + 1, sizeof *items);
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < r->n_items; i++) {
      const dp_roles_item *item = &r->items[i];
      if (item->micro < 0) continue;
      int32_t task = (2 * item->stage + item->backward) * r->m + item->micro;
      if (pass)
        items[at[task + 1]++] = i;
      else
        at[task + 2]++;
    }
    for (size_t t = 0; t < n && !pass; t++) at[t + 2] += at[t + 1];
  }
  return items;
}

// One micro-batch after the other, when the stages depend on each other in ways that no schedule supports.
static void go_by_micro(work *w, const int32_t *overwrites, int *runs) {
  for (int j = 0; j < w->r->m; j++)
    for (int32_t i = 0; i < w->r->n_items; i++)
      if (w->r->items[i].micro == j) order_item(w, i, overwrites, runs);
}

void dp_roles_order_make(dp_roles *r, bool gpipe) {
  const dp_graph *graph = r->graph;
  dp_arena *scratch = r->scratch;
  size_t n = (size_t)r->n_items + 2;
  work w = {.r = r, .now = REST};
  r->order = dp_alloc_n(scratch, n, sizeof *r->order);
  r->arrivals = dp_alloc_n(scratch, n, sizeof(dp_roles_arrival *));
  r->runs = dp_alloc_n(scratch, (size_t)r->n_stages, sizeof *r->runs);
  w.ends = dp_alloc_n(scratch, n, sizeof(dp_roles_arrival *));
  w.crossings = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof *w.crossings);
  w.task_of = dp_alloc_n(scratch, (size_t)r->n_stages, sizeof *w.task_of);
  for (int s = 0; s < r->n_stages; s++) w.task_of[s] = NO_TASK;
  find_readers(&w);
  find_sums(&w);
  int32_t *overwrites = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof *overwrites), *first;
  for (int i = 0; i < graph->n_updates; i++) overwrites[graph->updates[i].value->id] = graph->updates[i].variable + 1;
  int *runs = dp_alloc_n(scratch, (size_t)r->n_stages, sizeof *runs);
  dp_roles_task *tasks = NULL;
  int32_t n_tasks = dp_roles_tasks_order(r, gpipe, &tasks), *items = by_task(r, &first);
  for (w.now = 0; w.now < n_tasks; w.now++) {
    const dp_roles_task *t = &tasks[w.now];
    int32_t task = (2 * t->stage + t->backward) * r->m + t->micro;
    for (int32_t i = first[task]; i < first[task + 1]; i++) order_item(&w, items[i], overwrites, runs);
  }
  w.now = REST;
  if (!n_tasks) go_by_micro(&w, overwrites, runs);
  for (int32_t i = 0; i < r->n_items; i++) order_item(&w, i, overwrites, runs);
}
