// See windows.h. Windows are registered without NCCL_WIN_COLL_SYMMETRIC: with it NCCL would take kernels of another
// kind, to which NCCL_ALGO and NCCL_PROTO do not apply, so sums would be taken in an order that is not fixed
// (ncclMakeSymmetricTaskList of NCCL 2.28).
#include "backends/cuda/nccl/windows.h"

#include <stdlib.h>

struct dp_nccl_window {
  const dp_nccl_arena **arenas;  // (n) by rank
  ncclWindow_t *handles;         // (n); NULL: NCCL does not want it
  dp_nccl_window *next;
};

static void forget(dp_nccl_window *w) {
  free(w->arenas);
  free(w->handles);
  free(w);
}

// How many arenas each GPU of the group has; 0: they differ.
static int count_arenas(const dp_nccl_group *g) {
  for (int k = 0;; k++) {
    const dp_nccl_arena *first = dp_nccl_arena_at(g->gpus[0], k);
    for (int rank = 1; rank < g->n; rank++) {
      const dp_nccl_arena *other = dp_nccl_arena_at(g->gpus[rank], k);
      if (!first != !other || (first && first->bytes != other->bytes)) return 0;
    }
    if (!first) return k;
  }
}

static bool has_window(const dp_nccl_group *g, const dp_nccl_arena *arena) {
  for (const dp_nccl_window *w = g->windows; w; w = w->next)
    if (w->arenas[0] == arena) return true;
  return false;
}

static dp_status add(dp_nccl_group *g, int k) {
  dp_nccl_window *w = calloc(1, sizeof *w);
  if (w) w->arenas = calloc((size_t)g->n, sizeof *w->arenas);
  if (w) w->handles = calloc((size_t)g->n, sizeof *w->handles);
  if (!w || !w->arenas || !w->handles) {
    if (w) forget(w);
    return dp_fail(DP_EX_MEMORY, "no memory for a group of GPUs");
  }
  for (int rank = 0; rank < g->n; rank++) w->arenas[rank] = dp_nccl_arena_at(g->gpus[rank], k);
  w->next = g->windows;
  g->windows = w;
  return DP_OK;
}

// One group call, in which all ranks register the newest windows, up to `end`.
static dp_status register_all(dp_nccl_group *g, const dp_nccl_window *end) {
  ncclResult_t result = dp_nccl.ncclGroupStart();
  int failed = 0;
  for (dp_nccl_window *w = g->windows; w != end && !result; w = w->next)
    for (int rank = 0; rank < g->n && !result; rank++) {
      failed = rank;
      result = dp_nccl.ncclCommWindowRegister(g->comms[rank], w->arenas[rank]->memory, w->arenas[rank]->bytes,
                                              &w->handles[rank], NCCL_WIN_DEFAULT);
      if (result == ncclInProgress) result = ncclSuccess;
    }
  return dp_status_context(
      dp_nccl_group_end(g, result, failed),
      "registering memory (NCCL_LOCAL_REGISTER=0 and NCCL_WIN_ENABLE=0 in the environment go without)");
}

dp_status dp_nccl_windows_open(dp_nccl_group *g) {
  const dp_nccl_window *const known = g->windows;
  const int n_arenas = count_arenas(g);
  for (int k = 0; k < n_arenas; k++)
    if (!has_window(g, dp_nccl_arena_at(g->gpus[0], k))) DP_TRY(add(g, k));
  return g->windows == known ? DP_OK : register_all(g, known);
}

// Nobody is to be told of failures: all has been exchanged.
static void deregister(const dp_nccl_group *g, const dp_nccl_window *w) {
  for (int rank = 0; rank < g->n; rank++)
    if (g->comms[rank] && w->handles[rank]) dp_nccl.ncclCommWindowDeregister(g->comms[rank], w->handles[rank]);
}

void dp_nccl_windows_close(dp_nccl_group *g) {
  for (dp_nccl_window *w = g->windows, *next; w; w = next) {
    next = w->next;
    deregister(g, w);
    forget(w);
  }
  g->windows = NULL;
}

static bool is_of(const dp_nccl_group *g, const dp_nccl_window *w, const dp_nccl_arena *arena) {
  for (int rank = 0; rank < g->n; rank++)
    if (w->arenas[rank] == arena) return true;
  return false;
}

void dp_nccl_windows_drop(const dp_nccl_arena *arena) {
  for (dp_nccl_group *g = dp_nccl_groups_first(); g; g = g->next)
    for (dp_nccl_window **link = &g->windows; *link;) {
      dp_nccl_window *w = *link;
      if (!is_of(g, w, arena)) {
        link = &w->next;
        continue;
      }
      *link = w->next;
      deregister(g, w);
      forget(w);
    }
}

bool dp_nccl_windows_hold(const dp_nccl_group *g, int rank, const void *address) {
  for (const dp_nccl_window *w = g->windows; w; w = w->next) {
    const char *first = w->arenas[rank]->memory, *at = address;
    if (w->handles[rank] && at >= first && at < first + w->arenas[rank]->bytes) return true;
  }
  return false;
}
