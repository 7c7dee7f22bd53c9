// See group.h. Calls do not block, so that a GPU that does not answer cannot hold the host: what a call has begun is
// asked for until it is done, or has taken too long.
#include "backends/cuda/nccl/group.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/gpu/gpus.h"
#include "backends/cuda/gpu/waiting.h"
#include "backends/cuda/gpu/watch.h"
#include "backends/cuda/nccl/windows.h"

static dp_nccl_group *groups;

// What a rank's communicator says of what was begun.
static ncclResult_t state_of(const dp_nccl_group *g, int rank) {
  ncclResult_t state = ncclSuccess;
  if (!g->comms[rank]) return ncclSuccess;
  const ncclResult_t result = dp_nccl.ncclCommGetAsyncError(g->comms[rank], &state);
  return result ? result : state;
}

// The plan's device of a rank, which has its GPU for itself.
static int device_of(const dp_nccl_group *g, int rank) {
  int device = 0;
  while (device + 1 < dp_cuda_gpus_devices() && dp_cuda_gpu_of(device) != g->gpus[rank]) device++;
  return device;
}

static dp_status fail(const dp_nccl_group *g, int rank, ncclResult_t result) {
  DP_TRY(dp_cuda_blamed());
  return dp_fail(result == ncclRemoteError ? DP_EX_PEER_LOST : EX_UNAVAILABLE,
                 "NCCL: device %d (GPU %d) tells of %s (%d)", device_of(g, rank), g->gpus[rank]->ordinal,
                 dp_nccl_name_of(result), (int)result);
}

// The failure of a group that tells most: that of a rank that only hears of it from others, if there is no other one.
static dp_status failure_of(const dp_nccl_group *g) {
  int heard = -1;
  for (int rank = 0; rank < g->n; rank++) {
    const ncclResult_t state = state_of(g, rank);
    if (state == ncclRemoteError && heard < 0) heard = rank;
    if (state != ncclSuccess && state != ncclInProgress && state != ncclRemoteError) return fail(g, rank, state);
  }
  return heard < 0 ? DP_OK : fail(g, heard, ncclRemoteError);
}

// Returns when no rank is in the middle of a call.
static dp_status settle(const dp_nccl_group *g) {
  const double begin = dp_cuda_now();
  for (int rank = 0; rank < g->n;) {
    const ncclResult_t state = state_of(g, rank);
    if (state != ncclInProgress && state != ncclSuccess) return failure_of(g);
    rank += state == ncclSuccess;
    if (state == ncclSuccess) continue;
    if (dp_cuda_timeout() > 0 && dp_cuda_now() - begin > dp_cuda_timeout())
      return dp_fail(DP_EX_PEER_LOST, "NCCL: device %d (GPU %d) has not answered for %g s (--timeout)",
                     device_of(g, rank), g->gpus[rank]->ordinal, dp_cuda_timeout());
    nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
  }
  return DP_OK;
}

dp_status dp_nccl_group_end(dp_nccl_group *g, ncclResult_t result, int rank) {
  const ncclResult_t ended = dp_nccl.ncclGroupEnd();
  if (result == ncclInProgress) result = ncclSuccess;
  if (result) return fail(g, rank, result);
  if (ended == ncclInProgress || ended == ncclSuccess) return settle(g);
  dp_status told = failure_of(g);
  return told ? told : dp_fail(EX_UNAVAILABLE, "NCCL: ncclGroupEnd gives %s (%d)", dp_nccl_name_of(ended), (int)ended);
}

// ---- watching -------------------------------------------------------------------------------------------------------

static dp_status check_all(void) {
  dp_status heard = DP_OK;
  for (const dp_nccl_group *g = groups; g; g = g->next) {
    dp_status told = failure_of(g);
    if (told && dp_status_code(told) != DP_EX_PEER_LOST) {
      dp_status_free(heard);
      return told;
    }
    if (heard)
      dp_status_free(told);
    else
      heard = told;
  }
  return heard;
}

// An abort takes windows with it.
static void abort_group(dp_nccl_group *g) {
  for (int rank = 0; rank < g->n; rank++) {
    if (g->comms[rank]) dp_nccl.ncclCommAbort(g->comms[rank]);
    g->comms[rank] = NULL;
  }
}

static void abort_all(void) {
  for (dp_nccl_group *g = groups; g; g = g->next) abort_group(g);
}

