// See queue_program.h.
#include "runtime/exec/queue_program.h"

#include <stdlib.h>

dp_lane_queue *dp_queue_program_queue(const dp_queue_set *set, const dp_queue_program *p, int lane) {
  return &set->queues[p->queue_of_lane[lane]];
}

// What one program's making needs, freed at its end.
typedef struct {
  const dp_task_graph *graph;
  int *order, *point_of;              // (units) the first point
  int *first_before, *before, *left;  // edges backwards: of unit u, before[first_before[u] .. first_before[u + 1])
  int *known;                         // (lanes x lanes) the last point of another lane that a lane has waited for; -1
} queue_making;

static void release_making(queue_making *m) {
  free(m->order);
  free(m->point_of);
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
  for (int i = 0; i < dp_queue_program_points(p); i++) {
    dp_event *const events[] = {p->points[i].signal, p->points[i].begin, p->points[i].end};
    for (size_t e = 0; e < DP_COUNT(events); e++)
      if (events[e]) calls->event_destroy(events[e]);
  }
  for (int c = 0; c < p->n_clocks; c++)
    if (p->origins[c]) calls->event_destroy(p->origins[c]);
  free(p->origins);
  free(p->origins_ns);
  free(p->queue_of_lane);
  free(p->steps);
  free(p->points);
  free(p->waits);
  free(p->members);
  free(p);
}

static void turn_edges(queue_making *m) {
  const dp_task_graph *g = m->graph;
  for (int u = 0; u < g->n_units; u++) m->first_before[u + 1] = m->first_before[u] + g->n_before[u];
  for (int u = 0; u < g->n_units; u++) m->left[u] = m->first_before[u];
  for (int u = 0; u < g->n_units; u++)
    for (int i = g->first_after[u]; i < g->first_after[u + 1]; i++) m->before[m->left[g->after[i]]++] = u;
}

// In how many lanes a unit begins and ends.
static int points_of(const dp_task_graph *g, int unit) { return g->spreads[unit] ? g->n_lanes_of[unit] : 1; }

// Whether a point of a unit comes after that of an earlier one, if the units do. What several devices meet for is after
// and before all of it; otherwise devices go on by themselves.
static bool follows(const dp_task_graph *g, int unit, int lane, int earlier, int from) {
  const bool gathers =
      (g->n_lanes_of[unit] > 1 && !g->spreads[unit]) || (g->n_lanes_of[earlier] > 1 && !g->spreads[earlier]);
  return gathers || g->lanes[lane].device == g->lanes[from].device;
}

// Notes what a point has to wait for: points of other lanes, unless its lane has waited for them or a later one
// already.
static void note_waits(const queue_making *m, dp_queue_program *p, int unit, int at, int *n_waits) {
  const dp_task_graph *g = m->graph;
  dp_queue_point *point = &p->points[at];
  point->first_wait = *n_waits;
  for (int i = m->first_before[unit]; i < m->first_before[unit + 1]; i++) {
    const int before = m->before[i];
    for (int k = 0; k < points_of(g, before); k++) {
      const int earlier = m->point_of[before] + k, from = g->lanes_of[before][k];
      int *known = &m->known[point->lane * g->n_lanes + from];
      if (from == point->lane || earlier <= *known || !follows(g, unit, point->lane, before, from)) continue;
      *known = earlier;
      p->waits[(*n_waits)++] = earlier;
    }
  }
  point->n_waits = *n_waits - point->first_wait;
}

static int device_of(const dp_task_graph *g, const dp_queue_point *point) { return g->lanes[point->lane].device; }

int dp_queue_program_points(const dp_queue_program *p) {
  const dp_queue_step *last = p->n_steps ? &p->steps[p->n_steps - 1] : NULL;
  return last ? last->first_point + last->n_points : 0;
}

