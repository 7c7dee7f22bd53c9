// See workers.h. A job has a number. Threads wait for the next number, take items until there are none, and report.
#include "runtime/data/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  dp_workers *workers;
  int number;
} worker_arg;

struct dp_workers {
  int count, started;
  pthread_t *threads;  // (count - 1)
  worker_arg *args;    // (count - 1)
  pthread_mutex_t mutex;
  pthread_cond_t begun, done;
  // Under the mutex.
  uint64_t job;
  int busy;
  bool stop;
  // Of the job; written before it begins.
  int64_t items;
  void (*run)(void *context, int worker, int64_t item);
  void *context;
  atomic_llong next;
};

static void work(dp_workers *w, int worker) {
  for (int64_t item; (item = atomic_fetch_add(&w->next, 1)) < w->items;) w->run(w->context, worker, item);
}

static void *serve(void *arg) {
  const worker_arg *a = arg;
  dp_workers *w = a->workers;
  uint64_t done = 0;
  pthread_mutex_lock(&w->mutex);
  for (;;) {
    while (w->job == done && !w->stop) pthread_cond_wait(&w->begun, &w->mutex);
    if (w->stop) break;
    done = w->job;
    pthread_mutex_unlock(&w->mutex);
    work(w, a->number);
    pthread_mutex_lock(&w->mutex);
    if (!--w->busy) pthread_cond_signal(&w->done);
  }
  pthread_mutex_unlock(&w->mutex);
  return NULL;
}

static dp_status start(dp_workers *w) {
  for (int i = 0; i < w->count - 1; i++) {
    w->args[i] = (worker_arg){w, i + 1};
    const int error = pthread_create(&w->threads[i], NULL, serve, &w->args[i]);
    if (error) return dp_fail(DP_EX_MEMORY, "cannot start a worker for the data: %s", strerror(error));
    w->started++;
  }
  return DP_OK;
}

dp_status dp_workers_create(int count, dp_workers **workers) {
  dp_workers *w = calloc(1, sizeof *w);
  if (!w) return dp_fail(DP_EX_MEMORY, "no memory for the data's workers");
  w->count = count;
  w->threads = calloc((size_t)count, sizeof *w->threads);
  w->args = calloc((size_t)count, sizeof *w->args);
  pthread_mutex_init(&w->mutex, NULL);
  pthread_cond_init(&w->begun, NULL);
  pthread_cond_init(&w->done, NULL);
  dp_status status =
      w->threads && w->args ? start(w) : dp_fail(DP_EX_MEMORY, "no memory for the data's %d workers", count);
  if (status) {
    dp_workers_destroy(w);
    return status;
  }
  *workers = w;
  return DP_OK;
}

void dp_workers_run(dp_workers *w, int64_t items, void (*run)(void *context, int worker, int64_t item), void *context) {
  pthread_mutex_lock(&w->mutex);
  w->items = items;
  w->run = run;
  w->context = context;
  atomic_store(&w->next, 0);
  w->busy = w->started;
  w->job++;
  pthread_cond_broadcast(&w->begun);
  pthread_mutex_unlock(&w->mutex);
  work(w, 0);
  pthread_mutex_lock(&w->mutex);
  while (w->busy) pthread_cond_wait(&w->done, &w->mutex);
  pthread_mutex_unlock(&w->mutex);
}

void dp_workers_destroy(dp_workers *w) {
  if (!w) return;
  pthread_mutex_lock(&w->mutex);
  w->stop = true;
  pthread_cond_broadcast(&w->begun);
  pthread_mutex_unlock(&w->mutex);
  for (int i = 0; i < w->started; i++) pthread_join(w->threads[i], NULL);
  pthread_cond_destroy(&w->done);
  pthread_cond_destroy(&w->begun);
  pthread_mutex_destroy(&w->mutex);
  free(w->threads);
  free(w->args);
  free(w);
}
