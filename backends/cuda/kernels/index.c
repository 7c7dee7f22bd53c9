// What functions that look up indices are told. See index.h.
#include "backends/cuda/kernels/index.h"

#include "backends/cuda/gpu/function.h"

dp_index_dim dp_cuda_index_dim(const dp_local *local, int d, const dp_queue *queue) {
  return (dp_index_dim){.whole = local->whole[d],
                        .unit = local->unit[d],
                        .k = local->k[d],
                        .lo = local->lo[d],
                        .mine = local->hi[d] - local->lo[d],
                        .reporter = {dp_cuda_queue_fault(queue), dp_cuda_queue_instruction(queue)}};
}