// Events by which points are timed, and one of each run's start on every clock.
static dp_status make_clocks(dp_queue_set *set, const dp_task_graph *g, dp_queue_program *p) {
  const dp_queue_calls *calls = set->backend->queues;
  const int n_points = dp_queue_program_points(p);
  for (int i = 0; i < n_points; i++) {
    const int device = device_of(g, &p->points[i]);
    DP_TRY(dp_queue_set_clock(set, device, &p->points[i].clock));
    DP_TRY(calls->event_create(device, true, &p->points[i].begin));
    DP_TRY(calls->event_create(device, true, &p->points[i].end));
  }
  p->origins = calloc((size_t)set->n_clocks + 1, sizeof *p->origins);
  p->origins_ns = calloc((size_t)set->n_clocks + 1, sizeof *p->origins_ns);
  if (!p->origins || !p->origins_ns) return dp_fail(DP_EX_MEMORY, "no memory for a program of %d steps", g->n_units);
  p->n_clocks = set->n_clocks;
  for (int i = 0; i < n_points; i++) {
    dp_event **origin = &p->origins[p->points[i].clock];
    if (!*origin) DP_TRY(calls->event_create(set->clocks[p->points[i].clock].device, true, origin));
  }
  return DP_OK;
}

static dp_status make_steps(dp_queue_set *set, queue_making *m, dp_queue_program *p) {
  const dp_task_graph *g = m->graph;
  turn_edges(m);
  const int n_steps = dp_task_graph_order(g, m->order, m->left);
  int n_waits = 0, n_points = 0;
  for (int i = 0; i < g->n_lanes * g->n_lanes; i++) m->known[i] = -1;
  for (int s = 0; s < n_steps; s++) {
    const int unit = m->order[s];
    p->steps[s] = (dp_queue_step){unit, n_points, points_of(g, unit)};
    m->point_of[unit] = n_points;
    for (int k = 0; k < points_of(g, unit); k++, n_points++) {
      p->points[n_points].lane = g->lanes_of[unit][k];
      note_waits(m, p, unit, n_points, &n_waits);
    }
  }
  p->n_steps = n_steps;
  for (int w = 0; w < n_waits; w++) {
    dp_queue_point *point = &p->points[p->waits[w]];
    if (!point->signal) DP_TRY(set->backend->queues->event_create(device_of(g, point), false, &point->signal));
  }
  if (g->record && p->n_steps) DP_TRY(make_clocks(set, g, p));
  for (int l = 0; l < g->n_lanes; l++) {
    DP_TRY(dp_queue_set_find(set, g, l, &p->queue_of_lane[l]));
    p->several_chips |= dp_queue_set_chip(set, g->lanes[l].device) != dp_queue_set_chip(set, g->lanes[0].device);
  }
  return set->backend->queues->ready();
}

// How many points a program has, and at most how many waits.
static void count(const dp_task_graph *g, size_t *points, size_t *waits) {
  for (int u = 0; u < g->n_units; u++) {
    *points += (size_t)points_of(g, u);
    for (int i = g->first_after[u]; i < g->first_after[u + 1]; i++)
      *waits += (size_t)points_of(g, u) * (size_t)points_of(g, g->after[i]);
  }
}

dp_status dp_queue_program_make(dp_queue_set *set, const dp_task_graph *graph, dp_queue_program **program) {
  const size_t units = (size_t)graph->n_units + 1, lanes = (size_t)graph->n_lanes + 1;
  const size_t edges = (size_t)graph->first_after[graph->n_units] + 1;
  size_t points = 1, waits = 1;
  count(graph, &points, &waits);
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
    p->points = calloc(points, sizeof *p->points);
    p->waits = calloc(waits, sizeof *p->waits);
    p->members = calloc(lanes, sizeof(dp_queue *));
  }
  bool all = p && p->queue_of_lane && p->steps && p->points && p->waits && p->members && m.order && m.point_of &&
             m.first_before && m.before && m.left && m.known;
  dp_status status =
      all ? make_steps(set, &m, p) : dp_fail(DP_EX_MEMORY, "no memory for a program of %d steps", graph->n_units);
  release_making(&m);
  if (status)
    dp_queue_program_release(set, p);
  else
    *program = p;
  return status;
}
