// The CPU in the registry of backends.
#include "backends/base/entry.h"

#include "backends/cpu/backend.h"
#include "backends/cpu/target.h"

static dp_status open(const char *devices, const dp_backend **backend) {
  if (devices)
    return dp_fail(
        EX_USAGE, "--device=cpu:%s: the CPU has as many virtual devices as the plan needs; give --device=cpu", devices);
  *backend = &dp_backend_cpu;
  return DP_OK;
}

const dp_backend_entry dp_backend_entry_cpu = {
    .name = "cpu",
    .target = &dp_target_cpu,
    .everywhere = true,
    .open = open,
};
