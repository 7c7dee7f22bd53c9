// How much communication overlapped computation.
#ifndef DP_RUNTIME_EXEC_SHARES_H
#define DP_RUNTIME_EXEC_SHARES_H

#include <stdint.h>

typedef struct {
  int64_t collectives_ns;  // spent on collectives and transfers between devices, summed over workers
  int64_t hidden_ns;       // the part of it during which some worker computed
} dp_trace_shares;

#endif
