// See queue.h. A dp_event is a CUevent, of the GPU of its device. Signals and waits need no current context; what is
// launched and copied does.
#include "backends/cuda/gpu/queue.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/fault.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/gpu/gpus.h"
#include "backends/cuda/gpu/waiting.h"

struct dp_queue {
  const dp_cuda_gpu *gpu;
  CUstream stream;
  dp_cuda_fault *fault;  // in host memory; the GPU reaches it by the same address
  int instruction;
};

dp_status dp_cuda_queue_create(int device, bool urgent, dp_queue **queue) {
  DP_TRY(dp_cuda_gpu_use_for(device));
  dp_queue *q = calloc(1, sizeof *q);
  if (!q) return dp_fail(DP_EX_MEMORY, "no memory for a queue of the GPU");
  q->gpu = dp_cuda_gpu_of(device);
  int least, greatest;
  void *fault = NULL;
  dp_status status = dp_cuda_check(dp_cu.cuCtxGetStreamPriorityRange(&least, &greatest), "making a stream");
  if (!status)
    status =
        dp_cuda_check(dp_cu.cuStreamCreateWithPriority(&q->stream, CU_STREAM_NON_BLOCKING, urgent ? greatest : least),
                      "making a stream");
  if (!status)
    status = dp_cuda_check(
        dp_cu.cuMemHostAlloc(&fault, sizeof *q->fault, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
        "making a stream");
  if (status) {
    dp_cuda_queue_destroy(q);
    return status;
  }
  q->fault = memset(fault, 0, sizeof *q->fault);
  *queue = q;
  return DP_OK;
}

void dp_cuda_queue_destroy(dp_queue *q) {
  dp_cuda_gpu_try(q->gpu);
  if (q->stream) dp_cu.cuStreamDestroy_v2(q->stream);
  if (q->fault && !dp_cuda_is_lost()) dp_cu.cuMemFreeHost(q->fault);
  free(q);
}

dp_status dp_cuda_event_create(int device, bool timed, dp_event **event) {
  CUevent made;
  DP_TRY(dp_cuda_gpu_use_for(device));
  DP_TRY(
      dp_cuda_check(dp_cu.cuEventCreate(&made, timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING), "making an event"));
  *event = (dp_event *)made;
  return DP_OK;
}

void dp_cuda_event_destroy(dp_event *event) { dp_cu.cuEventDestroy_v2((CUevent)event); }

dp_status dp_cuda_queue_signal(dp_queue *q, dp_event *event) {
  return dp_cuda_check(dp_cu.cuEventRecord((CUevent)event, q->stream), "issuing a step");
}

dp_status dp_cuda_event_elapsed(dp_event *begin, dp_event *end, double *ns) {
  float milliseconds;
  DP_TRY(dp_cuda_check(dp_cu.cuEventElapsedTime(&milliseconds, (CUevent)begin, (CUevent)end), "reading its clock"));
  *ns = 1e6 * (double)milliseconds;
  return DP_OK;
}

dp_status dp_cuda_queue_wait(dp_queue *q, dp_event *event) {
  return dp_cuda_check(dp_cu.cuStreamWaitEvent(q->stream, (CUevent)event, 0), "issuing a step");
}

void dp_cuda_queue_begin(dp_queue *q, int instruction) {
  dp_status_free(dp_cuda_gpu_enter(q->gpu));  // what is issued now would be refused, for that reason
  q->instruction = instruction;
}

const dp_cuda_gpu *dp_cuda_queue_gpu(const dp_queue *q) { return q->gpu; }

void *dp_cuda_queue_stream(const dp_queue *q) { return q->stream; }
struct dp_cuda_fault *dp_cuda_queue_fault(const dp_queue *q) {
  return q->fault;
}
uint64_t dp_cuda_queue_instruction(const dp_queue *q) { return (uint64_t)q->instruction + 1; }

static dp_status describe(const dp_cuda_fault *f) {
  switch (f->code) {
    case DP_FAULT_LABEL:
      return dp_fail(EX_DATAERR, "label %lld at index %lld of the batch is not in 0..%lld", f->value, f->index,
                     f->limit - 1);
    case DP_FAULT_INDEX:
      return dp_fail(EX_DATAERR, "index %lld at position %lld is not in %lld..%lld", f->value, f->index, -f->limit,
                     f->limit - 1);
    case DP_FAULT_DIVISOR:
      return dp_fail(EX_DATAERR, "division of an integer by zero at position %lld", f->index);
    default:
      return dp_fail(EX_SOFTWARE, "a GPU function reports %lld", f->code);
  }
}

dp_status dp_cuda_event_await(dp_event *event) { return dp_cuda_wait_event((CUevent)event); }

// The first word alone is whole while the GPU may be writing.
int dp_cuda_queue_reported(dp_queue *q) { return (int)__atomic_load_n(&q->fault->first, __ATOMIC_ACQUIRE) - 1; }

dp_status dp_cuda_queue_finish(dp_queue *q, int *instruction) {
  *instruction = -1;
  DP_TRY(dp_cuda_gpu_use(q->gpu));
  DP_TRY(dp_cuda_wait_stream(q->stream));
  const dp_cuda_fault fault = *q->fault;
  if (!fault.first && !fault.refused) return DP_OK;
  memset(q->fault, 0, sizeof *q->fault);
  if (!fault.first) return DP_OK;  // another queue has the report
  *instruction = (int)(fault.first - 1);
  return describe(&fault);
}