// ---- making ---------------------------------------------------------------------------------------------------------

static void destroy(dp_nccl_group *g) {
  bool whole = g->comms != NULL;
  dp_nccl_windows_close(g);
  for (int rank = 0; whole && rank < g->n; rank++) whole = g->comms[rank] != NULL;
  if (whole) {
    dp_nccl.ncclGroupStart();
    ncclResult_t result = ncclSuccess;
    for (int rank = 0; rank < g->n; rank++) {
      const ncclResult_t one = dp_nccl.ncclCommFinalize(g->comms[rank]);
      if (!result && one != ncclInProgress) result = one;
    }
    dp_status status = dp_nccl_group_end(g, result, 0);
    for (int rank = 0; rank < g->n; rank++)
      if (status)
        dp_nccl.ncclCommAbort(g->comms[rank]);
      else
        dp_nccl.ncclCommDestroy(g->comms[rank]);
    dp_status_free(status);  // nobody is there to be told: all has been exchanged
  }
  free(g->gpus);
  free(g->comms);
  free(g);
}

static dp_status connect(dp_nccl_group *g) {
  ncclUniqueId id;
  ncclResult_t result = dp_nccl.ncclGetUniqueId(&id);
  if (result) return dp_fail(EX_UNAVAILABLE, "NCCL: ncclGetUniqueId gives %s", dp_nccl_name_of(result));
  ncclConfig_t config;
  memset(&config, 0, sizeof config);
  config.size = DP_NCCL_CONFIG_BYTES;
  config.magic = DP_NCCL_MAGIC;
  config.version = DP_NCCL_CONFIG_VERSION;
  config.cgaClusterSize = config.splitShare = DP_NCCL_UNDEFINED;
  config.minCTAs = config.maxCTAs = DP_NCCL_CHANNELS;
  int failed = 0;
  dp_status refused = DP_OK;
  result = dp_nccl.ncclGroupStart();
  for (int rank = 0; rank < g->n && !result; rank++) {
    failed = rank;
    refused = dp_cuda_gpu_use(g->gpus[rank]);  // NCCL takes the current context's GPU
    if (refused) break;
    result = dp_nccl.ncclCommInitRankConfig(&g->comms[rank], g->n, id, rank, &config);
    if (result == ncclInProgress) result = ncclSuccess;
  }
  dp_status ended = dp_nccl_group_end(g, result, failed);
  if (!refused) return ended;
  dp_status_free(ended);  // it is that ranks are missing
  return refused;
}

static dp_status make(int n, const dp_cuda_gpu *const *gpus, dp_nccl_group **made) {
  static const dp_cuda_watch_library library = {check_all, abort_all};
  dp_cuda_watch_library_add(&library);
  dp_nccl_group *g = calloc(1, sizeof *g);
  if (!g) return dp_fail(DP_EX_MEMORY, "no memory for a group of GPUs");
  g->gpus = calloc((size_t)n, sizeof *g->gpus);
  g->comms = calloc((size_t)n, sizeof *g->comms);
  dp_status status = g->gpus && g->comms ? DP_OK : dp_fail(DP_EX_MEMORY, "no memory for a group of GPUs");
  g->n = n;
  if (!status) {
    memcpy(g->gpus, gpus, (size_t)n * sizeof *gpus);
    status = connect(g);
    if (status) abort_group(g);
  }
  if (status) {
    destroy(g);
    return status;
  }
  g->next = groups;
  groups = *made = g;
  return DP_OK;
}

dp_status dp_nccl_group_open(int n, const dp_cuda_gpu *const *gpus, dp_nccl_group **group) {
  dp_nccl_group *g = groups;
  while (g && (g->n != n || memcmp(g->gpus, gpus, (size_t)n * sizeof *gpus))) g = g->next;
  if (!g) DP_TRY(make(n, gpus, &g));
  g->users++;
  dp_status status = dp_nccl_windows_open(g);
  if (status)
    dp_nccl_group_close(g);
  else
    *group = g;
  return status;
}

dp_nccl_group *dp_nccl_groups_first(void) { return groups; }

void dp_nccl_group_close(dp_nccl_group *g) {
  if (--g->users) return;
  dp_nccl_group **link = &groups;
  while (*link != g) link = &(*link)->next;
  *link = g->next;
  destroy(g);
}
