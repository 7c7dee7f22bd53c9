// The subcommand `dpc calibrate`.
#ifndef DP_TOOLS_CALIBRATE_CALIBRATE_H
#define DP_TOOLS_CALIBRATE_CALIBRATE_H

#include "ir/base/base.h"

// As the other subcommands (tools/compile/dpc.h).
dp_status dp_dpc_calibrate_run(dp_arena *arena, int argc, char **argv) DP_MUST_USE;

#endif
