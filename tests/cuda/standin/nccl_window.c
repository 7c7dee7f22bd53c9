// Memory windows of NCCL's stand-in: memory that it has allocated, registered by all ranks of a communicator alike.
//
// NCCL's documentation and what it checks itself: memory comes from ncclMemAlloc, a window begins at a multiple of
// NCCL_WIN_REQUIRED_ALIGNMENT in it, ranks register equally much in the same order, and a window is deregistered before
// its memory is freed and before its communicator is destroyed. What does not hold is said, and refused.
#include <stdio.h>
#include <stdlib.h>

#include "tests/cuda/standin/nccl.h"

#define EXPORT DP_STANDIN_EXPORT

#define DP_DECLARE(name, parameters) EXPORT ncclResult_t name parameters;
DP_CUDA_NCCL_WINDOW_CALLS(DP_DECLARE)
#undef DP_DECLARE
CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr memory);

typedef struct memory {
  char *first;
  size_t bytes;
  struct memory *next;
} memory;

typedef struct ncclWindow_vidmem window;
struct ncclWindow_vidmem {
  ncclComm_t comm;
  const void *set;
  int rank, ranks;
  const char *first;
  size_t bytes;
  ncclWindow_t *to;  // where the rank gets it; NULL: it has
  bool open;         // of the group that has not ended
  window *next;
};

static memory *allocated;
static window *windows;  // the newest first

static void say(const char *what) { fprintf(stderr, "NCCL stand-in: %s\n", what); }

ncclResult_t ncclMemAlloc(void **to, size_t bytes) {
  CUdeviceptr address = 0;
  if (nccl_refused(__func__) || cuMemAlloc_v2(&address, bytes)) return ncclUnhandledCudaError;
  memory *m = malloc(sizeof *m);
  if (!m) abort();
  *m = (memory){(char *)(uintptr_t)address, bytes, allocated};
  allocated = m;
  *to = m->first;
  return ncclSuccess;
}

static const memory *memory_of(const char *first, size_t bytes) {
  for (const memory *m = allocated; m; m = m->next)
    if (first >= m->first && first < m->first + m->bytes && bytes <= (size_t)(m->first + m->bytes - first)) return m;
  return NULL;
}

ncclResult_t ncclMemFree(void *address) {
  const bool fails = nccl_refused(__func__);
  memory **link = &allocated;
  while (*link && (*link)->first != address) link = &(*link)->next;
  memory *m = *link;
  if (!m) return ncclInvalidArgument;
  for (const window *w = windows; w; w = w->next)
    if (w->first >= m->first && w->first < m->first + m->bytes) say("memory is freed that is registered");
  *link = m->next;
  cuMemFree_v2((CUdeviceptr)(uintptr_t)m->first);
  free(m);
  return fails ? ncclUnhandledCudaError : ncclSuccess;
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *first, size_t bytes, ncclWindow_t *to, int flags) {
  if (nccl_refused(__func__)) return nccl_note(ncclUnhandledCudaError);
  int ranks;
  const void *set;
  const int rank = nccl_rank_of(comm, &ranks, &set);
  const memory *m = memory_of(first, bytes);
  if (rank < 0 || !to || flags != NCCL_WIN_DEFAULT) return nccl_note(ncclInvalidArgument);
  if (!m || ((const char *)first - m->first) % NCCL_WIN_REQUIRED_ALIGNMENT) {
    say(m ? "memory that is registered is not aligned" : "memory that is registered is not of ncclMemAlloc");
    return nccl_note(ncclInvalidArgument);
  }
  window *w = malloc(sizeof *w);
  if (!w) abort();
  *w = (window){comm, set, rank, ranks, first, bytes, to, true, windows};
  windows = w;
  *to = NULL;
  dp_standin_handles(1);
  return ncclSuccess;
}

static void drop(window **link) {
  window *w = *link;
  *link = w->next;
  free(w);
  dp_standin_handles(-1);
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t gone) {
  const bool fails = nccl_refused(__func__);
  window **link = &windows;
  while (*link && (*link != gone || gone->comm != comm)) link = &(*link)->next;
  if (!*link) return gone ? ncclInvalidArgument : ncclSuccess;
  drop(link);
  return fails ? ncclUnhandledCudaError : ncclSuccess;
}

// Window number k of those that a rank has registered in this group, from the newest.
static const window *open_window(const void *set, int rank, int k) {
  for (const window *w = windows; w; w = w->next)
    if (w->open && w->set == set && w->rank == rank && !k--) return w;
  return NULL;
}

static bool agree(const window *w) {
  for (int k = 0, more = 1; more; k++) {
    const window *first = open_window(w->set, 0, k);
    more = first != NULL;
    for (int rank = 1; rank < w->ranks; rank++) {
      const window *other = open_window(w->set, rank, k);
      if (!first != !other || (first && first->bytes != other->bytes)) return false;
    }
  }
  return true;
}

bool nccl_windows_end(bool failed) {
  bool good = true;
  for (const window *w = windows; w && !failed; w = w->next) good &= !w->open || agree(w);
  if (!good) say("ranks register different memory");
  for (window **link = &windows; *link;)
    if ((*link)->open && (failed || !good)) {
      drop(link);
    } else {
      (*link)->open = false;
      link = &(*link)->next;
    }
  return good;
}

bool nccl_windows_wait(const void *set) {
  for (const window *w = windows; w; w = w->next)
    if (w->to && w->set == set) return true;
  return false;
}

void nccl_windows_give(const void *set) {
  for (window *w = windows; w; w = w->next)
    if (w->to && w->set == set) {
      *w->to = w;
      w->to = NULL;
    }
}

void nccl_windows_leave(ncclComm_t comm, bool aborted) {
  for (window **link = &windows; *link;)
    if ((*link)->comm == comm) {
      if (!aborted) say("a communicator is destroyed while memory is registered with it");
      drop(link);
    } else {
      link = &(*link)->next;
    }
}

bool nccl_windows_hold(ncclComm_t comm, const void *address) {
  const char *at = address;
  for (const window *w = windows; w; w = w->next)
    if (w->comm == comm && at >= w->first && at < w->first + w->bytes) return true;
  return false;
}
