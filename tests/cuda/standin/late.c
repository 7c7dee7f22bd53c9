// A library that is slow to load, as CUDA's own are when the disk has not been asked for them: DP_STANDIN_LATE_MS.
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

__attribute__((constructor)) static void be_late(void) {
  const char *text = getenv("DP_STANDIN_LATE_MS");
  const long ms = text ? atol(text) : 0;
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  if (ms > 0) nanosleep(&time, NULL);
}
