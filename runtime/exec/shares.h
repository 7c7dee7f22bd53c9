// How much communication lay beside computation, in numbers.
#ifndef DP_RUNTIME_EXEC_SHARES_H
#define DP_RUNTIME_EXEC_SHARES_H

#include <stdint.h>

typedef struct {
  int64_t collectives_ns;  // work on collectives and transfers between devices, of all workers
  int64_t hidden_ns;       // of that, while some worker computed
} dp_trace_shares;

#endif
