// dprun report: one page about a run, from what its folder holds.
//
// Sources are read first (metrics.h, trace.h, runs.h, the plan, the checkpoints); then each section writes its part of
// the page, or says why it has nothing to write (section.h).
#ifndef DP_TOOLS_REPORT_REPORT_H
#define DP_TOOLS_REPORT_REPORT_H

#include "ir/base/base.h"

// The command `dprun report`, with the words of the command line from "report" on. Returns the exit code.
int dp_report_main(int argc, char **argv);

#endif
