// See progress.h.
#include "tools/run/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 30 };

double dp_progress_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

dp_progress dp_progress_begin(bool quiet, int64_t steps) {
  const char *terminal = getenv("TERM");
  bool shown = !quiet && isatty(STDERR_FILENO) && !(terminal && !strcmp(terminal, "dumb"));
  return (dp_progress){.shown = shown, .steps = steps > 0 ? steps : 1};
}

void dp_progress_draw(dp_progress *progress, int64_t epoch, int64_t done, double loss, double samples_per_s) {
  if (!progress->shown) return;
  double now = dp_progress_now();
  if (done < progress->steps && now - progress->last_s < 0.1) return;
  progress->last_s = now;
  char bar[WIDTH + 1];
  int filled = (int)(done * WIDTH / progress->steps);
  for (int i = 0; i < WIDTH; i++) bar[i] = i < filled ? '#' : '.';
  bar[WIDTH] = 0;
  fprintf(stderr, "\repoch %lld [%s] %lld/%lld  loss %.4f  %.0f samples/s \033[K", (long long)epoch, bar,
          (long long)done, (long long)progress->steps, loss, samples_per_s);
  fflush(stderr);
}

void dp_progress_clear(dp_progress *progress) {
  if (!progress->shown) return;
  fprintf(stderr, "\r\033[K");
  fflush(stderr);
}
