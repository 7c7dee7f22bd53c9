// See exchange.h.
#include "backends/cuda/nccl/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/gpu/watch.h"
#include "backends/cuda/nccl/calls.h"
#include "backends/cuda/nccl/windows.h"

struct dp_nccl_exchange {
  dp_nccl_group *group;
  dp_nccl_call_list list;
  dp_cuda_meeting *meeting;
};

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

// Whether NCCL may use what a rank gives and gets where it lies.
static bool in_windows(const dp_nccl_exchange *x) {
  for (int i = 0; i < x->list.n; i++) {
    const dp_nccl_call *c = &x->list.calls[i];
    const bool is_root = c->rank == c->other, gives = c->kind != DP_NCCL_RECEIVE;
    const bool gets = c->kind != DP_NCCL_SEND && (c->kind != DP_NCCL_REDUCE || is_root);
    if ((gives && !dp_nccl_windows_hold(x->group, c->rank, c->from)) ||
        (gets && !dp_nccl_windows_hold(x->group, c->rank, c->to)))
      return false;
  }
  return true;
}

static void choose(const dp_nccl_exchange *x) {
  char on[160] = "";
  for (int rank = 0; rank < x->group->n && strlen(on) + 8 < sizeof on; rank++)
    snprintf(on + strlen(on), sizeof on - strlen(on), "%s%d", rank ? ", " : "", x->group->gpus[rank]->ordinal);
  dp_cuda_choice_add("%s: %s, GPUs %s, memory %sregistered", dp_nccl_description(), x->list.how, on,
                     in_windows(x) ? "" : "not ");
}

static dp_status prepare(const dp_transfer *t, int n, const int *devices, const dp_cuda_gpu *const *gpus,
                         dp_nccl_exchange *x) {
  dp_cuda_party parties[DP_CUDA_MOST_GPUS];
  for (int rank = 0; rank < n; rank++)
    parties[rank] = (dp_cuda_party){.rank = rank, .device = devices[rank], .gpu = gpus[rank]};
  DP_TRY(dp_nccl_load());
  DP_TRY(dp_nccl_group_open(n, gpus, &x->group));
  DP_TRY(dp_cuda_meeting_make(t->what, false, n, parties, &x->meeting));
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
  const bool none = !x->list.n;
  if (!status && !none) status = dp_status_context(prepare(t, n, devices, gpus, x), "%s", t->what);
  if (status || none)
    dp_nccl_exchange_release(x);
  else
    *exchange = x;
  return status;
}

void dp_nccl_exchange_release(dp_nccl_exchange *x) {
  dp_cuda_meeting_release(x->meeting);
  if (x->group) dp_nccl_group_close(x->group);
  free(x->list.calls);
  free(x);
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
  dp_cuda_gpu_try(x->group->gpus[0]);  // NCCL goes from GPU to GPU
  return status;
}

dp_status dp_nccl_exchange_issue(dp_nccl_exchange *x, CUstream const *streams, int slot) {
  DP_TRY(dp_cuda_watch_check());
  for (int rank = 0; rank < x->group->n; rank++) DP_TRY(dp_cuda_meeting_come(x->meeting, slot, rank, streams[rank]));
  dp_cuda_meeting_begin(x->meeting, slot);
  dp_status status = call_all(x, streams);
  if (status) return dp_cuda_watch_fail(dp_status_context(status, "%s", x->meeting->what));
  for (int rank = 0; rank < x->group->n; rank++) DP_TRY(dp_cuda_meeting_over(x->meeting, slot, rank, streams[rank]));
  return DP_OK;
}
