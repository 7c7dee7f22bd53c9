// A ring is a thread that fills slots in turn, and one consumer that takes them. With a depth of 1 there is one, which
// runs the loader into the targets. With more, it runs the loader into memory of its own, and a second one copies from
// there into the targets: those are the session's input memory, of which there is no more than two of each.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data/loader.h"

enum { TARGETS = 2, ALIGNMENT = 64 };

typedef struct {
  dp_status (*fill)(dp_prefetch *prefetch, int64_t position, void *const *targets, int64_t *n);
  dp_prefetch *prefetch;
  int slots, inputs;
  void *const *targets;  // (slots, inputs)
  int64_t *n;            // (slots) written before `filled` is posted, read after; 0: the batch could not be filled
  int64_t next, end;     // the consumer's position
  int64_t first;
  dp_status failure;  // why; no batch follows
  bool failed;        // the consumer has seen it and not yet taken it
  bool taken, started;
  sem_t filled, free;
  atomic_bool stop;
  pthread_t thread;
} ring;

struct dp_prefetch {
  dp_loader *loader;
  ring into;       // the targets
  ring ahead;      // `staging`; not started with a depth of 1
  void **staging;  // (depth - 1, inputs) batches of our own
};

// ---- a ring ---------------------------------------------------------------------------------------------------------

static void wait_for(sem_t *semaphore) {
  while (sem_wait(semaphore) && errno == EINTR) continue;
}

static void *produce(void *arg) {
  ring *r = arg;
  for (int64_t position = r->first; position < r->end; position++) {
    wait_for(&r->free);
    if (atomic_load(&r->stop)) break;
    const int slot = (int)(position % r->slots);
    r->failure = r->fill(r->prefetch, position, r->targets + slot * r->inputs, &r->n[slot]);
    if (r->failure) r->n[slot] = 0;
    const bool failed = r->failure != NULL;
    sem_post(&r->filled);
    if (failed) break;
  }
  return NULL;
}

static dp_status ring_start(ring *r) {
  r->n = calloc((size_t)r->slots, sizeof *r->n);
  if (!r->n) return dp_fail(DP_EX_MEMORY, "no memory for prefetching");
  sem_init(&r->filled, 0, 0);
  sem_init(&r->free, 0, (unsigned)r->slots);
  const int error = pthread_create(&r->thread, NULL, produce, r);
  r->started = !error;
  return error ? dp_fail(DP_EX_MEMORY, "cannot start the prefetching thread: %s", strerror(error)) : DP_OK;
}

static bool ring_next(ring *r, int *slot, int64_t *n) {
  if (r->next >= r->end) return false;
  wait_for(&r->filled);
  *slot = (int)(r->next % r->slots);
  *n = r->n[*slot];
  r->failed = !*n;
  if (r->failed) r->end = r->next;  // the producer has ended
  return *n != 0;
}

static dp_status ring_failure(ring *r) {
  dp_status failure = r->failed ? r->failure : DP_OK;
  r->failed = false;
  r->taken |= failure != NULL;
  return failure;
}

static void ring_release(ring *r) {
  r->next++;
  sem_post(&r->free);
}

static void ring_stop(ring *r) {
  if (r->started) {
    atomic_store(&r->stop, true);
    sem_post(&r->free);
    pthread_join(r->thread, NULL);
    if (!r->taken) dp_status_free(r->failure);
  }
  if (r->n) {
    sem_destroy(&r->filled);
    sem_destroy(&r->free);
  }
  free(r->n);
}

// ---- where batches come from ----------------------------------------------------------------------------------------

static dp_status load(dp_prefetch *p, int64_t position, void *const *targets, int64_t *n) {
  return dp_loader_fill(p->loader, position, targets, n);
}

static dp_status copy(dp_prefetch *p, int64_t position, void *const *targets, int64_t *n) {
  const int inputs = p->into.inputs;
  int slot;
  (void)position;  // both rings go through the same ones
  if (!ring_next(&p->ahead, &slot, n)) return ring_failure(&p->ahead);
  for (int i = 0; i < inputs; i++)
    memcpy(targets[i], p->staging[slot * inputs + i], dp_loader_input_bytes(p->loader, i, *n));
  ring_release(&p->ahead);
  return DP_OK;
}

static dp_status make_staging(dp_prefetch *p) {
  const int inputs = p->into.inputs, count = p->ahead.slots * inputs;
  p->staging = calloc((size_t)count, sizeof *p->staging);
  for (int i = 0; p->staging && i < count; i++) {
    const size_t bytes = dp_loader_input_bytes(p->loader, i % inputs, dp_loader_batch(p->loader));
    p->staging[i] = aligned_alloc(ALIGNMENT, (bytes / ALIGNMENT + 1) * ALIGNMENT);
    if (!p->staging[i]) return dp_fail(DP_EX_MEMORY, "no memory for %d batches ahead: --prefetch", p->ahead.slots);
  }
  return p->staging ? DP_OK : dp_fail(DP_EX_MEMORY, "no memory for %d batches ahead: --prefetch", p->ahead.slots);
}

static dp_status start(dp_prefetch *p, void *const *targets, int64_t first, int64_t end, int depth) {
  const ring r = {.prefetch = p, .inputs = dp_loader_inputs(p->loader), .next = first, .first = first, .end = end};
  p->into = p->ahead = r;
  p->into.fill = depth > 1 ? copy : load;
  p->into.slots = TARGETS;
  p->into.targets = targets;
  if (depth > 1) {
    p->ahead.fill = load;
    p->ahead.slots = depth - 1;
    DP_TRY(make_staging(p));
    p->ahead.targets = p->staging;
    DP_TRY(ring_start(&p->ahead));
  }
  return ring_start(&p->into);
}

dp_status dp_prefetch_create(dp_loader *loader, void *const *targets, int64_t first, int64_t end, int depth,
                             dp_prefetch **prefetch) {
  dp_prefetch *p = calloc(1, sizeof *p);
  if (!p) return dp_fail(DP_EX_MEMORY, "no memory for prefetching");
  p->loader = loader;
  dp_status status = start(p, targets, first, end, depth);
  if (status) {
    dp_prefetch_destroy(p);
    return status;
  }
  *prefetch = p;
  return DP_OK;
}

bool dp_prefetch_next(dp_prefetch *p, int *slot, int64_t *n) { return ring_next(&p->into, slot, n); }

dp_status dp_prefetch_failure(dp_prefetch *p) { return ring_failure(&p->into); }

void dp_prefetch_release(dp_prefetch *p) { ring_release(&p->into); }

void dp_prefetch_destroy(dp_prefetch *p) {
  if (!p) return;
  // First what takes from the other one: that goes on until nobody waits for it.
  ring_stop(&p->into);
  ring_stop(&p->ahead);
  for (int i = 0; p->staging && i < p->ahead.slots * p->ahead.inputs; i++) free(p->staging[i]);
  free(p->staging);
  free(p);
}
