// See transfer.h.
#include "backends/cuda/transfer.h"

#include <stdlib.h>

#include "backends/cuda/gpu/queue.h"
#include "backends/cuda/transfer_part.h"

typedef struct {
  ptrdiff_t host_copy_distance;
  CUevent begun;  // when the other parts may begin; NULL: there are none
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

// Events by which parts on other queues begin and end.
static dp_status make_events(cuda_transfer *t) {
  for (int p = 1; p < t->n_parts; p++) {
    if (!t->parts[p].n_steps) continue;
    dp_cuda_gpu_use(t->parts[p].gpu);
    DP_TRY(dp_cuda_check(dp_cu.cuEventCreate(&t->parts[p].done, CU_EVENT_DISABLE_TIMING), "making an event"));
    if (t->begun) continue;
    dp_cuda_gpu_use(t->parts[0].gpu);
    DP_TRY(dp_cuda_check(dp_cu.cuEventCreate(&t->begun, CU_EVENT_DISABLE_TIMING), "making an event"));
  }
  return DP_OK;
}

dp_status dp_cuda_transfer_prepare(const int *devices, int n_devices, const dp_transfer *from, void **state) {
  cuda_transfer *t = NULL;
  DP_TRY(make(devices, n_devices, &t));
  t->host_copy_distance = from->host_copy_distance;
  dp_status status = fill(from, t);
  if (!status) status = make_events(t);
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
  for (int p = 0; p < t->n_parts; p++) dp_cuda_part_release(&t->parts[p]);
  if (t->begun) dp_cu.cuEventDestroy_v2(t->begun);
  free(t);
}

dp_status dp_cuda_transfer_enqueue(dp_queue *const *queues, void *state, int slot) {
  const cuda_transfer *t = state;
  const ptrdiff_t distance = slot * t->host_copy_distance;
  if (t->begun) DP_TRY(dp_cuda_queue_signal(queues[0], (dp_event *)t->begun));
  for (int p = 1; p < t->n_parts; p++) {
    const dp_cuda_part *part = &t->parts[p];
    dp_queue *queue = queues[part->member];
    if (!part->done) continue;
    DP_TRY(dp_cuda_queue_wait(queue, (dp_event *)t->begun));
    DP_TRY(dp_cuda_part_enqueue(part, queue, distance));
    DP_TRY(dp_cuda_queue_signal(queue, (dp_event *)part->done));
  }
  DP_TRY(dp_cuda_part_enqueue(&t->parts[0], queues[0], distance));
  for (int p = 1; p < t->n_parts; p++)
    if (t->parts[p].done) DP_TRY(dp_cuda_queue_wait(queues[0], (dp_event *)t->parts[p].done));
  return DP_OK;
}
