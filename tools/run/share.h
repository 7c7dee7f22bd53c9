// What several runs share, and what they may not: cores, files, GPUs.
#ifndef DP_TOOLS_RUN_SHARE_H
#define DP_TOOLS_RUN_SHARE_H

#include "tools/run/options.h"

typedef struct {
  dp_dprun_options options;
  int64_t threads;     // of the run
  bool writes_stdout;  // a file that it writes is standard output
} dp_dprun_share;

// Shares out the cores: runs that do not say how many threads they have share those that are left equally, each with at
// least one. EX_CONFIG: two runs use the same GPU, or one writes a file that another one reads or writes. Otherwise as
// dp_dprun_device_probe, for each of them.
dp_status dp_dprun_share_out(dp_arena *arena, dp_dprun_share *shares, int count) DP_MUST_USE;

#endif
