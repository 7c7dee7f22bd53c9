// Counts of what was done and of what is not released.
#include "tests/cuda/standin/state.h"

dp_standin_counts dp_standin_count(void) {
  standin_lock();
  dp_standin_counts counts = standin_counts;
  standin_unlock();
  return counts;
}

double dp_standin_clock(void) {
  standin_lock();
  double ns = standin_host_ns;
  standin_unlock();
  return ns;
}

int64_t dp_standin_report(FILE *file) {
  dp_standin_counts counts = dp_standin_count();
  const struct {
    const char *name;
    int64_t value;
    bool held;  // something that is to be released
  } lines[] = {
      {"calls", counts.calls, false},
      {"operations", counts.operations, false},
      {"pending", counts.pending, false},
      {"device_allocations", counts.device_allocations, true},
      {"device_bytes", counts.device_bytes, false},
      {"host_allocations", counts.host_allocations, true},
      {"host_bytes", counts.host_bytes, false},
      {"streams", counts.streams, true},
      {"events", counts.events, true},
      {"graphs", counts.graphs, true},
      {"modules", counts.modules, true},
      {"contexts", counts.contexts, true},
      {"handles", counts.handles, true},
  };
  int64_t held = 0;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    fprintf(file, "%s %lld\n", lines[i].name, (long long)lines[i].value);
    if (lines[i].held) held += lines[i].value;
  }
  fprintf(file, "clock_ns %.0f\n", dp_standin_clock());
  return held;
}
