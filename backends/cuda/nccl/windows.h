// Memory windows: arenas that all ranks of a group have registered with NCCL, which then reads and writes them
// directly. Private to the backend.
#ifndef DP_BACKENDS_CUDA_NCCL_WINDOWS_H
#define DP_BACKENDS_CUDA_NCCL_WINDOWS_H

#include "backends/cuda/nccl/arenas.h"
#include "backends/cuda/nccl/group.h"

#ifdef __cplusplus
extern "C" {
#endif

// Registers the arenas that a group's GPUs have by now. Windows must have one size on all ranks, and a call must not
// mix what is registered with what is not; so if arenas differ between ranks, as between the stages of a pipeline, the
// group goes without. EX_UNAVAILABLE, DP_EX_MEMORY.
dp_status dp_nccl_windows_open(dp_nccl_group *group) DP_MUST_USE;
// Before the communicators go.
void dp_nccl_windows_close(dp_nccl_group *group);
// An arena goes: so does every window of it.
void dp_nccl_windows_drop(const dp_nccl_arena *arena);
// Whether an address of a rank's memory is in a window.
bool dp_nccl_windows_hold(const dp_nccl_group *group, int rank, const void *address);

#ifdef __cplusplus
}
#endif
#endif
