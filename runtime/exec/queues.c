// See queues.h.
#include "runtime/exec/queues.h"

#include <stdlib.h>
#include <time.h>

typedef struct {
  const dp_backend *backend;
  int n_queues;
  dp_lane *lanes;  // (n_queues)
  dp_queue **queues;
  const dp_task_graph *running;  // NULL: no run
  const struct queue_program *program;
  dp_status failure;  // of issuing the run
  int failed_unit;
} queue_executor;

// Issues one unit.
typedef struct {
  int unit;
  int first_wait, n_waits;  // of the program's waits: steps
  dp_event *signal;         // NULL: nobody waits for it
  dp_event *begin, *end;    // timed; NULL: nobody asks
} queue_step;

typedef struct queue_program {
  int *queue_of_lane;  // (lanes) number in the executor
  int n_steps;
  queue_step *steps;  // in the order of issue
  int *waits;         // numbers of steps
  dp_event *origin;   // timed, of the run's start; NULL: nobody asks
  int64_t origin_ns;
} queue_program;

// ---- queues ---------------------------------------------------------------------------------------------------------

// The number of the executor's queue for a lane. Lanes of different programs that are alike share one: lane k of a
// program's device is the device's k-th queue.
static dp_status find_queue(queue_executor *e, const dp_task_graph *graph, int lane, int *found) {
  int earlier = 0;
  for (int l = 0; l < lane; l++) earlier += graph->lanes[l].device == graph->lanes[lane].device;
  for (int q = 0; q < e->n_queues; q++)
    if (e->lanes[q].device == graph->lanes[lane].device && !earlier--) {
      *found = q;
      return DP_OK;
    }
  size_t room = (size_t)e->n_queues + 1;
  dp_lane *lanes = realloc(e->lanes, room * sizeof *lanes);
  if (lanes) e->lanes = lanes;
  dp_queue **queues = realloc(e->queues, room * sizeof *queues);
  if (queues) e->queues = queues;
  if (!lanes || !queues) return dp_fail(DP_EX_MEMORY, "no memory for the queues of the devices");
  DP_TRY(e->backend->queues->create(graph->lanes[lane].device, graph->lanes[lane].urgent, &queues[e->n_queues]));
  e->lanes[e->n_queues] = graph->lanes[lane];
  *found = e->n_queues++;
  return DP_OK;
}

// ---- making ---------------------------------------------------------------------------------------------------------

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

static void release(void *executor, void *state) {
  const queue_executor *e = executor;
  queue_program *p = state;
  if (!p) return;
  for (int s = 0; s < p->n_steps; s++) {
    dp_event *const events[] = {p->steps[s].signal, p->steps[s].begin, p->steps[s].end};
    for (size_t i = 0; i < DP_COUNT(events); i++)
      if (events[i]) e->backend->queues->event_destroy(events[i]);
  }
  if (p->origin) e->backend->queues->event_destroy(p->origin);
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
static void note_waits(const queue_making *m, queue_program *p, int s, int *n_waits) {
  const dp_task_graph *g = m->graph;
  queue_step *step = &p->steps[s];
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

static int device_of(const dp_task_graph *g, const queue_step *step) { return g->lanes[g->lane_of[step->unit]].device; }

static dp_status make_clock(const queue_executor *e, const dp_task_graph *g, queue_program *p) {
  for (int s = 0; s < p->n_steps; s++) {
    DP_TRY(e->backend->queues->event_create(device_of(g, &p->steps[s]), true, &p->steps[s].begin));
    DP_TRY(e->backend->queues->event_create(device_of(g, &p->steps[s]), true, &p->steps[s].end));
  }
  return e->backend->queues->event_create(device_of(g, &p->steps[0]), true, &p->origin);
}

static dp_status make_steps(queue_executor *e, queue_making *m, queue_program *p) {
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
    queue_step *step = &p->steps[p->waits[w]];
    if (!step->signal) DP_TRY(e->backend->queues->event_create(device_of(g, step), false, &step->signal));
  }
  if (g->record && p->n_steps) DP_TRY(make_clock(e, g, p));
  for (int l = 0; l < g->n_lanes; l++) DP_TRY(find_queue(e, g, l, &p->queue_of_lane[l]));
  return e->backend->queues->ready();
}

static dp_status prepare(void *executor, const dp_task_graph *graph, void **state) {
  queue_executor *e = executor;
  const size_t units = (size_t)graph->n_units + 1, lanes = (size_t)graph->n_lanes + 1;
  const size_t edges = (size_t)graph->first_after[graph->n_units] + 1;
  queue_making m = {graph,
                    calloc(units, sizeof(int)),
                    calloc(units, sizeof(int)),
                    calloc(units, sizeof(int)),
                    calloc(edges, sizeof(int)),
                    calloc(units, sizeof(int)),
                    calloc(lanes * lanes, sizeof(int))};
  queue_program *p = calloc(1, sizeof *p);
  if (p) {
    p->queue_of_lane = calloc(lanes, sizeof *p->queue_of_lane);
    p->steps = calloc(units, sizeof *p->steps);
    p->waits = calloc(edges, sizeof *p->waits);
  }
  bool all = p && p->queue_of_lane && p->steps && p->waits && m.order && m.step_of && m.first_before && m.before &&
             m.left && m.known;
  dp_status status =
      all ? make_steps(e, &m, p) : dp_fail(DP_EX_MEMORY, "no memory for a program of %d steps", graph->n_units);
  release_making(&m);
  if (status)
    release(e, p);
  else
    *state = p;
  return status;
}

// ---- running --------------------------------------------------------------------------------------------------------

static dp_status issue(const queue_executor *e, const dp_task_graph *graph, const queue_program *p,
                       const queue_step *step) {
  const dp_queue_calls *calls = e->backend->queues;
  dp_queue *queue = e->queues[p->queue_of_lane[graph->lane_of[step->unit]]];
  for (int w = step->first_wait; w < step->first_wait + step->n_waits; w++)
    DP_TRY(calls->wait(queue, p->steps[p->waits[w]].signal));
  calls->begin(queue, step->unit);
  if (step->begin) DP_TRY(calls->signal(queue, step->begin));
  DP_TRY(graph->enqueue(graph->context, step->unit, queue));
  if (step->end) DP_TRY(calls->signal(queue, step->end));
  return step->signal ? calls->signal(queue, step->signal) : DP_OK;
}

static dp_status start_clock(const queue_executor *e, const dp_task_graph *graph, queue_program *p) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  p->origin_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  return e->backend->queues->signal(e->queues[p->queue_of_lane[graph->lane_of[p->steps[0].unit]]], p->origin);
}

