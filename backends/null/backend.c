// See backend.h. The active steps are in a list under a lock: this backend finds faults and need not be fast.
#include "backends/null/backend.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_AT_ONCE = 1024 };

typedef struct {
  const dp_range *ranges;
  int count, parts_on;
} active_step;

typedef struct {
  pthread_mutex_t lock;
  int count;
  active_step on[MAX_AT_ONCE];
} detector;

static void *detector_create(void) {
  detector *w = calloc(1, sizeof *w);
  if (w) pthread_mutex_init(&w->lock, NULL);
  return w;
}

static void detector_destroy(void *arg) {
  detector *w = arg;
  pthread_mutex_destroy(&w->lock);
  free(w);
}

static bool steps_conflict(const dp_range *a, int na, const dp_range *b, int nb) {
  for (int i = 0; i < na; i++)
    for (int k = 0; k < nb; k++)
      if (dp_range_conflicts(&a[i], &b[k])) return true;
  return false;
}

static dp_status enter_locked(detector *w, const dp_range *ranges, int count) {
  active_step *mine = NULL;
  for (int i = 0; i < w->count; i++) {
    if (w->on[i].ranges == ranges)
      mine = &w->on[i];
    else if (steps_conflict(ranges, count, w->on[i].ranges, w->on[i].count))
      return dp_fail(
          EX_DATAERR,
          "the plan has a race: two steps that run at the same time use the same bytes, and one writes them");
  }
  if (!mine) {
    if (w->count == MAX_AT_ONCE) return dp_fail(EX_SOFTWARE, "more than %d steps at once", MAX_AT_ONCE);
    mine = &w->on[w->count++];
    *mine = (active_step){ranges, count, 0};
  }
  mine->parts_on++;
  return DP_OK;
}

static dp_status enter(void *arg, const dp_range *ranges, int count, int part, int parts) {
  (void)part, (void)parts;
  detector *w = arg;
  if (!count) return DP_OK;
  pthread_mutex_lock(&w->lock);
  dp_status status = enter_locked(w, ranges, count);
  pthread_mutex_unlock(&w->lock);
  // Gives other steps time to enter, as real work would.
  usleep(20);
  return status;
}

static void leave(void *arg, const dp_range *ranges, int count) {
  detector *w = arg;
  if (!count) return;
  pthread_mutex_lock(&w->lock);
  for (int i = 0; i < w->count; i++)
    if (w->on[i].ranges == ranges && !--w->on[i].parts_on) {
      w->on[i] = w->on[--w->count];
      break;
    }
  pthread_mutex_unlock(&w->lock);
}

dp_backend dp_backend_null(const dp_target *target) {
  return (dp_backend){.name = "null",
                      .target = target,
                      .computes = false,
                      .allocate = dp_backend_reserve,
                      .release = dp_backend_unreserve,
                      .memory = dp_backend_host_memory,
                      .detector_create = detector_create,
                      .detector_destroy = detector_destroy,
                      .enter = enter,
                      .leave = leave};
}
