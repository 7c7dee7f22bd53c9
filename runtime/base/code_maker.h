// What makes the machine code of plans beforehand, on a machine without the device.
#ifndef DP_RUNTIME_BASE_CODE_MAKER_H
#define DP_RUNTIME_BASE_CODE_MAKER_H

#include "runtime/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dp_transfer;  // runtime/comm/transfer.h

typedef struct dp_code_maker {
  // For sessions whose steps are bound, and neither prepared nor run.
  const dp_backend *backend;
  // Notes what a step needs.
  dp_status (*add_kernel)(const dp_kernel *kernel, const dp_kernel_spec *spec);
  dp_status (*add_transfer)(const struct dp_transfer *transfer);
  // Compiles all that was noted for those kinds of devices, as of --target=NAME:KINDS (NULL: all that the backend knows
  // of), into files of the folder, which it makes if need be. *count, *bytes: of the files. EX_UNAVAILABLE: the
  // compiler is not here; EX_CANTCREAT.
  dp_status (*make)(const char *kinds, const char *folder, int *count, uint64_t *bytes);
} dp_code_maker;

#ifdef __cplusplus
}
#endif
#endif
