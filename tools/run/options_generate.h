// The options of dprun that are about generating. A part of the command line in options.h.
#ifndef DP_TOOLS_RUN_OPTIONS_GENERATE_H
#define DP_TOOLS_RUN_OPTIONS_GENERATE_H

#include "tools/cli.h"

typedef struct {
  dp_status status;    // the first mistake
  int64_t count;       // tokens to generate, --generate=N; -1: not given
  const char *prompt;  // "-": standard input; NULL: not given
  double temperature;  // -1: not given
  int64_t top_k;       // 0: not given
  bool tokens;         // as numbers, not as bytes
} dp_dprun_generate_options;

// A child of the command line's parser; its input is a dp_dprun_generate_options.
extern const struct argp dp_dprun_generate_argp;

// Whether the options go together; sets the defaults. EX_USAGE.
dp_status dp_dprun_generate_options_check(dp_dprun_generate_options *options) DP_MUST_USE;

#endif
