// See progress.h.
#include "tools/run/progress.h"

#include <stdio.h>
#include <time.h>

#include "tools/run/line.h"

enum { BAR = 30, LEAST_BAR = 8, LINE = 240 };  // in columns
enum { LOSS = 1, EPOCH, LEFT, SPEED };         // parts of the line, in the order in which they are worth their room

static const double redraw_s = 0.1, line_s = 5;

double dp_progress_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

dp_progress dp_progress_begin(bool quiet) {
  if (quiet) return (dp_progress){DP_PROGRESS_NONE, 0};
  return dp_line_columns(stderr) ? (dp_progress){DP_PROGRESS_BAR, 0}
                                 : (dp_progress){DP_PROGRESS_LINES, dp_progress_now()};
}

// "0:07", "1:02:03"; hours go on beyond a day.
static void print_time(double seconds, char text[24]) {
  const long long s = seconds < 1e9 ? (long long)(seconds + 0.5) : 999999999;
  if (s < 3600)
    snprintf(text, 24, "%lld:%02lld", s / 60, s % 60);
  else
    snprintf(text, 24, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

// Composes the line: the step count, the parts up to `parts`, and a bar in the remaining room, which the later parts
// must leave. room 0: no bar. Returns its length; more than `room` if it does not fit.
static int compose(const dp_progress_point *p, int parts, int room, char line[LINE]) {
  char begin[64] = "", end[160], bar[BAR + 4] = "", left[24];
  int at = snprintf(end, sizeof end, "%lld/%lld", (long long)p->done, (long long)p->steps), before = 0;
  if (parts >= LOSS) at += snprintf(end + at, sizeof end - (size_t)at, "  loss %.4g", p->loss);
  if (parts >= SPEED) at += snprintf(end + at, sizeof end - (size_t)at, "  %.0f samples/s", p->samples_per_s);
  print_time(p->left_s, left);
  if (parts >= LEFT) at += snprintf(end + at, sizeof end - (size_t)at, "  %s left", left);
  if (parts >= LEFT)
    before = snprintf(begin, sizeof begin, "epoch %lld/%lld ", (long long)p->epoch, (long long)p->epochs);
  else if (parts >= EPOCH)
    before = snprintf(begin, sizeof begin, "epoch %lld ", (long long)p->epoch);
  const int rest = room - at - before - 3, width = rest < BAR ? rest : BAR;
  if (room && parts >= LEFT && width < LEAST_BAR) return room + 1;
  if (width >= LEAST_BAR) {
    snprintf(bar, sizeof bar, "[%*s] ", width, "");
    for (int i = 0; i < width; i++) bar[1 + i] = i < p->done * width / p->steps ? '#' : '.';
  }
  return snprintf(line, LINE, "%s%s%s", begin, bar, end);
}

void dp_progress_draw(dp_progress *progress, const dp_progress_point *point) {
  char line[LINE];
  const double now = dp_progress_now(), since = now - progress->last_s;
  if (progress->kind == DP_PROGRESS_NONE) return;
  if (progress->kind == DP_PROGRESS_LINES) {
    if (since < line_s) return;
    compose(point, SPEED, 0, line);
    fprintf(stderr, "%s\n", line);
  } else {
    if (point->done < point->steps && since < redraw_s) return;
    const int room = dp_line_columns(stderr) - 1;  // some terminals wrap after the last column
    for (int parts = SPEED; parts >= 0; parts--)
      if (compose(point, parts, room, line) <= room) break;
    fprintf(stderr, "\r%.*s\033[K", room, line);
  }
  progress->last_s = now;
  fflush(stderr);
}

void dp_progress_clear(dp_progress *progress) {
  if (progress->kind == DP_PROGRESS_LINES) progress->last_s = dp_progress_now();
  if (progress->kind != DP_PROGRESS_BAR) return;
  fprintf(stderr, "\r\033[K");
  fflush(stderr);
}
