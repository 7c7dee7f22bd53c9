// The memory that a plan needs: on every device the arenas of its role, on the host one block that all roles share.
// Also reads and writes variables as whole tensors. Private to the runtime.
#ifndef DP_RUNTIME_BIND_MEMORY_H
#define DP_RUNTIME_BIND_MEMORY_H

#include "ir/graph/graph.h"
#include "ir/plan/plan.pb-c.h"
#include "runtime/base/backend.h"
#include "runtime/base/peers.h"
#include "runtime/bind/role_map.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_MEMORY_COPIES = 2, DP_MEMORY_SPACES = 9 };

typedef struct {
  char *variable, *transient;
  uint64_t persistent_bytes, transient_bytes;  // of the arenas of its role
  char *input[DP_MEMORY_COPIES];               // inputs have a copy for each of two runs
  uint64_t input_bytes;                        // of one copy
  char *offload;                               // its own memory of the host
  uint64_t offload_bytes;
} dp_device_memory;

typedef struct {
  const dp_backend *backend;
  const dp_peers *peers;  // NULL: all devices are here
  int n_devices;
  dp_device_memory *devices;  // (n_devices) those elsewhere have none
  char *host_input[DP_MEMORY_COPIES], *host_output[DP_MEMORY_COPIES];
  int n_outputs;                                 // copies of the outputs: 2 if runs may overlap, else 1
  uint64_t host_input_bytes, host_output_bytes;  // of one copy
  uint64_t allocated[DP_MEMORY_SPACES];          // from the backend, for all devices and copies
} dp_memory;

// Allocates the arenas of the devices that are here, zeroed and exactly as large as the plan says. DP_EX_MEMORY: the
// machine does not have enough memory. Call dp_memory_release after a failure too.
dp_status dp_memory_make(dp_arena *arena, const dp_role_map *roles, const dp_backend *backend, const dp_peers *peers,
                         dp_memory *memory) DP_MUST_USE;
void dp_memory_release(dp_memory *memory);
// Bytes of the arenas that occupy physical memory now.
uint64_t dp_memory_resident(const dp_memory *memory);

// Whether a tensor may have another address for each of the two slots that runs take in turn. Else the host's inputs
// alone are in two copies, and dp_memory_address gives their place in copy 0.
bool dp_memory_alternates(const dp_memory *memory);
// The address of a tensor on a device, in the copy for this slot where there are two.
char *dp_memory_address(const dp_memory *memory, const Dp__DeviceTensor *tensor, int device, int slot);

// Copies a variable, dense and whole, from (or to) the devices here that hold it. DP_EX_MEMORY; EX_UNAVAILABLE: a part
// of it is elsewhere, so it cannot be read.
dp_status dp_memory_read(const dp_memory *memory, const dp_model *model, int32_t variable, void *whole) DP_MUST_USE;
dp_status dp_memory_write(const dp_memory *memory, const dp_model *model, int32_t variable,
                          const void *whole) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
