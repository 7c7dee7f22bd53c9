// See transfer.h.
#include "backends/cuda/transfer.h"

#include <stdlib.h>

#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/gpu/queue.h"
#include "backends/cuda/gpu/watch.h"
#include "backends/cuda/nccl/exchange.h"
#include "backends/cuda/transfer_part.h"

typedef struct {
  dp_nccl_exchange *exchange;  // NULL: functions of our own do it, in parts
  int n_devices;
  ptrdiff_t host_copy_distance;
  dp_cuda_meeting *meeting;  // of the devices; NULL: they are on one GPU
  bool spreads;              // each device begins and ends it on its own queue
  int n_parts;
  dp_cuda_part parts[];  // (n_parts) the first is on the first device's GPU
} cuda_transfer;

// One part for each GPU that has some of the devices.
static dp_status make(const int *devices, int n_devices, cuda_transfer **made) {
  cuda_transfer *t = calloc(1, sizeof *t + (size_t)(n_devices + 1) * sizeof *t->parts);
  if (!t) return dp_fail(DP_EX_MEMORY, "no memory for the tables of a collective");
  for (int m = 0; m < n_devices; m++) {
    const dp_cuda_gpu *gpu = dp_cuda_gpu_of(devices[m]);
    int p = 0;
    while (p < t->n_parts && t->parts[p].gpu != gpu) p++;
    if (p == t->n_parts) t->parts[t->n_parts++] = (dp_cuda_part){.gpu = gpu, .member = m};
  }
  *made = t;
  return DP_OK;
}

static dp_status fill(const dp_transfer *from, cuda_transfer *t) {
  DP_TRY(from->n_targets ? dp_cuda_transfer_sum(from, t->parts, t->n_parts)
                         : dp_cuda_transfer_boxes(from, t->parts, t->n_parts));
  for (int p = 0; p < t->n_parts; p++) DP_TRY(dp_cuda_part_finish(&t->parts[p]));
  return DP_OK;
}

// Devices on several GPUs meet, and are watched, since a part that never ends would hold the others for ever.
static dp_status make_meeting(const char *what, const int *devices, cuda_transfer *t) {
  dp_cuda_party *parties = calloc((size_t)t->n_devices, sizeof *parties);
  if (!parties) return dp_fail(DP_EX_MEMORY, "no memory for the tables of a collective");
  for (int m = 0; m < t->n_devices; m++)
    parties[m] = (dp_cuda_party){.rank = m, .device = devices[m], .gpu = dp_cuda_gpu_of(devices[m])};
  dp_status status = dp_cuda_meeting_make(what, true, t->n_devices, parties, &t->meeting);
  free(parties);
  return status;
}

static dp_status is_host(const void *address, bool *host) {
  const dp_cuda_gpu *gpu;
  DP_TRY(dp_cuda_gpu_holding(address, &gpu));
  *host |= !gpu;
  return DP_OK;
}

// Whether it reads or writes memory of the host. All tensors have their shards in the same places.
static dp_status touches_host(const dp_transfer *from, bool *host) {
  *host = from->by_copies;
  const int n_copies = from->n_targets ? 0 : from->first[from->n_parts];
  for (int i = 0; i < n_copies && !*host; i++) {
    DP_TRY(is_host(from->copies[i].source, host));
    DP_TRY(is_host(from->copies[i].target, host));
  }
  for (int i = 0; i < from->n_sources && from->n_targets && from->count; i++) DP_TRY(is_host(from->from[i], host));
  for (int i = 0; i < from->n_targets && from->count; i++) DP_TRY(is_host(from->to[i], host));
  return DP_OK;
}

// Memory of the host has no device whose queue would order what is done to it, so such a transfer does not spread.
static dp_status fill_parts(const int *devices, const dp_transfer *from, cuda_transfer *t) {
  bool host;
  DP_TRY(fill(from, t));
  if (t->n_parts == 1) return DP_OK;
  DP_TRY(touches_host(from, &host));
  t->spreads = !host;
  return make_meeting(from->what ? from->what : "a collective", devices, t);
}

