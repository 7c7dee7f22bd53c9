// What measures the libraries of a backend for the steps of plans.
#ifndef DP_RUNTIME_BASE_CALIBRATOR_H
#define DP_RUNTIME_BASE_CALIBRATOR_H

#include "ir/kernel/calibration.h"
#include "runtime/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_calibrator {
  // For sessions whose steps are bound, and neither prepared nor run: measuring takes no memory for a plan.
  const dp_backend *backend;
  // Begins on the first of the devices that were opened (dp_backend_entry.open), which nothing else may use until
  // `end`. What is measured lives in the arena. EX_UNAVAILABLE.
  dp_status (*begin)(dp_arena *arena);
  // Measures what libraries could do for a step, unless an earlier step asked the same of them. EX_UNAVAILABLE,
  // DP_EX_MEMORY: the device has no room for the step's operands.
  dp_status (*measure)(const dp_kernel *kernel, const dp_kernel_spec *spec);
  // Ends in any case after `begin`. *calibration: all that was measured. *driver: its version, for people.
  dp_status (*end)(dp_calibration *calibration, const char **driver);
} dp_calibrator;

#ifdef __cplusplus
}
#endif
#endif
