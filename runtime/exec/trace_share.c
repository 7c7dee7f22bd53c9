// See trace_share.h.
#include <stdlib.h>

#include "runtime/exec/trace_share.h"

typedef struct {
  int64_t begin_ns, end_ns;
} span;

static int by_begin(const void *a, const void *b) {
  const span *x = a, *y = b;
  return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

// Collects, in order of time, the spans of communication between devices, or those of kernels. Returns how many.
static size_t collect(const dp_slice *slices, size_t n, bool collective, span *spans) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    const dp_unit *unit = slices[i].unit;
    bool meets = unit->transfer && unit->n_devices > 1;
    if (collective ? meets : unit->kernel != NULL) spans[count++] = (span){slices[i].begin_ns, slices[i].end_ns};
  }
  qsort(spans, count, sizeof *spans, by_begin);
  return count;
}

// Merges spans that touch. Returns how many remain.
static size_t unite(span *spans, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (kept && spans[i].begin_ns <= spans[kept - 1].end_ns)
      spans[kept - 1].end_ns = dp_max_i64(spans[kept - 1].end_ns, spans[i].end_ns);
    else
      spans[kept++] = spans[i];
  }
  return kept;
}

dp_status dp_trace_share(const dp_slice *slices, size_t n, dp_trace_shares *shares) {
  *shares = (dp_trace_shares){0};
  span *spans = malloc((2 * n + 1) * sizeof *spans);
  if (!spans) return dp_fail(DP_EX_MEMORY, "no memory to analyse the trace");
  span *computing = spans + n;
  size_t meetings = collect(slices, n, true, spans), count = unite(computing, collect(slices, n, false, computing));
  for (size_t i = 0, first = 0; i < meetings; i++) {
    shares->collectives_ns += spans[i].end_ns - spans[i].begin_ns;
    while (first < count && computing[first].end_ns <= spans[i].begin_ns) first++;
    for (size_t k = first; k < count && computing[k].begin_ns < spans[i].end_ns; k++)
      shares->hidden_ns +=
          dp_min_i64(spans[i].end_ns, computing[k].end_ns) - dp_max_i64(spans[i].begin_ns, computing[k].begin_ns);
  }
  free(spans);
  return DP_OK;
}
