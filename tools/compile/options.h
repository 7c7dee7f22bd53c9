// The command line of `dpc compile`.
#ifndef DP_TOOLS_COMPILE_OPTIONS_H
#define DP_TOOLS_COMPILE_OPTIONS_H

#include "passes/base/pass.h"
#include "tools/cli.h"

typedef struct {
  const char *model, *output;  // output follows from model when it is not given
  dp_options compile;          // what the passes are asked for
  bool print_data;
} dp_dpc_options;

// Parses the command line. Lists live in `arena`. EX_USAGE; EX_CONFIG: the plan would overwrite the model. The pass
// `options` checks whether the options go together and are built.
dp_status dp_dpc_options_parse(dp_arena *arena, int argc, char **argv, dp_dpc_options *options) DP_MUST_USE;

#endif
