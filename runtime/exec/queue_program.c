// See queue_program.h.
#include "runtime/exec/queue_program.h"

#include <stdlib.h>

dp_lane_queue *dp_queue_program_queue(const dp_queue_set *set, const dp_queue_program *p, int lane) {
  return &set->queues[p->queue_of_lane[lane]];
}

// What one program's making needs, freed at its end.
typedef struct {
  const dp_task_graph *graph;
  int *order, *step_of;               // (units)
  int *first_before, *before, *left;  // edges backwards: of unit u, before[first_before[u] .. first_before[u + 1])
  int *known;                         // (lanes x lanes) the last step of another lane that a lane has waited for; -1
} queue_making;

static void release_making(queue_making *m) {
  free(m->order);
  free(m->step_of);
  free(m->first_before);
  free(m->before);
  free(m->left);
  free(m->known);
}

void dp_queue_program_release(const dp_queue_set *set, dp_queue_program *p) {
  const dp_queue_calls *calls = set->backend->queues;
  if (!p) return;
  for (int r = 0; r < DP_RUNS; r++)
    if (p->captured[r]) calls->capture_release(p->captured[r]);
  for (int s = 0; s < p->n_steps; s++) {
    dp_event *const events[] = {p->steps[s].signal, p->steps[s].begin, p->steps[s].end};
    for (size_t i = 0; i < DP_COUNT(events); i++)
      if (events[i]) calls->event_destroy(events[i]);
  }
  for (int c = 0; c < p->n_clocks; c++)
    if (p->origins[c]) calls->event_destroy(p->origins[c]);
  free(p->origins);
  free(p->origins_ns);
  free(p->members);
  free(p->queue_of_lane);
  free(p->steps);
  free(p->waits);
  free(p);
}

static void turn_edges(queue_making *m) {
  const dp_task_graph *g = m->graph;
  for (int u = 0; u < g->n_units; u++) m->first_before[u + 1] = m->first_before[u] + g->n_before[u];
  for (int u = 0; u < g->n_units; u++) m->left[u] = m->first_before[u];
  for (int u = 0; u < g->n_units; u++)
    for (int i = g->first_after[u]; i < g->first_after[u + 1]; i++) m->before[m->left[g->after[i]]++] = u;
}

// Notes what a step has to wait for: steps of other lanes, unless its lane has waited for them or a later one already.
static void note_waits(const queue_making *m, dp_queue_program *p, int s, int *n_waits) {
  const dp_task_graph *g = m->graph;
  dp_queue_step *step = &p->steps[s];
  const int lane = g->lane_of[step->unit];
  step->first_wait = *n_waits;
  for (int i = m->first_before[step->unit]; i < m->first_before[step->unit + 1]; i++) {
    int earlier = m->step_of[m->before[i]], from = g->lane_of[m->before[i]];
    int *known = &m->known[lane * g->n_lanes + from];
    if (from == lane || earlier <= *known) continue;
    *known = earlier;
    p->waits[(*n_waits)++] = earlier;
  }
  step->n_waits = *n_waits - step->first_wait;
}

static int device_of(const dp_task_graph *g, const dp_queue_step *step) {
  return g->lanes[g->lane_of[step->unit]].device;
}

// Events by which steps are timed, and one of each run's start on every clock.
static dp_status make_clocks(dp_queue_set *set, const dp_task_graph *g, dp_queue_program *p) {
  const dp_queue_calls *calls = set->backend->queues;
  for (int s = 0; s < p->n_steps; s++) {
    const int device = device_of(g, &p->steps[s]);
    DP_TRY(dp_queue_set_clock(set, device, &p->steps[s].clock));
    DP_TRY(calls->event_create(device, true, &p->steps[s].begin));
    DP_TRY(calls->event_create(device, true, &p->steps[s].end));
  }
  p->origins = calloc((size_t)set->n_clocks + 1, sizeof *p->origins);
  p->origins_ns = calloc((size_t)set->n_clocks + 1, sizeof *p->origins_ns);
  if (!p->origins || !p->origins_ns) return dp_fail(DP_EX_MEMORY, "no memory for a program of %d steps", g->n_units);
  p->n_clocks = set->n_clocks;
  for (int s = 0; s < p->n_steps; s++) {
    dp_event **origin = &p->origins[p->steps[s].clock];
    if (!*origin) DP_TRY(calls->event_create(set->clocks[p->steps[s].clock].device, true, origin));
  }
  return DP_OK;
}

// Room for the queues of the unit that has most members.
static dp_status make_members(const dp_task_graph *g, dp_queue_program *p) {
  p->most_members = 1;
  for (int u = 0; u < g->n_units && g->first_other; u++) {
    const int members = 1 + g->first_other[u + 1] - g->first_other[u];
    if (members > p->most_members) p->most_members = members;
  }
  p->members = calloc((size_t)p->most_members, sizeof *p->members);
  return p->members ? DP_OK : dp_fail(DP_EX_MEMORY, "no memory for a program of %d steps", g->n_units);
}

static dp_status make_steps(dp_queue_set *set, queue_making *m, dp_queue_program *p) {
  const dp_task_graph *g = m->graph;
  turn_edges(m);
  p->n_steps = dp_task_graph_order(g, m->order, m->left);
  int n_waits = 0;
  for (int i = 0; i < g->n_lanes * g->n_lanes; i++) m->known[i] = -1;
  for (int s = 0; s < p->n_steps; s++) {
    p->steps[s].unit = m->order[s];
    m->step_of[m->order[s]] = s;
    note_waits(m, p, s, &n_waits);
  }
  for (int w = 0; w < n_waits; w++) {
    dp_queue_step *step = &p->steps[p->waits[w]];
    if (!step->signal) DP_TRY(set->backend->queues->event_create(device_of(g, step), false, &step->signal));
  }
  if (g->record && p->n_steps) DP_TRY(make_clocks(set, g, p));
  DP_TRY(make_members(g, p));
  for (int l = 0; l < g->n_lanes; l++) {
    DP_TRY(dp_queue_set_find(set, g, l, &p->queue_of_lane[l]));
    p->several_chips |= dp_queue_set_chip(set, g->lanes[l].device) != dp_queue_set_chip(set, g->lanes[0].device);
  }
  return set->backend->queues->ready();
}

dp_status dp_queue_program_make(dp_queue_set *set, const dp_task_graph *graph, dp_queue_program **program) {
  const size_t units = (size_t)graph->n_units + 1, lanes = (size_t)graph->n_lanes + 1;
  const size_t edges = (size_t)graph->first_after[graph->n_units] + 1;
  queue_making m = {graph,
                    calloc(units, sizeof(int)),
                    calloc(units, sizeof(int)),
                    calloc(units, sizeof(int)),
                    calloc(edges, sizeof(int)),
                    calloc(units, sizeof(int)),
                    calloc(lanes * lanes, sizeof(int))};
  dp_queue_program *p = calloc(1, sizeof *p);
  if (p) {
    p->graph = graph;
    p->queue_of_lane = calloc(lanes, sizeof *p->queue_of_lane);
    p->steps = calloc(units, sizeof *p->steps);
    p->waits = calloc(edges, sizeof *p->waits);
  }
  bool all = p && p->queue_of_lane && p->steps && p->waits && m.order && m.step_of && m.first_before && m.before &&
             m.left && m.known;
  dp_status status =
      all ? make_steps(set, &m, p) : dp_fail(DP_EX_MEMORY, "no memory for a program of %d steps", graph->n_units);
  release_making(&m);
  if (status)
    dp_queue_program_release(set, p);
  else
    *program = p;
  return status;
}
