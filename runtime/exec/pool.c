// See pool.h. The queue is an array with room for every part of every unit: each part is published once in a run, so
// the queue never wraps. An item is published when it carries the number of the run, and taken out of any place; all
// before the head are. A run is over when no units remain and no worker is inside, so the next run may start with plain
// writes.
#define _GNU_SOURCE
#include "runtime/exec/pool.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS = 2000 };
static const uint32_t taken_code = UINT32_MAX;  // more than any other

struct dp_pool_state {
  _Atomic uint64_t *items;     // (parts of all units) run << 32 | code or taken_code
  uint32_t *unit_code;         // (n_units) the code of part 0
  int *code_unit;              // (parts of all units)
  atomic_int *before, *parts;  // (n_units) how many remain in this run
  int *n_before;               // (n_units) edges from units that are not ahead
  int n_units;                 // that are not ahead
  int *home;                   // (n_units) the worker that part 0 is at home with
};

typedef struct {
  dp_pool *pool;
  int number;  // 0: who runs the pool
  pthread_t thread;
} worker;

struct dp_pool {
  int n_workers, n_threads;  // the first worker has no thread here
  worker *workers;           // (n_workers)
  // The current run's.
  const dp_task_graph *graph;
  dp_pool_state *state;
  atomic_uint head, tail;
  atomic_int to_do;  // units
  _Atomic(dp_status) failure;
  // Data that a unit refused (EX_DATAERR), the report of the first one in the order of units. The run goes on: what
  // depends on it is skipped by the plan's own means, on all devices or on none.
  pthread_mutex_t refusing;
  dp_status refusal;
  int refusing_unit;
  // For sleeping: changes whenever there may be new work.
  atomic_uint news;
  atomic_int sleepers;
  atomic_int stop;
  atomic_int inside;  // workers that may touch the run's state
  uint64_t run;
  // As an executor: a run is on, and the next one is to follow it.
  bool on;
  const dp_task_graph *next;  // NULL: none
  dp_pool_state *next_state;
  dp_status next_failure;  // of what is ahead in it
};

// ---- sleeping -------------------------------------------------------------------------------------------------------

// Wakes up to `most` sleepers. A worker that read `news` before this call does not fall asleep.
static void announce(dp_pool *pool, int most) {
  atomic_fetch_add(&pool->news, 1);
  if (most && atomic_load(&pool->sleepers)) syscall(SYS_futex, &pool->news, FUTEX_WAKE_PRIVATE, most, NULL, NULL, 0);
}

