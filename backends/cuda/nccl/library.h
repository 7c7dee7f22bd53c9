// NCCL, loaded when GPUs first have something to exchange. Private to the backend.
#ifndef DP_BACKENDS_CUDA_NCCL_LIBRARY_H
#define DP_BACKENDS_CUDA_NCCL_LIBRARY_H

#include "backends/cuda/api/nccl.h"
#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
#define DP_CALL(name, parameters) ncclResult_t(*name) parameters;
  DP_CUDA_NCCL_CALLS(DP_CALL)
#undef DP_CALL
} dp_nccl_calls;

// Filled by dp_nccl_load.
extern dp_nccl_calls dp_nccl;

// Blocks that a collective has on each GPU, no more and no less.
enum { DP_NCCL_CHANNELS = 16 };

// Fixes what NCCL would choose by itself, so that equal runs give equal bits: the algorithm and the protocol. It reads
// them from the environment (NCCL_ALGO, NCCL_PROTO) when it is loaded; what the user has set there stays. Call it while
// the process has one thread.
void dp_nccl_pin(void);

// Loads it, once for the process. EX_UNAVAILABLE: it is not there, or older than 2.18.
dp_status dp_nccl_load(void) DP_MUST_USE;
// "NCCL 2.28.9, Ring, Simple, 16 channels", once it has been loaded.
const char *dp_nccl_description(void);
// "ncclSystemError".
const char *dp_nccl_name_of(ncclResult_t result);

#ifdef __cplusplus
}
#endif
#endif