// By NCCL if it can, and may; else by functions of our own, and says why.
static dp_status fill_exchange(const int *devices, const dp_transfer *from, cuda_transfer *t) {
  const dp_cuda_gpu *gpus[DP_CUDA_MOST_GPUS];
  const char *why;
  if (t->n_devices > DP_CUDA_MOST_GPUS) return DP_OK;
  for (int m = 0; m < t->n_devices; m++) gpus[m] = dp_cuda_gpu_of(devices[m]);
  DP_TRY(dp_nccl_exchange_make(from, t->n_devices, devices, gpus, &t->exchange, &why));
  if (*why) dp_cuda_choice_add("no NCCL, since %s", why);
  return DP_OK;
}

dp_status dp_cuda_transfer_prepare(const int *devices, int n_devices, const dp_transfer *from, void **state) {
  cuda_transfer *t = NULL;
  DP_TRY(make(devices, n_devices, &t));
  t->host_copy_distance = from->host_copy_distance;
  t->n_devices = n_devices;
  dp_status status = fill_exchange(devices, from, t);
  if (!status && !t->exchange) status = fill_parts(devices, from, t);
  if (status)
    dp_cuda_transfer_release(t);
  else
    *state = t;
  return status;
}

dp_status dp_cuda_transfer_add(const dp_transfer *transfer) {
  dp_cuda_part part = {0};
  dp_status status =
      transfer->n_targets ? dp_cuda_transfer_sum(transfer, &part, 1) : dp_cuda_transfer_boxes(transfer, &part, 1);
  dp_cuda_part_release(&part);
  return status;
}

void dp_cuda_transfer_release(void *state) {
  cuda_transfer *t = state;
  if (t->exchange) dp_nccl_exchange_release(t->exchange);
  dp_cuda_meeting_release(t->meeting);
  for (int p = 0; p < t->n_parts; p++) dp_cuda_part_release(&t->parts[p]);
  free(t);
}

bool dp_cuda_transfer_spreads(const void *state) {
  const cuda_transfer *t = state;
  return t->exchange || t->spreads;
}

static dp_status issue_exchange(dp_queue *const *queues, const cuda_transfer *t, int slot) {
  CUstream streams[DP_CUDA_MOST_GPUS];
  for (int m = 0; m < t->n_devices; m++) streams[m] = dp_cuda_queue_stream(queues[m]);
  return dp_nccl_exchange_issue(t->exchange, streams, slot);
}

// All devices come. If the transfer does not spread, the first one's queue says when it begins.
static dp_status come(dp_queue *const *queues, const cuda_transfer *t, int slot) {
  for (int m = 0; m < t->n_devices; m++) {
    if (m && !t->spreads) DP_TRY(dp_cuda_queue_wait(queues[m], (dp_event *)t->meeting->parties[0].come[slot]));
    DP_TRY(dp_cuda_meeting_come(t->meeting, slot, m, dp_cuda_queue_stream(queues[m])));
  }
  return DP_OK;
}

// A part reads and writes what is of all devices, so it begins when they have come, and each of them goes on when all
// parts are over.
static dp_status issue_parts(dp_queue *const *queues, const cuda_transfer *t, int slot) {
  const dp_cuda_party *parties = t->meeting->parties;
  DP_TRY(dp_cuda_watch_check());
  dp_cuda_meeting_begin(t->meeting, slot);
  DP_TRY(come(queues, t, slot));
  for (int p = 0; p < t->n_parts; p++) {
    const int leader = t->parts[p].member;
    for (int m = 0; m < t->n_devices && t->parts[p].n_steps; m++)
      if (m != leader) DP_TRY(dp_cuda_queue_wait(queues[leader], (dp_event *)parties[m].come[slot]));
    DP_TRY(dp_cuda_part_enqueue(&t->parts[p], queues[leader], slot * t->host_copy_distance));
  }
  for (int m = 0; m < t->n_devices; m++)
    DP_TRY(dp_cuda_meeting_over(t->meeting, slot, m, dp_cuda_queue_stream(queues[m])));
  for (int m = 0; m < t->n_devices; m++)
    for (int p = 0; p < t->n_parts; p++)
      if (t->parts[p].n_steps && t->parts[p].member != m)
        DP_TRY(dp_cuda_queue_wait(queues[m], (dp_event *)parties[t->parts[p].member].over[slot]));
  return DP_OK;
}

dp_status dp_cuda_transfer_enqueue(dp_queue *const *queues, void *state, int slot) {
  const cuda_transfer *t = state;
  if (t->exchange) return issue_exchange(queues, t, slot);
  if (t->meeting) return issue_parts(queues, t, slot);
  return dp_cuda_part_enqueue(&t->parts[0], queues[0], slot * t->host_copy_distance);
}
