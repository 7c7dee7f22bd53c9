// What the measurements of single products share: memory that is aligned as tensors are, CPU time of the thread in
// milliseconds, and medians over TURNS. FLUSHED bytes push all else out of the caches. For programs of one file.
#ifndef DP_BENCH_TIMING_H
#define DP_BENCH_TIMING_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 25, FLUSHED = 64 << 20 };

static inline void fail(const char *what) {
  fprintf(stderr, "bench: %s\n", what);
  exit(1);
}

static inline void *allocate(size_t bytes) {
  void *made = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!made) fail("no memory");
  memset(made, 0, bytes);
  return made;
}

static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static inline int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static inline double median(double *of) {
  qsort(of, TURNS, sizeof *of, compare);
  return of[TURNS / 2];
}

#endif
