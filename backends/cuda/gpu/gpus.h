// The GPUs of a session: which ones they are, and on which of them each device of the plan is. Private to the backend.
//
// One choice of GPUs holds for the process. It counts when a session attaches; all sessions that live at the same time
// share the GPUs, and have equally many devices if that is more than one GPU. One thread at a time may choose, attach
// and detach; any thread may ask.
#ifndef DP_BACKENDS_CUDA_GPUS_H
#define DP_BACKENDS_CUDA_GPUS_H

#include <stdio.h>

#include "backends/cuda/gpu/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

// Chooses GPUs for sessions to come: "0,2", or UUIDs as nvidia-smi -L shows them, or beginnings of UUIDs that only one
// GPU has. NULL: all that are new enough. Forgets the map. EX_USAGE: no such list, or a GPU is in it twice;
// EX_UNAVAILABLE: there is no such GPU.
dp_status dp_cuda_gpus_choose(const char *list) DP_MUST_USE;
// The UUIDs of the GPUs that were chosen, with commas between them.
void dp_cuda_gpus_identify(char *uuids, size_t bytes);
// For each device of the plan the place of its GPU in the list: "0,0,1,1". NULL: devices in blocks as even as can be,
// and no more GPUs than devices. EX_USAGE.
dp_status dp_cuda_gpus_map(const char *map) DP_MUST_USE;

// A session of a plan for so many devices begins: opens its GPUs, and lets them reach each other's memory where they
// can. EX_CONFIG: some of the GPUs that were named would have no device, or the map is not for so many devices;
// EX_UNAVAILABLE: the driver refuses, or a session of a plan for another number of devices lives.
dp_status dp_cuda_gpus_attach(int n_devices) DP_MUST_USE;
// It ends.
void dp_cuda_gpus_detach(void);

// While a session lives:
int dp_cuda_gpus_count(void);
int dp_cuda_gpus_devices(void);  // of the plan
// Prints which devices are on which GPU, and what these GPUs reach.
void dp_cuda_gpus_describe(FILE *out);
// The GPU number `index` of dp_cuda_gpus_count, in the order of the list.
const dp_cuda_gpu *dp_cuda_gpus_at(int index);
// The GPU of a device of the plan. Not NULL.
const dp_cuda_gpu *dp_cuda_gpu_of(int device);
// Makes it current to the calling thread, as dp_cuda_gpu_use does.
dp_status dp_cuda_gpu_use_for(int device) DP_MUST_USE;
// Whether functions on `gpu` can read and write memory of `other`. A GPU reaches its own.
bool dp_cuda_gpu_reaches(const dp_cuda_gpu *gpu, const dp_cuda_gpu *other);
// Whether it reaches that of all of them.
bool dp_cuda_gpu_reaches_all(const dp_cuda_gpu *gpu);
// Whether every GPU reaches every other one's memory.
bool dp_cuda_gpus_all_reach(void);
// The GPU whose memory an address is in; NULL: the host's. EX_UNAVAILABLE: the driver knows no such memory.
dp_status dp_cuda_gpu_holding(const void *address, const dp_cuda_gpu **gpu) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