static void sleep_until_news(dp_pool *pool, unsigned seen) {
  atomic_fetch_add(&pool->sleepers, 1);
  if (atomic_load(&pool->news) == seen) syscall(SYS_futex, &pool->news, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
  atomic_fetch_sub(&pool->sleepers, 1);
}

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// ---- the queue ------------------------------------------------------------------------------------------------------

static void publish(dp_pool *pool, int unit) {
  dp_pool_state *state = pool->state;
  unsigned parts = (unsigned)pool->graph->n_parts[unit], at = atomic_fetch_add(&pool->tail, parts);
  for (unsigned p = 0; p < parts; p++)
    atomic_store_explicit(&state->items[at + p], pool->run << 32 | (state->unit_code[unit] + p), memory_order_release);
}

// The worker that a part is at home with; its number is the same in all units of the device.
static int home_of(const dp_pool *pool, uint32_t code) {
  const dp_pool_state *state = pool->state;
  const int unit = state->code_unit[code], home = state->home[unit] + (int)(code - state->unit_code[unit]);
  return home < pool->n_workers ? home : home % pool->n_workers;
}

// It only reads, so that workers without work do not take the counters from the others.
static bool has_items(dp_pool *pool) { return atomic_load(&pool->head) < atomic_load(&pool->tail); }

// Moves the head past what is taken.
static void pass_taken(dp_pool *pool, uint64_t taken, unsigned tail) {
  unsigned head = atomic_load(&pool->head);
  while (head < tail && atomic_load(&pool->state->items[head]) == taken)
    if (atomic_compare_exchange_weak(&pool->head, &head, head + 1)) head++;
}

// Of the items that are there, worker `number` takes the first one that is at home with it, or else the first.
static bool take_part(dp_pool *pool, int number, uint32_t *code) {
  const uint64_t taken = pool->run << 32 | taken_code;
  const unsigned tail = atomic_load(&pool->tail);
  for (int own = 1; own >= 0; own--)
    for (unsigned at = atomic_load(&pool->head); at < tail; at++) {
      uint64_t item = atomic_load_explicit(&pool->state->items[at], memory_order_acquire);
      if (item >> 32 != pool->run) return false;  // another worker is about to write it
      if (item == taken || (own && home_of(pool, (uint32_t)item) != number)) continue;
      if (!atomic_compare_exchange_strong(&pool->state->items[at], &item, taken)) continue;
      *code = (uint32_t)item;
      pass_taken(pool, taken, tail);
      return true;
    }
  return false;
}

// ---- running --------------------------------------------------------------------------------------------------------

// This worker runs one part of what becomes ready itself, unless others wait, so it need not wake another one for that
// part.
static void finish(dp_pool *pool, int unit) {
  const dp_task_graph *s = pool->graph;
  int mine = !has_items(pool);
  for (int i = s->first_after[unit]; i < s->first_after[unit + 1]; i++) {
    int next = s->after[i];
    if (atomic_fetch_sub(&pool->state->before[next], 1) != 1) continue;
    publish(pool, next);
    announce(pool, s->n_parts[next] - mine);
    mine = 0;
  }
  if (atomic_fetch_sub(&pool->to_do, 1) == 1) announce(pool, INT_MAX);
}

static void refuse(dp_pool *pool, int unit, dp_status status) {
  pthread_mutex_lock(&pool->refusing);
  if (!pool->refusal || unit < pool->refusing_unit) {
    dp_status last = pool->refusal;
    pool->refusal = status;
    pool->refusing_unit = unit;
    status = last;
  }
  pthread_mutex_unlock(&pool->refusing);
  dp_status_free(status);
}

// Keeps the first failure of a run.
static void fail(dp_pool *pool, int unit, dp_status status) {
  dp_status none = NULL;
  if (!status) return;
  if (dp_status_code(status) == EX_DATAERR)
    refuse(pool, unit, status);
  else if (!atomic_compare_exchange_strong(&pool->failure, &none, status))
    dp_status_free(status);
  else if (pool->graph->abandon)
    pool->graph->abandon(pool->graph->context);
}

static void arrive(void *arg, int unit, dp_status status) {
  dp_pool *pool = arg;
  atomic_fetch_add(&pool->inside, 1);
  fail(pool, unit, status);
  if (atomic_fetch_sub(&pool->state->before[unit], 1) == 1) {
    publish(pool, unit);
    announce(pool, pool->graph->n_parts[unit]);
  }
  atomic_fetch_sub(&pool->inside, 1);
}

static void execute(dp_pool *pool, uint32_t code) {
  int unit = pool->state->code_unit[code], part = (int)(code - pool->state->unit_code[unit]);
  const dp_task_graph *s = pool->graph;
  if (!atomic_load_explicit(&pool->failure, memory_order_relaxed)) {
    fail(pool, unit, s->run(s->context, unit, part, s->n_parts[unit]));
  } else if (s->arrives_at && s->arrives_at[unit] >= 0) {
    arrive(pool, s->arrives_at[unit], NULL);
  }
  if (atomic_fetch_sub(&pool->state->parts[unit], 1) == 1) finish(pool, unit);
}

// Runs parts until none are ready. Returns whether it ran any.
static bool run_parts(dp_pool *pool, int number) {
  uint32_t code;
  bool any = false;
  if (!atomic_load(&pool->to_do) || !has_items(pool)) return false;
  atomic_fetch_add(&pool->inside, 1);
  while (atomic_load(&pool->to_do) && take_part(pool, number, &code)) {
    execute(pool, code);
    any = true;
  }
  atomic_fetch_sub(&pool->inside, 1);
  return any;
}

// Works as worker `number` until *over, which another thread sets, equals `value`.
static void work_until(dp_pool *pool, int number, atomic_int *over, int value) {
  for (int spins = 0;;) {
    unsigned seen = atomic_load(&pool->news);
    if (atomic_load(over) == value) return;
    if (run_parts(pool, number)) {
      spins = 0;
    } else if (++spins < SPINS) {
      relax();
    } else {
      sleep_until_news(pool, seen);
      spins = 0;
    }
  }
}

static void *work(void *arg) {
  const worker *w = arg;
  work_until(w->pool, w->number, &w->pool->stop, 1);
  return NULL;
}

static bool is_ahead(const dp_task_graph *graph, int unit) {
  return graph->n_lanes && graph->lanes[*graph->lanes_of[unit]].ahead;
}

static void start_after(dp_pool *pool, const dp_task_graph *graph, dp_pool_state *state, dp_status failure) {
  pool->graph = graph;
  pool->state = state;
  pool->run = (pool->run + 1) & UINT32_MAX;
  if (!pool->run) pool->run = 1;  // 0 marks items that were never published
  atomic_store(&pool->head, 0);
  atomic_store(&pool->tail, 0);
  for (int u = 0; u < graph->n_units; u++) {
    atomic_store_explicit(&state->before[u], state->n_before[u], memory_order_relaxed);
    atomic_store_explicit(&state->parts[u], graph->n_parts[u], memory_order_relaxed);
  }
  for (int u = 0; u < graph->n_units && graph->arrives_at; u++)
    if (graph->arrives_at[u] >= 0) atomic_fetch_add(&state->before[graph->arrives_at[u]], 1);
  atomic_store(&pool->failure, failure);
  for (int u = 0; u < graph->n_units; u++)
    if (!state->n_before[u] && !is_ahead(graph, u)) publish(pool, u);
  atomic_store(&pool->to_do, state->n_units);  // only now, so that each worker finds what is at home with it
  announce(pool, (int)dp_min_i64(INT_MAX, atomic_load(&pool->tail)));
}

void dp_pool_start(dp_pool *pool, const dp_task_graph *graph, dp_pool_state *state) {
  start_after(pool, graph, state, DP_OK);
}

dp_status dp_pool_wait(dp_pool *pool) {
  work_until(pool, 0, &pool->to_do, 0);
  while (atomic_load(&pool->inside)) relax();
  // What is wrong with the data tells more than what followed from it.
  dp_status refusal = pool->refusal, failure = atomic_load(&pool->failure);
  pool->refusal = NULL;
  atomic_store(&pool->failure, NULL);
  if (refusal) dp_status_free(failure);
  return refusal ? refusal : failure;
}

dp_status dp_pool_run(dp_pool *pool, const dp_task_graph *graph, dp_pool_state *state) {
  dp_pool_start(pool, graph, state);
  return dp_pool_wait(pool);
}

// ---- making ---------------------------------------------------------------------------------------------------------

static int device_of(const dp_task_graph *graph, int unit) {
  return graph->n_lanes ? graph->lanes[*graph->lanes_of[unit]].device : 0;
}

// Devices that have units divide the workers evenly.
static bool find_homes(const dp_task_graph *graph, int workers, int *home) {
  int64_t all = 1, n = 0;
  for (int i = 0; i < graph->n_lanes; i++) all = dp_max_i64(all, (int64_t)graph->lanes[i].device + 1);
  int *places = calloc((size_t)all, sizeof *places);  // (devices) 1 for those that have units; then their numbers
  if (!places) return false;
  for (int u = 0; u < graph->n_units; u++) places[device_of(graph, u)] = 1;
  for (int64_t d = 0; d < all; d++) places[d] = places[d] ? (int)n++ : 0;
  for (int u = 0; u < graph->n_units; u++) home[u] = (int)(places[device_of(graph, u)] * (int64_t)workers / n);
  free(places);
  return true;
}

dp_status dp_pool_prepare(const dp_pool *pool, const dp_task_graph *graph, dp_pool_state **state) {
  size_t n = (size_t)graph->n_units, items = 0;
  for (size_t u = 0; u < n; u++) items += (size_t)graph->n_parts[u];
  dp_pool_state *s = calloc(1, sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "no memory for a program of %zu steps", n);
  s->items = calloc(items + 1, sizeof *s->items);
  s->unit_code = calloc(n + 1, sizeof *s->unit_code);
  s->code_unit = calloc(items + 1, sizeof *s->code_unit);
  s->before = calloc(n + 1, sizeof *s->before);
  s->parts = calloc(n + 1, sizeof *s->parts);
  s->n_before = calloc(n + 1, sizeof *s->n_before);
  s->home = calloc(n + 1, sizeof *s->home);
  if (!s->items || !s->unit_code || !s->code_unit || !s->before || !s->parts || !s->n_before || !s->home ||
      !find_homes(graph, pool->n_workers, s->home)) {
    dp_pool_release(s);
    return dp_fail(DP_EX_MEMORY, "no memory for a program of %zu steps", n);
  }
  uint32_t code = 0;
  for (size_t u = 0; u < n; u++) {
    s->unit_code[u] = code;
    for (int p = 0; p < graph->n_parts[u]; p++) s->code_unit[code++] = (int)u;
  }
  for (size_t u = 0; u < n; u++) {
    if (is_ahead(graph, (int)u)) continue;
    s->n_units++;
    for (int i = graph->first_after[u]; i < graph->first_after[u + 1]; i++) s->n_before[graph->after[i]]++;
  }
  *state = s;
  return DP_OK;
}

void dp_pool_release(dp_pool_state *state) {
  if (!state) return;
  free((void *)state->items);
  free(state->unit_code);
  free(state->code_unit);
  free((void *)state->before);
  free((void *)state->parts);
  free(state->n_before);
  free(state->home);
  free(state);
}

dp_status dp_pool_create(int workers, dp_pool **pool) {
  dp_pool *p = calloc(1, sizeof *p);
  if (!p) return dp_fail(DP_EX_MEMORY, "no memory for the workers");
  pthread_mutex_init(&p->refusing, NULL);
  p->workers = calloc((size_t)workers, sizeof *p->workers);
  if (!p->workers) {
    free(p);
    return dp_fail(DP_EX_MEMORY, "no memory for the workers");
  }
  p->n_workers = workers;
  for (; p->n_threads < workers - 1; p->n_threads++) {
    worker *w = &p->workers[p->n_threads + 1];
    w->pool = p;
    w->number = p->n_threads + 1;
    int error = pthread_create(&w->thread, NULL, work, w);
    if (!error) continue;
    int made = p->n_threads;
    dp_pool_destroy(p);
    return dp_fail(DP_EX_MEMORY, "only %d of %d worker threads could be started: %s", made + 1, workers,
                   strerror(error));
  }
  *pool = p;
  return DP_OK;
}

void dp_pool_destroy(dp_pool *pool) {
  if (!pool) return;
  atomic_store(&pool->stop, 1);
  announce(pool, INT_MAX);
  for (int i = 1; i <= pool->n_threads; i++) pthread_join(pool->workers[i].thread, NULL);
  pthread_mutex_destroy(&pool->refusing);
  free(pool->workers);
  free(pool);
}

// ---- as an executor -------------------------------------------------------------------------------------------------

static dp_status prepare(void *pool, const dp_task_graph *graph, void **state) {
  dp_pool_state *made;
  DP_TRY(dp_pool_prepare(pool, graph, &made));
  *state = made;
  return DP_OK;
}

static void release(void *pool, void *state) {
  (void)pool;
  dp_pool_release(state);
}

// What is ahead waits for nothing, so any order of units will do.
static dp_status run_ahead(const dp_task_graph *graph) {
  for (int u = 0; u < graph->n_units; u++)
    for (int part = 0; is_ahead(graph, u) && part < graph->n_parts[u]; part++)
      DP_TRY(graph->run(graph->context, u, part, graph->n_parts[u]));
  return DP_OK;
}

static dp_status start(void *executor, const dp_task_graph *graph, void *state, int slot) {
  (void)slot;
  dp_pool *pool = executor;
  dp_status failure = run_ahead(graph);
  if (pool->on) {
    pool->next = graph;
    pool->next_state = state;
    pool->next_failure = failure;
  } else {
    start_after(pool, graph, state, failure);
    pool->on = true;
  }
  return DP_OK;
}

static dp_status taken(void *pool) {
  (void)pool;
  return DP_OK;
}

static dp_status wait(void *executor) {
  dp_pool *pool = executor;
  if (!pool->on) return DP_OK;
  const dp_task_graph *next = pool->next;
  dp_status failure = dp_pool_wait(pool);
  pool->next = NULL;
  pool->on = next && !failure;
  if (pool->on)
    start_after(pool, next, pool->next_state, pool->next_failure);
  else if (next)
    dp_status_free(pool->next_failure);
  return failure;
}

static void destroy(void *pool) { dp_pool_destroy(pool); }

dp_executor dp_pool_executor(dp_pool *pool) {
  static const dp_executor_calls calls = {prepare, release, start, taken, wait, destroy, arrive, NULL};
  return (dp_executor){&calls, pool};
}
