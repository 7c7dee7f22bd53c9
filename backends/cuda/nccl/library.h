// NCCL, loaded when GPUs first have something to exchange. Private to the backend.
#ifndef DP_BACKENDS_CUDA_NCCL_LIBRARY_H
#define DP_BACKENDS_CUDA_NCCL_LIBRARY_H

#include <stdio.h>

#include "backends/cuda/api/nccl.h"
#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
#define DP_CALL(name, parameters) ncclResult_t(*name) parameters;
  DP_CUDA_NCCL_CALLS(DP_CALL)
  DP_CUDA_NCCL_WINDOW_CALLS(DP_CALL)  // those of versions before 2.27 are NULL
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
// Whether it has memory windows, once it has been loaded.
bool dp_nccl_has_windows(void);
// "NCCL 2.28.9, Ring, Simple, 16 channels", once it has been loaded.
const char *dp_nccl_description(void);
// Prints, for people, what carries out collectives between the GPUs of the attached session, if NCCL may and is there.
void dp_nccl_describe(FILE *out);
// "ncclSystemError".
const char *dp_nccl_name_of(ncclResult_t result);

#ifdef __cplusplus
}
#endif
#endif
