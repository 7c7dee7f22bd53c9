// dprun --run 'PLAN ...' --run 'PLAN ...': several runs side by side, each a process of its own.
//
// All of them are checked before any starts: no run writes what another reads or writes, each plan can be read and run
// here, and no two have a GPU in common. Cores are shared. What the runs print is told apart by "run 1: " before each
// line. A signal is passed on to all of them. One that fails does not end the others.
#ifndef DP_TOOLS_RUN_SEVERAL_H
#define DP_TOOLS_RUN_SEVERAL_H

#include <stdbool.h>
#include <stdint.h>

// A run of several.
typedef struct {
  int number;       // counts from 1; 0: there are no others
  int64_t threads;  // for the run, unless its command line says how many
} dp_dprun_place;

// Runs one command line and returns the exit code.
typedef int dp_dprun_one(int argc, char **argv, const dp_dprun_place *place);

// Whether a command line, of which this is the first argument, is one of several runs.
bool dp_dprun_several_asked(const char *argument);
// Has each of the command lines run by `one`, in a process of its own. Returns the exit code of the first run that
// failed for good, else 75 if one was interrupted, else 0.
int dp_dprun_several_main(int argc, char **argv, dp_dprun_one *one);

#endif
