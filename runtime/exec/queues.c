// See queues.h. Reports of wrong data come with the number of a unit, times two, plus the slot of its run, since both
// runs that may be on use the same queues.
#include "runtime/exec/queues.h"

#include <stdlib.h>
#include <time.h>

#include "runtime/exec/queue_program.h"

// Executable graphs that are kept: enough for the shapes of an epoch, in both slots.
enum { CAPTURES = 32 };

// A run that is on.
typedef struct {
  dp_queue_program *program;
  int slot;
  dp_status failure;  // of issuing it
  int failed_unit;
} queue_run;

typedef struct {
  dp_queue_set set;
  dp_queue_program *programs;
  uint64_t started;  // runs
  int n_captures;
  dp_status refused;  // why a run could not be captured; DP_OK: none was refused
  int n_runs;
  queue_run runs[DP_RUNS];  // the older first
} queue_executor;

// ---- programs -------------------------------------------------------------------------------------------------------

static dp_status prepare(void *executor, const dp_task_graph *graph, void **state) {
  queue_executor *e = executor;
  dp_queue_program *p;
  DP_TRY(dp_queue_program_make(&e->set, graph, &p));
  p->next = e->programs;
  e->programs = p;
  *state = p;
  return DP_OK;
}

static void drop(queue_executor *e, dp_queue_program *p, int slot) {
  if (!p->captured[slot]) return;
  e->set.backend->queues->capture_release(p->captured[slot]);
  p->captured[slot] = NULL;
  e->n_captures--;
}

static void release(void *executor, void *state) {
  queue_executor *e = executor;
  dp_queue_program *p = state;
  dp_queue_program **link = &e->programs;
  while (*link != p) link = &(*link)->next;
  *link = p->next;
  for (int slot = 0; slot < DP_RUNS; slot++) drop(e, p, slot);
  dp_queue_program_release(&e->set, p);
}

static bool is_on(const queue_executor *e, const dp_queue_program *p, int slot) {
  for (int r = 0; r < e->n_runs; r++)
    if (e->runs[r].program == p && e->runs[r].slot == slot) return true;
  return false;
}

// Drops the graph that was used least recently, if there are too many.
static void make_room(queue_executor *e) {
  dp_queue_program *oldest = NULL;
  int slot = 0;
  if (e->n_captures < CAPTURES) return;
  for (dp_queue_program *p = e->programs; p; p = p->next)
    for (int i = 0; i < DP_RUNS; i++)
      if (p->captured[i] && !is_on(e, p, i) && (!oldest || p->used[i] < oldest->used[slot])) {
        oldest = p;
        slot = i;
      }
  if (oldest) drop(e, oldest, slot);
}

// ---- issuing --------------------------------------------------------------------------------------------------------

static const dp_queue_calls *calls_of(const queue_executor *e) { return e->set.backend->queues; }

static bool is_ahead(const dp_queue_program *p, int point) { return p->graph->lanes[p->points[point].lane].ahead; }

static dp_lane_queue *queue_of(const queue_executor *e, const dp_queue_program *p, int lane) {
  return dp_queue_program_queue(&e->set, p, lane);
}

// The first lane that is not ahead; n_lanes: there is none.
static int main_lane(const dp_task_graph *g) {
  int lane = 0;
  while (lane < g->n_lanes && g->lanes[lane].ahead) lane++;
  return lane;
}

typedef enum { WHOLE, AHEAD, AFTER_AHEAD } part;

// What a lane does for a step begins. after_ahead: all that is ahead is over, so nothing waits for it.
static dp_status begin_point(const queue_executor *e, const queue_run *run, const dp_queue_step *step, int at,
                             bool after_ahead) {
  const dp_queue_calls *calls = calls_of(e);
  const dp_queue_program *p = run->program;
  const dp_queue_point *point = &p->points[at];
  dp_queue *queue = queue_of(e, p, point->lane)->queue;
  for (int w = point->first_wait; w < point->first_wait + point->n_waits; w++)
    if (!after_ahead || !is_ahead(p, p->waits[w])) DP_TRY(calls->wait(queue, p->points[p->waits[w]].signal));
  calls->begin(queue, step->unit * DP_RUNS + run->slot);
  return point->begin ? calls->signal(queue, point->begin) : DP_OK;
}

static dp_status end_point(const queue_executor *e, const queue_run *run, int at) {
  const dp_queue_calls *calls = calls_of(e);
  const dp_queue_point *point = &run->program->points[at];
  dp_queue *queue = queue_of(e, run->program, point->lane)->queue;
  if (point->end) DP_TRY(calls->signal(queue, point->end));
  return point->signal ? calls->signal(queue, point->signal) : DP_OK;
}

