// See progress.h.
#include "tools/run/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30, LEAST_BAR = 8, LINE = 160 };  // in columns

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

static int columns(void) {
  struct winsize size;
  return !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
}

// Composes the line: the step count, the first `parts` of (loss, epoch, speed), and a bar in the remaining room, which
// the speed must leave. Returns its length; more than `room` if it does not fit.
static int compose(const dp_progress *progress, int64_t epoch, int64_t done, double loss, double samples_per_s,
                   int parts, int room, char line[LINE]) {
  char begin[32] = "", end[96], bar[BAR + 4] = "";
  int at = snprintf(end, sizeof end, "%lld/%lld", (long long)done, (long long)progress->steps);
  if (parts > 0) at += snprintf(end + at, sizeof end - (size_t)at, "  loss %.4g", loss);
  if (parts > 1) at += snprintf(begin, sizeof begin, "epoch %lld ", (long long)epoch);
  if (parts > 2) at += snprintf(end + strlen(end), sizeof end - strlen(end), "  %.0f samples/s", samples_per_s);
  int width = room - at - 3 < BAR ? room - at - 3 : BAR;
  if (parts > 2 && width < LEAST_BAR) return room + 1;
  if (width >= LEAST_BAR) {
    snprintf(bar, sizeof bar, "[%*s] ", width, "");
    for (int i = 0; i < width; i++) bar[1 + i] = i < done * width / progress->steps ? '#' : '.';
  }
  return snprintf(line, LINE, "%s%s%s", begin, bar, end);
}

void dp_progress_draw(dp_progress *progress, int64_t epoch, int64_t done, double loss, double samples_per_s) {
  if (!progress->shown) return;
  double now = dp_progress_now();
  if (done < progress->steps && now - progress->last_s < 0.1) return;
  progress->last_s = now;
  char line[LINE];
  const int room = columns() - 1;  // some terminals wrap after the last column
  for (int parts = 3; parts >= 0; parts--)
    if (compose(progress, epoch, done, loss, samples_per_s, parts, room, line) <= room) break;
  fprintf(stderr, "\r%.*s\033[K", room, line);
  fflush(stderr);
}

void dp_progress_clear(dp_progress *progress) {
  if (!progress->shown) return;
  fprintf(stderr, "\r\033[K");
  fflush(stderr);
}
