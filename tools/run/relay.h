// Prints what several processes write, line by line, each line with the name of its writer before it.
#ifndef DP_TOOLS_RUN_RELAY_H
#define DP_TOOLS_RUN_RELAY_H

#include <stdio.h>

#include "ir/base/base.h"

enum { DP_RELAY_BYTES = 8192 };  // of the longest line that stays whole

typedef struct {
  int fd;  // the reading end of a pipe; -1: it has been closed
  FILE *out;
  const char *prefix;  // of each line; "": none
  size_t length;
  char line[DP_RELAY_BYTES];  // (length) the beginning of a line
} dp_relay;

// Prints all lines until every pipe has been closed by its writers.
void dp_relay_run(dp_arena *arena, dp_relay *relays, int count);

#endif
