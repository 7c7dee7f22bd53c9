// See capture.h. A dp_captured is a CUgraphExec.
#include "backends/cuda/gpu/capture.h"

#include "backends/cuda/gpu/driver.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/gpu/queue.h"

// Other threads may load functions and copy meanwhile.
dp_status dp_cuda_capture_begin(dp_queue *queue) {
  DP_TRY(dp_cuda_gpu_use(dp_cuda_queue_gpu(queue)));
  return dp_cuda_check(dp_cu.cuStreamBeginCapture_v2(dp_cuda_queue_stream(queue), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                       "capturing a step");
}

dp_status dp_cuda_capture_end(dp_queue *queue, dp_captured **captured) {
  CUgraph graph = NULL;
  CUgraphExec executable = NULL;
  *captured = NULL;
  DP_TRY(dp_cuda_check(dp_cu.cuStreamEndCapture(dp_cuda_queue_stream(queue), &graph), "capturing a step"));
  dp_status status = dp_cuda_check(dp_cu.cuGraphInstantiateWithFlags(&executable, graph, 0), "capturing a step");
  dp_cu.cuGraphDestroy(graph);
  if (!status) *captured = (dp_captured *)executable;
  return status;
}

dp_status dp_cuda_capture_replay(dp_queue *queue, dp_captured *captured) {
  return dp_cuda_check(dp_cu.cuGraphLaunch((CUgraphExec)captured, dp_cuda_queue_stream(queue)), "issuing a step");
}

void dp_cuda_capture_release(dp_captured *captured) { dp_cu.cuGraphExecDestroy((CUgraphExec)captured); }
