// See queues.h. Reports of wrong data come with the number of a unit, times two, plus the slot of its run, since both
// runs that may be on use the same queues.
#include "runtime/exec/queues.h"

#include <stdlib.h>
#include <time.h>

enum { RUNS = 2 };  // at once

typedef struct {
  dp_lane lane;
  dp_queue *queue;
  dp_event *over;   // when the older run's part of it is done
  dp_event *taken;  // when the part of the run started last is done, where that is ahead
} executor_queue;

// A run that is on.
typedef struct {
  const dp_task_graph *graph;
  const struct queue_program *program;
  int slot;
  dp_status failure;  // of issuing it
  int failed_unit;
} queue_run;

typedef struct {
  const dp_backend *backend;
  int n_queues;
  executor_queue *queues;  // (n_queues)
  dp_event *joined;        // when the older run is over; NULL: there is no queue yet
  dp_queue *clock;         // an idle queue, on which runs note when they were started; NULL: nobody asks
  int n_runs, slot;        // slot: of the next run
  queue_run runs[RUNS];    // the older first
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

static dp_status add_queue(queue_executor *e, const dp_lane *lane) {
  const dp_queue_calls *calls = e->backend->queues;
  executor_queue *queues = realloc(e->queues, ((size_t)e->n_queues + 1) * sizeof *queues);
  if (!queues) return dp_fail(DP_EX_MEMORY, "no memory for the queues of the devices");
  e->queues = queues;
  executor_queue *q = &queues[e->n_queues];
  *q = (executor_queue){.lane = *lane};
  DP_TRY(calls->create(lane->device, lane->urgent, &q->queue));
  e->n_queues++;  // from here on, destroy releases it
  DP_TRY(calls->event_create(lane->device, false, &q->over));
  DP_TRY(calls->event_create(lane->device, false, &q->taken));
  return e->joined ? DP_OK : calls->event_create(lane->device, false, &e->joined);
}

// The number of the executor's queue for a lane. Lanes of different programs that are alike share one: lane k of a
// program's device is the device's k-th queue.
static dp_status find_queue(queue_executor *e, const dp_task_graph *graph, int lane, int *found) {
  int earlier = 0;
  for (int l = 0; l < lane; l++) earlier += graph->lanes[l].device == graph->lanes[lane].device;
  for (int q = 0; q < e->n_queues; q++)
    if (e->queues[q].lane.device == graph->lanes[lane].device && !earlier--) {
      *found = q;
      return DP_OK;
    }
  *found = e->n_queues;
  return add_queue(e, &graph->lanes[lane]);
}

static executor_queue *queue_of(const queue_executor *e, const queue_program *p, int lane) {
  return &e->queues[p->queue_of_lane[lane]];
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

static dp_status make_clock(queue_executor *e, const dp_task_graph *g, queue_program *p) {
  for (int s = 0; s < p->n_steps; s++) {
    DP_TRY(e->backend->queues->event_create(device_of(g, &p->steps[s]), true, &p->steps[s].begin));
    DP_TRY(e->backend->queues->event_create(device_of(g, &p->steps[s]), true, &p->steps[s].end));
  }
  const int device = device_of(g, &p->steps[0]);
  if (!e->clock) DP_TRY(e->backend->queues->create(device, true, &e->clock));
  return e->backend->queues->event_create(device, true, &p->origin);
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

// ---- starting -------------------------------------------------------------------------------------------------------

static dp_status issue(const queue_executor *e, const queue_run *run, const queue_step *step) {
  const dp_queue_calls *calls = e->backend->queues;
  const queue_program *p = run->program;
  dp_queue *queue = queue_of(e, p, run->graph->lane_of[step->unit])->queue;
  for (int w = step->first_wait; w < step->first_wait + step->n_waits; w++)
    DP_TRY(calls->wait(queue, p->steps[p->waits[w]].signal));
  calls->begin(queue, step->unit * RUNS + run->slot);
  if (step->begin) DP_TRY(calls->signal(queue, step->begin));
  DP_TRY(run->graph->enqueue(run->graph->context, step->unit, queue));
  if (step->end) DP_TRY(calls->signal(queue, step->end));
  return step->signal ? calls->signal(queue, step->signal) : DP_OK;
}

static dp_status start_clock(const queue_executor *e, queue_program *p) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  p->origin_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  return e->backend->queues->signal(e->clock, p->origin);
}

// What is not ahead begins when the older run is over: one queue waits for all of that run's, and the others for it.
static dp_status follow(const queue_executor *e, const queue_run *older, const queue_run *run) {
  const dp_queue_calls *calls = e->backend->queues;
  int first = 0;
  for (int l = 0; l < older->graph->n_lanes; l++) {
    const executor_queue *q = queue_of(e, older->program, l);
    DP_TRY(calls->signal(q->queue, q->over));
  }
  while (first < run->graph->n_lanes && run->graph->lanes[first].ahead) first++;
  if (first == run->graph->n_lanes) return DP_OK;
  dp_queue *joining = queue_of(e, run->program, first)->queue;
  for (int l = 0; l < older->graph->n_lanes; l++) {
    const executor_queue *q = queue_of(e, older->program, l);
    if (q->queue != joining) DP_TRY(calls->wait(joining, q->over));
  }
  DP_TRY(calls->signal(joining, e->joined));
  for (int l = first + 1; l < run->graph->n_lanes; l++)
    if (!run->graph->lanes[l].ahead) DP_TRY(calls->wait(queue_of(e, run->program, l)->queue, e->joined));
  return DP_OK;
}

static dp_status issue_all(const queue_executor *e, queue_run *run) {
  const dp_queue_calls *calls = e->backend->queues;
  if (e->n_runs) DP_TRY(follow(e, &e->runs[0], run));
  for (int s = 0; s < run->program->n_steps; s++) {
    run->failed_unit = run->program->steps[s].unit;
    DP_TRY(issue(e, run, &run->program->steps[s]));
  }
  run->failed_unit = -1;
  for (int l = 0; l < run->graph->n_lanes; l++) {
    const executor_queue *q = queue_of(e, run->program, l);
    if (run->graph->lanes[l].ahead) DP_TRY(calls->signal(q->queue, q->taken));
  }
  return DP_OK;
}

static dp_status start(void *executor, const dp_task_graph *graph, void *state) {
  queue_executor *e = executor;
  queue_program *p = state;
  queue_run run = {.graph = graph, .program = p, .slot = e->slot, .failed_unit = -1};
  run.failure = p->origin ? start_clock(e, p) : DP_OK;
  if (!run.failure) run.failure = issue_all(e, &run);
  e->slot = !e->slot;
  e->runs[e->n_runs++] = run;
  return DP_OK;
}

// A run that could not be issued tells so when it is waited for.
static dp_status taken(void *executor) {
  const queue_executor *e = executor;
  const queue_run *run = e->n_runs ? &e->runs[e->n_runs - 1] : NULL;
  for (int l = 0; run && !run->failure && l < run->graph->n_lanes; l++)
    if (run->graph->lanes[l].ahead) DP_TRY(e->backend->queues->await(queue_of(e, run->program, l)->taken));
  return DP_OK;
}

// ---- waiting --------------------------------------------------------------------------------------------------------

static dp_status report_times(const queue_executor *e, const queue_run *run) {
  const queue_program *p = run->program;
  DP_TRY(e->backend->queues->await(p->origin));
  for (int s = 0; s < p->n_steps; s++) {
    const queue_step *step = &p->steps[s];
    double begin_ns, end_ns;
    DP_TRY(e->backend->queues->elapsed(p->origin, step->begin, &begin_ns));
    DP_TRY(e->backend->queues->elapsed(p->origin, step->end, &end_ns));
    run->graph->record(run->graph->context, step->unit, p->origin_ns + (int64_t)begin_ns,
                       p->origin_ns + (int64_t)end_ns);
  }
  return DP_OK;
}

// Blocks until the older run is over, while another one is on. *reported: whether it cannot take its data.
static dp_status await_older(const queue_executor *e, bool *reported) {
  const queue_run *run = &e->runs[0];
  for (int l = 0; l < run->graph->n_lanes; l++) {
    const executor_queue *q = queue_of(e, run->program, l);
    DP_TRY(e->backend->queues->await(q->over));
    const int by = e->backend->queues->reported(q->queue);
    *reported |= by >= 0 && by % RUNS == run->slot;
  }
  return DP_OK;
}

// What is wrong with the data tells more than what followed from it, and of two such reports that of the first unit.
static bool tells_more(dp_status a, int unit_a, dp_status b, int unit_b) {
  const bool data_a = dp_status_code(a) == EX_DATAERR, data_b = dp_status_code(b) == EX_DATAERR;
  return data_a != data_b ? data_a : data_a && unit_a < unit_b;
}

// Empties every queue, also after a failure, so that nothing runs on when the caller acts on it. Returns what the older
// run has failed with.
static dp_status empty(const queue_executor *e, dp_status failure) {
  const queue_run *run = &e->runs[0];
  int unit = failure == run->failure ? run->failed_unit : -1;
  for (int q = 0; q < e->n_queues; q++) {
    int by;
    dp_status status = e->backend->queues->finish(e->queues[q].queue, &by);
    const bool younger = by >= 0 && by % RUNS != run->slot;
    const int at = by < 0 ? -1 : by / RUNS;
    if (!status || younger || (failure && !tells_more(status, at, failure, unit))) {
      dp_status_free(status);
      continue;
    }
    dp_status_free(failure);
    failure = status;
    unit = at;
  }
  return failure && unit >= 0 ? run->graph->explain(run->graph->context, unit, failure) : failure;
}

static dp_status wait(void *executor) {
  queue_executor *e = executor;
  if (!e->n_runs) return DP_OK;
  const queue_run run = e->runs[0];
  bool reported = false;
  dp_status failure = run.failure;
  if (!failure && e->n_runs == RUNS) failure = await_older(e, &reported);
  if (failure || reported || e->n_runs < RUNS) failure = empty(e, failure);
  if (!failure && run.program->origin) failure = report_times(e, &run);
  for (e->n_runs--; failure && e->n_runs; e->n_runs--) dp_status_free(e->runs[1].failure);
  e->runs[0] = e->runs[1];
  return failure;
}

static void destroy(void *executor) {
  queue_executor *e = executor;
  const dp_queue_calls *calls = e->backend->queues;
  for (int q = 0; q < e->n_queues; q++) {
    calls->destroy(e->queues[q].queue);
    if (e->queues[q].over) calls->event_destroy(e->queues[q].over);
    if (e->queues[q].taken) calls->event_destroy(e->queues[q].taken);
  }
  if (e->joined) calls->event_destroy(e->joined);
  if (e->clock) calls->destroy(e->clock);
  free(e->queues);
  free(e);
}

dp_status dp_queues_create(const dp_backend *backend, dp_executor *executor) {
  static const dp_executor_calls calls = {prepare, release, start, taken, wait, destroy, NULL};
  queue_executor *e = calloc(1, sizeof *e);
  if (!e) return dp_fail(DP_EX_MEMORY, "no memory for the queues of the devices");
  e->backend = backend;
  *executor = (dp_executor){&calls, e};
  return DP_OK;
}
