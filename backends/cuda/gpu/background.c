// See background.h. One lock protects the queue, the threads and the state of every job.
#include "backends/cuda/gpu/background.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "ir/base/machine.h"

enum { MOST_THREADS = 8 };

typedef struct {
  pthread_t thread;
  enum { ABSENT, WORKS, ENDED, JOINED } state;  // ENDED: about to return; JOINED: somebody waits for its end
} worker;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;  // a job is done
static dp_cuda_job *head, *tail;
static worker workers[MOST_THREADS];
static bool closed;

static dp_cuda_job *take(void) {
  dp_cuda_job *job = head;
  if (!job) return NULL;
  head = job->next;
  if (!head) tail = NULL;
  job->state = DP_CUDA_JOB_RUNS;
  return job;
}

// Called with the lock held, which is given back meanwhile.
static void run(dp_cuda_job *job) {
  pthread_mutex_unlock(&lock);
  job->work(job);
  pthread_mutex_lock(&lock);
  job->state = DP_CUDA_JOB_DONE;
  pthread_cond_broadcast(&news);
}

static void *work(void *self) {
  worker *w = self;
  pthread_mutex_lock(&lock);
  for (dp_cuda_job *job; (job = take());) run(job);
  if (w->state == WORKS) w->state = ENDED;
  pthread_mutex_unlock(&lock);
  return NULL;
}

// The thread takes no signals: they are for the program's own threads.
static bool start_thread(worker *w) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = !pthread_create(&w->thread, NULL, work, w);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

// One more thread, if there may be one. Without any, whoever waits for a job does it.
static void add_thread(void) {
  const int most = (int)dp_min_i64(dp_machine_cores(), MOST_THREADS);
  for (int i = 0; i < most; i++) {
    worker *w = &workers[i];
    if (w->state == WORKS || w->state == JOINED) continue;
    if (w->state == ENDED) pthread_join(w->thread, NULL);
    w->state = start_thread(w) ? WORKS : ABSENT;
    return;
  }
}

void dp_cuda_jobs_end(void) {
  pthread_mutex_lock(&lock);
  while (head) {
    head->state = DP_CUDA_JOB_NEW;
    head = head->next;
  }
  tail = NULL;
  for (int i = 0; i < MOST_THREADS; i++) {
    worker *w = &workers[i];
    if (w->state != WORKS && w->state != ENDED) continue;
    w->state = JOINED;
    pthread_mutex_unlock(&lock);
    pthread_join(w->thread, NULL);
    pthread_mutex_lock(&lock);
    w->state = ABSENT;
  }
  pthread_mutex_unlock(&lock);
}

static void close_down(void) {
  pthread_mutex_lock(&lock);
  closed = true;
  pthread_mutex_unlock(&lock);
  dp_cuda_jobs_end();
}

static void register_close_down(void) { atexit(close_down); }

void dp_cuda_job_start(dp_cuda_job *job) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_close_down);
  pthread_mutex_lock(&lock);
  if (job->state == DP_CUDA_JOB_NEW && !closed) {
    job->state = DP_CUDA_JOB_WAITS;
    job->next = NULL;
    if (tail)
      tail->next = job;
    else
      head = job;
    tail = job;
    add_thread();
  }
  pthread_mutex_unlock(&lock);
}

// Takes a job out of the queue.
static void withdraw(const dp_cuda_job *job) {
  dp_cuda_job *before = NULL;
  for (dp_cuda_job *at = head; at != job; at = at->next) before = at;
  if (before)
    before->next = job->next;
  else
    head = job->next;
  if (tail == job) tail = before;
}

void dp_cuda_job_wait(dp_cuda_job *job) {
  pthread_mutex_lock(&lock);
  if (job->state == DP_CUDA_JOB_WAITS) withdraw(job);
  if (job->state == DP_CUDA_JOB_WAITS || job->state == DP_CUDA_JOB_NEW) {
    job->state = DP_CUDA_JOB_RUNS;
    run(job);
  }
  while (job->state != DP_CUDA_JOB_DONE) pthread_cond_wait(&news, &lock);
  pthread_mutex_unlock(&lock);
}
