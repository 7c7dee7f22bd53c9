// Runs the loader on its own thread: a ring of two slots between one producer and one consumer.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data/loader.h"

enum { SLOTS = 2 };

struct dp_prefetch {
  dp_loader *loader;
  void *const *targets[SLOTS];
  int64_t next, end;  // the consumer's position
  int64_t first;
  int64_t n[SLOTS];   // written before `filled` is posted, read after; 0: the batch could not be filled
  dp_status failure;  // why; no batch follows
  bool failed;        // the consumer has seen it and not yet taken it
  bool taken;
  sem_t filled, free;
  atomic_bool stop;
  pthread_t thread;
};

static void wait_for(sem_t *semaphore) {
  while (sem_wait(semaphore) && errno == EINTR) continue;
}

static void *produce(void *arg) {
  dp_prefetch *p = arg;
  for (int64_t position = p->first; position < p->end; position++) {
    wait_for(&p->free);
    if (atomic_load(&p->stop)) break;
    int slot = (int)(position % SLOTS);
    p->failure = dp_loader_fill(p->loader, position, p->targets[slot], &p->n[slot]);
    if (p->failure) p->n[slot] = 0;
    const bool failed = p->failure != NULL;
    sem_post(&p->filled);
    if (failed) break;
  }
  return NULL;
}

dp_status dp_prefetch_create(dp_loader *loader, void *const *targets, int64_t first, int64_t end,
                             dp_prefetch **prefetch) {
  dp_prefetch *p = calloc(1, sizeof *p);
  if (!p) return dp_fail(DP_EX_MEMORY, "no memory for prefetching");
  p->loader = loader;
  p->first = p->next = first;
  p->end = end;
  for (int s = 0; s < SLOTS; s++) p->targets[s] = targets + s * dp_loader_inputs(loader);
  sem_init(&p->filled, 0, 0);
  sem_init(&p->free, 0, SLOTS);
  int error = pthread_create(&p->thread, NULL, produce, p);
  if (error) {
    sem_destroy(&p->filled);
    sem_destroy(&p->free);
    free(p);
    return dp_fail(DP_EX_MEMORY, "cannot start the prefetching thread: %s", strerror(error));
  }
  *prefetch = p;
  return DP_OK;
}

bool dp_prefetch_next(dp_prefetch *p, int *slot, int64_t *n) {
  if (p->next >= p->end) return false;
  wait_for(&p->filled);
  *slot = (int)(p->next % SLOTS);
  *n = p->n[*slot];
  p->failed = !*n;
  if (p->failed) p->end = p->next;  // the producer has ended
  return *n != 0;
}

dp_status dp_prefetch_failure(dp_prefetch *p) {
  dp_status failure = p->failed ? p->failure : DP_OK;
  p->failed = false;
  p->taken |= failure != NULL;
  return failure;
}

void dp_prefetch_release(dp_prefetch *p) {
  p->next++;
  sem_post(&p->free);
}

void dp_prefetch_destroy(dp_prefetch *p) {
  if (!p) return;
  atomic_store(&p->stop, true);
  sem_post(&p->free);
  pthread_join(p->thread, NULL);
  if (!p->taken) dp_status_free(p->failure);
  sem_destroy(&p->filled);
  sem_destroy(&p->free);
  free(p);
}
