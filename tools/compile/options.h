// The command line of `dpc compile`.
#ifndef DP_TOOLS_COMPILE_OPTIONS_H
#define DP_TOOLS_COMPILE_OPTIONS_H

#include "passes/base/pass.h"
#include "tools/cli.h"

typedef struct {
  const char *model, *output;  // output follows from model when it is not given
  dp_options compile;          // what the passes are asked for
} dp_dpc_options;

// Lists live in `arena`. EX_USAGE for what cannot be understood, EX_CONFIG when the plan would overwrite the model; whether
// the options go together and are built, the pass `options` says.
dp_status dp_dpc_options_parse(dp_arena *arena, int argc, char **argv, dp_dpc_options *options) DP_MUST_USE;

#endif
