// See exchange.h.
#include "backends/cuda/nccl/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/nccl/exchange_state.h"
#include "backends/cuda/nccl/watch.h"

// How many GPUs there are among them.
static int count_gpus(int n, const dp_cuda_gpu *const *gpus) {
  int count = 0;
  for (int a = 0; a < n; a++) {
    int b = 0;
    while (gpus[b] != gpus[a]) b++;
    count += b == a;
  }
  return count;
}

static void choose(const dp_nccl_exchange *x) {
  char on[160] = "";
  for (int rank = 0; rank < x->group->n && strlen(on) + 8 < sizeof on; rank++)
    snprintf(on + strlen(on), sizeof on - strlen(on), "%s%d", rank ? ", " : "", x->group->gpus[rank]->ordinal);
  dp_cuda_choice_add("%s: %s, GPUs %s", dp_nccl_description(), x->list.how, on);
}

static dp_status make_events(dp_nccl_exchange *x) {
  const size_t n = (size_t)x->group->n;
  for (int slot = 0; slot < DP_NCCL_SLOTS; slot++) {
    CUevent **const lists[] = {&x->come[slot], &x->over[slot]};
    for (size_t l = 0; l < DP_COUNT(lists); l++) {
      *lists[l] = calloc(n, sizeof **lists[l]);
      if (!*lists[l]) return dp_fail(DP_EX_MEMORY, "no memory for the events of a collective");
      for (size_t rank = 0; rank < n; rank++) {
        dp_cuda_gpu_use(x->group->gpus[rank]);
        DP_TRY(dp_cuda_check(dp_cu.cuEventCreate(&(*lists[l])[rank], CU_EVENT_DISABLE_TIMING), "making an event"));
      }
    }
  }
  return DP_OK;
}

static dp_status prepare(const dp_transfer *t, int n, const dp_cuda_gpu *const *gpus, dp_nccl_exchange *x) {
  x->what = strdup(t->what);
  if (!x->what) return dp_fail(DP_EX_MEMORY, "no memory for a collective");
  DP_TRY(dp_nccl_load());
  DP_TRY(dp_nccl_group_open(n, gpus, &x->group));
  DP_TRY(make_events(x));
  choose(x);
  return DP_OK;
}

dp_status dp_nccl_exchange_make(const dp_transfer *t, int n, const int *devices, const dp_cuda_gpu *const *gpus,
                                dp_nccl_exchange **exchange, const char **why) {
  *exchange = NULL;
  *why = "";
  const int n_gpus = count_gpus(n, gpus);
  if (n_gpus < n && n_gpus > 1) *why = "some of its devices share a GPU";
  if (n_gpus < n || n < 2) return DP_OK;
  dp_nccl_exchange *x = calloc(1, sizeof *x);
  if (!x) return dp_fail(DP_EX_MEMORY, "no memory for a collective");
  dp_status status = dp_nccl_find_calls(t, n, &x->list, why);
  x->devices = devices;
  const bool none = !x->list.n;
  if (!status && !none) {
    dp_nccl_watch_add(x);
    status = dp_status_context(prepare(t, n, gpus, x), "%s", t->what);
  }
  if (status || none)
    dp_nccl_exchange_release(x);
  else
    *exchange = x;
  return status;
}

void dp_nccl_exchange_release(dp_nccl_exchange *x) {
  dp_nccl_watch_drop(x);
  for (int slot = 0; slot < DP_NCCL_SLOTS; slot++) {
    CUevent *const lists[] = {x->come[slot], x->over[slot]};
    for (size_t l = 0; l < DP_COUNT(lists); l++) {
      for (int rank = 0; lists[l] && rank < x->group->n; rank++)
        if (lists[l][rank]) dp_cu.cuEventDestroy_v2(lists[l][rank]);
      free(lists[l]);
    }
  }
  if (x->group) dp_nccl_group_close(x->group);
  free(x->list.calls);
  free(x->what);
  free(x);
}

static dp_status record(const dp_nccl_exchange *x, CUevent const *events, CUstream const *streams) {
  for (int rank = 0; rank < x->group->n; rank++)
    DP_TRY(dp_cuda_check(dp_cu.cuEventRecord(events[rank], streams[rank]), "issuing a collective"));
  return DP_OK;
}

static dp_status call_all(const dp_nccl_exchange *x, CUstream const *streams) {
  ncclResult_t result = dp_nccl.ncclGroupStart();
  int rank = 0;
  for (int i = 0; i < x->list.n && !result; i++) {
    rank = x->list.calls[i].rank;
    result = dp_nccl_make_call(&x->list, &x->list.calls[i], x->group->comms[rank], streams[rank]);
    if (result == ncclInProgress) result = ncclSuccess;
  }
  dp_status status = dp_nccl_group_end(x->group, result, rank);
  dp_cuda_gpu_use(x->group->gpus[0]);  // NCCL goes from GPU to GPU
  return status;
}

dp_status dp_nccl_exchange_issue(dp_nccl_exchange *x, CUstream const *streams, int slot) {
  DP_TRY(dp_nccl_watch_check());
  DP_TRY(record(x, x->come[slot], streams));
  x->issued[slot] = dp_nccl_watch_count();
  dp_status status = call_all(x, streams);
  if (!status) return record(x, x->over[slot], streams);
  return dp_nccl_watch_fail(dp_status_context(status, "%s", x->what));
}