static dp_status report_times(const queue_executor *e, const dp_task_graph *graph, const queue_program *p) {
  for (int s = 0; s < p->n_steps; s++) {
    const queue_step *step = &p->steps[s];
    double begin_ns, end_ns;
    DP_TRY(e->backend->queues->elapsed(p->origin, step->begin, &begin_ns));
    DP_TRY(e->backend->queues->elapsed(p->origin, step->end, &end_ns));
    graph->record(graph->context, step->unit, p->origin_ns + (int64_t)begin_ns, p->origin_ns + (int64_t)end_ns);
  }
  return DP_OK;
}

static dp_status start(void *executor, const dp_task_graph *graph, void *state) {
  queue_executor *e = executor;
  e->running = graph;
  e->program = state;
  e->failure = e->program->origin ? start_clock(e, graph, state) : DP_OK;
  e->failed_unit = -1;
  for (int s = 0; s < e->program->n_steps && !e->failure; s++) {
    e->failure = issue(e, graph, e->program, &e->program->steps[s]);
    e->failed_unit = e->program->steps[s].unit;
  }
  return DP_OK;
}

// What is wrong with the data tells more than what followed from it, and of two such reports that of the first unit.
static bool tells_more(dp_status a, int unit_a, dp_status b, int unit_b) {
  const bool data_a = dp_status_code(a) == EX_DATAERR, data_b = dp_status_code(b) == EX_DATAERR;
  return data_a != data_b ? data_a : data_a && unit_a < unit_b;
}

// Empties every queue, also after a failure, so that nothing runs on when the caller acts on it.
static dp_status wait(void *executor) {
  queue_executor *e = executor;
  const dp_task_graph *graph = e->running;
  dp_status failure = e->failure;
  int unit = e->failed_unit;
  e->running = NULL;
  e->failure = DP_OK;
  for (int l = 0; graph && l < graph->n_lanes; l++) {
    int at;
    dp_status status = e->backend->queues->finish(e->queues[e->program->queue_of_lane[l]], &at);
    if (!status) continue;
    if (failure && !tells_more(status, at, failure, unit)) {
      dp_status_free(status);
      continue;
    }
    dp_status_free(failure);
    failure = status;
    unit = at;
  }
  if (!failure && graph && e->program->origin) return report_times(e, graph, e->program);
  return failure && unit >= 0 ? graph->explain(graph->context, unit, failure) : failure;
}

static void destroy(void *executor) {
  queue_executor *e = executor;
  for (int q = 0; q < e->n_queues; q++) e->backend->queues->destroy(e->queues[q]);
  free(e->queues);
  free(e->lanes);
  free(e);
}

dp_status dp_queues_create(const dp_backend *backend, dp_executor *executor) {
  static const dp_executor_calls calls = {prepare, release, start, wait, destroy, NULL};
  queue_executor *e = calloc(1, sizeof *e);
  if (!e) return dp_fail(DP_EX_MEMORY, "no memory for the queues of the devices");
  e->backend = backend;
  *executor = (dp_executor){&calls, e};
  return DP_OK;
}
