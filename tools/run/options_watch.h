// The options of dprun that are about watching a training. A part of the command line in options.h.
#ifndef DP_TOOLS_RUN_OPTIONS_WATCH_H
#define DP_TOOLS_RUN_OPTIONS_WATCH_H

#include "tools/cli.h"

typedef struct {
  dp_status status;         // the first mistake
  const char *best;         // --best=METRIC; NULL: not given
  int64_t early_stop;       // evaluations; 0: not given
  const char *tensorboard;  // a folder; NULL: not given
  bool histograms, check_nan, json, verbose;
} dp_dprun_watch_options;

// A child of the command line's parser; its input is a dp_dprun_watch_options.
extern const struct argp dp_dprun_watch_argp;

// Whether the options go together. checkpoints: --save names a folder of them; instead: the option by which nothing is
// trained; NULL: none. EX_USAGE, EX_CONFIG.
dp_status dp_dprun_watch_options_check(const dp_dprun_watch_options *options, bool checkpoints, const char *instead,
                                       bool quiet) DP_MUST_USE;

#endif