static dp_status issue(const queue_executor *e, const queue_run *run, const dp_queue_step *step, bool after_ahead) {
  const dp_queue_program *p = run->program;
  const dp_task_graph *g = p->graph;
  const int first = step->first_point, end = first + step->n_points;
  for (int m = 0; m < g->n_lanes_of[step->unit]; m++) p->members[m] = queue_of(e, p, g->lanes_of[step->unit][m])->queue;
  for (int i = first; i < end; i++) DP_TRY(begin_point(e, run, step, i, after_ahead));
  DP_TRY(g->enqueue(g->context, step->unit, p->members));
  for (int i = first; i < end; i++) DP_TRY(end_point(e, run, i));
  return DP_OK;
}

static dp_status issue_part(const queue_executor *e, queue_run *run, part which) {
  const dp_queue_program *p = run->program;
  for (int s = 0; s < p->n_steps; s++) {
    const bool ahead = is_ahead(p, p->steps[s].first_point);
    if (which != WHOLE && ahead != (which == AHEAD)) continue;
    run->failed_unit = p->steps[s].unit;
    DP_TRY(issue(e, run, &p->steps[s], which == AFTER_AHEAD));
  }
  run->failed_unit = -1;
  return DP_OK;
}

// ---- capturing ------------------------------------------------------------------------------------------------------

// The other lanes of a program that are not ahead go on when the main one has come here.
static dp_status fork_lanes(const queue_executor *e, const dp_queue_program *p, int origin) {
  const dp_queue_calls *calls = calls_of(e);
  const dp_lane_queue *first = queue_of(e, p, origin);
  DP_TRY(calls->signal(first->queue, first->met));
  for (int l = origin + 1; l < p->graph->n_lanes; l++)
    if (!p->graph->lanes[l].ahead) DP_TRY(calls->wait(queue_of(e, p, l)->queue, first->met));
  return DP_OK;
}

// What is issued in a capture begins on the main lane's queue and ends there.
static dp_status issue_captured(const queue_executor *e, queue_run *run, int origin) {
  const dp_queue_calls *calls = calls_of(e);
  const dp_queue_program *p = run->program;
  dp_queue *first = queue_of(e, p, origin)->queue;
  DP_TRY(fork_lanes(e, p, origin));
  DP_TRY(issue_part(e, run, AFTER_AHEAD));
  for (int l = origin + 1; l < p->graph->n_lanes; l++) {
    const dp_lane_queue *q = queue_of(e, p, l);
    if (p->graph->lanes[l].ahead) continue;
    DP_TRY(calls->signal(q->queue, q->met));
    DP_TRY(calls->wait(first, q->met));
  }
  return DP_OK;
}

static dp_status capture(queue_executor *e, queue_run *run, int origin) {
  const dp_queue_calls *calls = calls_of(e);
  dp_queue_program *p = run->program;
  dp_queue *first = queue_of(e, p, origin)->queue;
  dp_captured *captured = NULL;
  make_room(e);
  DP_TRY(calls->capture_begin(first));
  dp_status status = issue_captured(e, run, origin);
  dp_status ended = calls->capture_end(first, &captured);
  if (status && captured) calls->capture_release(captured);
  if (status || ended) {
    if (status) dp_status_free(ended);
    return status ? status : ended;
  }
  p->captured[run->slot] = captured;
  e->n_captures++;
  return DP_OK;
}

// A run that cannot be captured is issued step by step, and so are the program's later runs. If the device itself has
// failed, these steps fail too.
static dp_status issue_instead(queue_executor *e, queue_run *run, int origin, dp_status refused) {
  run->program->refused = true;
  if (e->refused)
    dp_status_free(refused);
  else
    e->refused = refused;
  DP_TRY(fork_lanes(e, run->program, origin));
  return issue_part(e, run, AFTER_AHEAD);
}

// Runs what was captured of an earlier run with this slot, or captures it first. What is ahead is issued step by step,
// as it must not wait for the run before.
static dp_status issue_as_graph(queue_executor *e, queue_run *run, int origin) {
  const dp_queue_calls *calls = calls_of(e);
  dp_queue_program *p = run->program;
  dp_queue *first = queue_of(e, p, origin)->queue;
  DP_TRY(issue_part(e, run, AHEAD));
  for (int l = 0; l < p->graph->n_lanes; l++) {
    const dp_lane_queue *q = queue_of(e, p, l);
    if (!p->graph->lanes[l].ahead) continue;
    DP_TRY(calls->signal(q->queue, q->taken));
    DP_TRY(calls->wait(first, q->taken));
  }
  dp_status refused = p->captured[run->slot] ? DP_OK : capture(e, run, origin);
  if (refused) return issue_instead(e, run, origin, refused);
  return calls->replay(first, p->captured[run->slot]);
}

