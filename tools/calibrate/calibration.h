// Files of `dpc calibrate`: JSON about one device. docs/calibration.md explains each field.
#ifndef DP_TOOLS_CALIBRATE_CALIBRATION_H
#define DP_TOOLS_CALIBRATE_CALIBRATION_H

#include "backends/registry.h"
#include "passes/base/pass.h"

// Times measured with so many threads for an instruction.
typedef struct {
  int threads;
  double start_ns, flops_per_ns, bytes_per_ns;  // as in dp_target_costs
} dp_dpc_costs;

enum { DP_DPC_MOST_COSTS = 64 };
typedef struct {
  const dp_backend_entry *entry;
  const char *isa;                        // "": the backend has none
  const char *driver;                     // its version, for people; "": there is none
  int n_costs;                            // 1 or more
  dp_dpc_costs costs[DP_DPC_MOST_COSTS];  // threads ascending
  dp_calibration measured;                // of its libraries; without choices where there are none
} dp_dpc_calibration;

// EX_NOINPUT, EX_IOERR; EX_DATAERR: it is not a calibration.
dp_status dp_dpc_calibration_read(dp_arena *arena, const char *path,
                                  const dp_dpc_calibration **calibration) DP_MUST_USE;
// Writes the file whole, or leaves what was there. EX_CANTCREAT, EX_IOERR.
dp_status dp_dpc_calibration_write(const dp_dpc_calibration *calibration, const char *path) DP_MUST_USE;
// Gives the options' target, which is set, the measured costs, and the choices. NULL: nothing happens. EX_CONFIG: it
// was measured for another backend or instruction set.
dp_status dp_dpc_calibration_apply(dp_arena *arena, const dp_dpc_calibration *calibration,
                                   dp_options *options) DP_MUST_USE;
// The instruction set of a plan for the target: the one that was asked for, if not NULL, else this machine's; "": none.
const char *dp_dpc_calibration_isa(const dp_target *target, const char *asked);
// costs.c: measures a device with that backend, instruction set (NULL: this machine's) and so many threads.
// EX_UNAVAILABLE, DP_EX_MEMORY.
dp_status dp_dpc_costs_measure(dp_arena *arena, const dp_backend_entry *entry, const struct dp_backend *backend,
                               const char *isa, int threads, dp_dpc_costs *costs) DP_MUST_USE;

#endif
