// See expected.h.
#include "backends/cuda/gpu/expected.h"

void dp_cuda_expected_load(dp_cuda_job *job) {
  const dp_cuda_expected *expected = (const dp_cuda_expected *)(void *)job;
  dp_status_free(dp_cuda_library_load(expected->library));  // who needs it finds the same
}