// ---- starting -------------------------------------------------------------------------------------------------------

static dp_status start_clocks(const queue_executor *e, dp_queue_program *p) {
  for (int c = 0; c < p->n_clocks; c++) {
    struct timespec now;
    if (!p->origins[c]) continue;
    clock_gettime(CLOCK_MONOTONIC, &now);
    p->origins_ns[c] = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    DP_TRY(calls_of(e)->signal(e->set.clocks[c].queue, p->origins[c]));
  }
  return DP_OK;
}

// What is not ahead begins when the older run is over: one queue waits for all of that run's, and the others for it.
static dp_status follow(const queue_executor *e, const queue_run *older, const queue_run *run) {
  const dp_queue_calls *calls = calls_of(e);
  const dp_task_graph *before = older->program->graph, *g = run->program->graph;
  const int first = main_lane(g);
  for (int l = 0; l < before->n_lanes; l++) {
    const dp_lane_queue *q = queue_of(e, older->program, l);
    DP_TRY(calls->signal(q->queue, q->over));
  }
  if (first == g->n_lanes) return DP_OK;
  dp_queue *joining = queue_of(e, run->program, first)->queue;
  for (int l = 0; l < before->n_lanes; l++) {
    const dp_lane_queue *q = queue_of(e, older->program, l);
    if (q->queue != joining) DP_TRY(calls->wait(joining, q->over));
  }
  return fork_lanes(e, run->program, first);
}

// A program's first run is not captured: what libraries do when they are first used may not be allowed then. Nor is one
// whose steps are timed or waited for, or that is on several physical devices.
static bool is_captured(const queue_executor *e, const dp_queue_program *p) {
  const bool free_running = !p->n_clocks && !p->graph->waits && !p->several_chips;
  return calls_of(e)->capture_begin && p->runs > 0 && !p->refused && free_running &&
         main_lane(p->graph) < p->graph->n_lanes;
}

static dp_status issue_all(queue_executor *e, queue_run *run) {
  const dp_queue_calls *calls = calls_of(e);
  const dp_queue_program *p = run->program;
  if (e->n_runs) DP_TRY(follow(e, &e->runs[0], run));
  if (is_captured(e, p)) return issue_as_graph(e, run, main_lane(p->graph));
  DP_TRY(issue_part(e, run, WHOLE));
  for (int l = 0; l < p->graph->n_lanes; l++) {
    const dp_lane_queue *q = queue_of(e, p, l);
    if (p->graph->lanes[l].ahead) DP_TRY(calls->signal(q->queue, q->taken));
  }
  return DP_OK;
}

static dp_status start(void *executor, const dp_task_graph *graph, void *state, int slot) {
  (void)graph;
  queue_executor *e = executor;
  dp_queue_program *p = state;
  queue_run run = {.program = p, .slot = slot, .failed_unit = -1};
  run.failure = start_clocks(e, p);
  if (!run.failure) run.failure = issue_all(e, &run);
  p->runs++;
  p->used[slot] = e->started++;
  e->runs[e->n_runs++] = run;
  return DP_OK;
}

// A run that could not be issued tells so when it is waited for.
static dp_status taken(void *executor) {
  const queue_executor *e = executor;
  const queue_run *run = e->n_runs ? &e->runs[e->n_runs - 1] : NULL;
  for (int l = 0; run && !run->failure && l < run->program->graph->n_lanes; l++)
    if (run->program->graph->lanes[l].ahead) DP_TRY(calls_of(e)->await(queue_of(e, run->program, l)->taken));
  return DP_OK;
}

// ---- waiting --------------------------------------------------------------------------------------------------------

