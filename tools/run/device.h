// What a run is carried out on: the backend, and which of its devices.
#ifndef DP_TOOLS_RUN_DEVICE_H
#define DP_TOOLS_RUN_DEVICE_H

#include "ir/plan/plan.pb-c.h"
#include "runtime/base/backend.h"
#include "tools/run/options.h"

// Opens what --device says, else what the plan is for; with --map and --timeout. beside: there are other runs, so the
// devices must be named. EX_CONFIG: they are not; EX_USAGE, EX_UNAVAILABLE: no such devices, or none here.
dp_status dp_dprun_device_open(const dp_dprun_options *options, const Dp__Plan *plan, bool beside,
                               const dp_backend **backend) DP_MUST_USE;

// Finds out before a run among others whether its plan can be read and its devices opened. *names: a name for each
// device, with commas, which it has in every run; "": they are all alike. Reads the plan, and pipes to their end. A
// driver does not survive fork(), so devices are opened in a process that ends. Fails as the run itself would.
dp_status dp_dprun_device_probe(dp_arena *arena, const dp_dprun_options *options, const char **names) DP_MUST_USE;

#endif
