// The command line of dprun report.
#ifndef DP_TOOLS_REPORT_OPTIONS_H
#define DP_TOOLS_REPORT_OPTIONS_H

#include "tools/cli.h"
#include "tools/report/section.h"

typedef struct {
  dp_report_sources sources;
  const char *output;  // "-": standard output
} dp_report_options;

// EX_USAGE; EX_CONFIG: the page would overwrite a file that is read. --help and --version end the process.
dp_status dp_report_options_parse(dp_arena *arena, int argc, char **argv, dp_report_options *options) DP_MUST_USE;

#endif