static dp_status report_times(const queue_executor *e, const queue_run *run) {
  const dp_queue_program *p = run->program;
  for (int c = 0; c < p->n_clocks; c++)
    if (p->origins[c]) DP_TRY(calls_of(e)->await(p->origins[c]));
  for (int s = 0; s < p->n_steps; s++) {
    const dp_queue_step *step = &p->steps[s];
    int64_t begin_ns = 0, end_ns = 0;
    for (int i = step->first_point; i < step->first_point + step->n_points; i++) {
      const dp_queue_point *point = &p->points[i];
      double begun, ended;
      DP_TRY(calls_of(e)->elapsed(p->origins[point->clock], point->begin, &begun));
      DP_TRY(calls_of(e)->elapsed(p->origins[point->clock], point->end, &ended));
      begin_ns = dp_max_i64(begin_ns, p->origins_ns[point->clock] + (int64_t)begun);
      end_ns = dp_max_i64(end_ns, p->origins_ns[point->clock] + (int64_t)ended);
    }
    p->graph->record(p->graph->context, step->unit, begin_ns, end_ns);
  }
  return DP_OK;
}

// Blocks until the older run is over, while another one is on. *reported: whether it cannot take its data.
static dp_status await_older(const queue_executor *e, bool *reported) {
  const queue_run *run = &e->runs[0];
  for (int l = 0; l < run->program->graph->n_lanes; l++) {
    const dp_lane_queue *q = queue_of(e, run->program, l);
    DP_TRY(calls_of(e)->await(q->over));
    const int by = calls_of(e)->reported(q->queue);
    *reported |= by >= 0 && by % DP_RUNS == run->slot;
  }
  return DP_OK;
}

// What is wrong with the data tells more than what followed from it, and of two such reports that of the first unit.
static bool tells_more(dp_status a, int unit_a, dp_status b, int unit_b) {
  const bool data_a = dp_status_code(a) == EX_DATAERR, data_b = dp_status_code(b) == EX_DATAERR;
  return data_a != data_b ? data_a : data_a && unit_a < unit_b;
}

// Whether what was captured of a run that is on is done by this queue.
static bool replays(const queue_executor *e, int queue) {
  for (int r = 0; r < e->n_runs; r++) {
    const dp_queue_program *p = e->runs[r].program;
    const int lane = main_lane(p->graph);
    if (lane < p->graph->n_lanes && p->queue_of_lane[lane] == queue) return true;
  }
  return false;
}

// Empties every queue, also after a failure, so that nothing runs on when the caller acts on it. Returns what the older
// run has failed with.
static dp_status empty(const queue_executor *e, dp_status failure) {
  const queue_run *run = &e->runs[0];
  int unit = failure == run->failure ? run->failed_unit : -1;
  // What is captured reports by the queues that it was captured of, so those that replay it are emptied first.
  for (int i = 0; i < 2 * e->set.n_queues; i++) {
    const int q = i % e->set.n_queues;
    if (replays(e, q) != (i < e->set.n_queues)) continue;
    int by;
    dp_status status = calls_of(e)->finish(e->set.queues[q].queue, &by);
    const bool younger = by >= 0 && by % DP_RUNS != run->slot;
    const int at = by < 0 ? -1 : by / DP_RUNS;
    if (!status || younger || (failure && !tells_more(status, at, failure, unit))) {
      dp_status_free(status);
      continue;
    }
    dp_status_free(failure);
    failure = status;
    unit = at;
  }
  return failure && unit >= 0 ? run->program->graph->explain(run->program->graph->context, unit, failure) : failure;
}

static dp_status wait(void *executor) {
  queue_executor *e = executor;
  if (!e->n_runs) return DP_OK;
  const queue_run run = e->runs[0];
  bool reported = false;
  dp_status failure = run.failure;
  if (!failure && e->n_runs == DP_RUNS) failure = await_older(e, &reported);
  if (failure || reported || e->n_runs < DP_RUNS) failure = empty(e, failure);
  if (!failure && run.program->n_clocks) failure = report_times(e, &run);
  for (e->n_runs--; failure && e->n_runs; e->n_runs--) dp_status_free(e->runs[1].failure);
  e->runs[0] = e->runs[1];
  return failure;
}

static const char *remark(const void *executor) {
  const queue_executor *e = executor;
  return e->refused ? dp_status_message(e->refused) : NULL;
}

static void destroy(void *executor) {
  queue_executor *e = executor;
  dp_status_free(e->refused);
  dp_queue_set_release(&e->set);
  free(e);
}

dp_status dp_queues_create(const dp_backend *backend, dp_executor *executor) {
  static const dp_executor_calls calls = {prepare, release, start, taken, wait, destroy, NULL, remark};
  queue_executor *e = calloc(1, sizeof *e);
  if (!e) return dp_fail(DP_EX_MEMORY, "no memory for the queues of the devices");
  e->set.backend = backend;
  *executor = (dp_executor){&calls, e};
  return DP_OK;
}
