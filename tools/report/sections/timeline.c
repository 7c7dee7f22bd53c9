// One step by device and stream.
#include <math.h>
#include <string.h>

#include "tools/report/section.h"

enum { LANE = 22, BAR = 16, MOST_LANES = 96, MOST_SHAPES = 4000 };

static const char *missing(const dp_report *r) {
  return r->trace.n_slices ? NULL : "Timeline of a step: no trace was found (dprun --trace=DIR/trace.json).";
}

static const dp_chart_key kinds[] = {[DP_SLICE_WAIT] = {"waiting", "wait"},
                                     [DP_SLICE_COMPUTE] = {"computing", "compute"},
                                     [DP_SLICE_COMMUNICATE] = {"between devices", "communicate"},
                                     [DP_SLICE_MOVE] = {"moving on a device", "move"}};

static int find_track(const dp_report_trace *t, const dp_report_slice *s, int from) {
  while (from < t->n_tracks && (t->tracks[from].device != s->device || t->tracks[from].stream != s->stream)) from++;
  return from;
}

static void put_lanes(dp_page *page, void *context) {
  const dp_report_trace *t = context;
  const int n = t->n_tracks < MOST_LANES ? t->n_tracks : MOST_LANES;
  for (int i = 0; i < n; i++) {
    dp_page_put(page, "<span style=\"top:%dpx\">", i * LANE + LANE / 2);
    if (!i || t->tracks[i].device != t->tracks[i - 1].device) dp_page_print(page, "%s ", t->tracks[i].device_name);
    dp_page_text(page, t->tracks[i].name);
    dp_page_put(page, "</span>");
  }
}

// A slice, or several short ones that are drawn as one.
typedef struct {
  const dp_report_slice *first;
  double end_us;
  size_t count;
} shape;

// Joins neighbours of one kind and lane that are all shorter than `us`. The slice after *at is next.
static shape take_shape(const dp_report_trace *t, double us, size_t *at) {
  const dp_report_slice *first = &t->slices[*at];
  shape s = {first, first->end_us, 1};
  for (++*at; *at < t->n_slices; ++*at, s.count++) {
    const dp_report_slice *next = &t->slices[*at];
    if (next->device != first->device || next->stream != first->stream || next->kind != first->kind) break;
    if (s.end_us - first->begin_us >= us || next->end_us - next->begin_us >= us) break;
    if (next->begin_us - s.end_us >= us) break;
    s.end_us = fmax(s.end_us, next->end_us);
  }
  return s;
}

// Waits are the ground that the rest is drawn on: short ones would only part their neighbours.
static size_t drop_short_waits(const dp_report_trace *t, double us, dp_report_slice *to) {
  size_t kept = 0;
  for (size_t i = 0; i < t->n_slices; i++)
    if (t->slices[i].kind != DP_SLICE_WAIT || t->slices[i].end_us - t->slices[i].begin_us >= us)
      to[kept++] = t->slices[i];
  return kept;
}

// The slices as at most MOST_SHAPES shapes. *us: shorter ones are joined.
static size_t take_shapes(dp_arena *arena, const dp_report_trace *trace, shape *shapes, double *us) {
  dp_report_slice *slices = dp_alloc_n(arena, trace->n_slices, sizeof *slices);
  for (*us = 0;; *us = *us > 0 ? *us * 2 : fmax(trace->us / 8000, 1e-6)) {
    dp_report_trace t = *trace;
    t.n_slices = drop_short_waits(trace, *us, slices);
    t.slices = slices;
    size_t n = 0, at = 0;
    while (at < t.n_slices && n < MOST_SHAPES) shapes[n++] = take_shape(&t, *us, &at);
    if (at == t.n_slices || *us > trace->us) return n;
  }
}

static void put_shape(dp_page *page, const dp_chart *chart, const shape *s, double unit_us, int lane) {
  char text[DP_PAGE_NUMBER];
  const double x = dp_chart_x(chart, s->first->begin_us / unit_us), end = dp_chart_x(chart, s->end_us / unit_us);
  dp_page_put(page, "<rect class=\"%s %s\" x=\"%.4f\" y=\"%d\" width=\"%.4f\" height=\"%d\"",
              s->first->kind == DP_SLICE_WAIT ? "ground" : "slice", kinds[s->first->kind].style, x,
              lane * LANE + (LANE - BAR) / 2, fmax(end - x, 0.02), BAR);
  if (s->first->kind != DP_SLICE_WAIT) {
    dp_page_put(page, " data-name=\"");
    if (s->count > 1)
      dp_page_print(page, "%zu steps", s->count);
    else
      dp_page_text(page, s->first->name);
    dp_page_put(page, "\"");
  }
  dp_page_put(page, "><title>");
  dp_page_text(page, s->first->name);
  if (s->count > 1) dp_page_print(page, " and %zu more", s->count - 1);
  dp_page_print(page, ": %s", dp_page_time((s->end_us - s->first->begin_us) * 1e-3, text));
  dp_page_put(page, "</title></rect>\n");
}

static void put_note(dp_page *page, const dp_report_trace *t, double us) {
  char text[DP_PAGE_NUMBER];
  dp_page_put(page, "<p class=\"note\">");
  dp_page_print(page, "Run %lld of the trace (%s), %s long: the median of %lld that were recorded whole.",
                (long long)t->run, t->program, dp_page_time(t->us * 1e-3, text), (long long)t->n_runs);
  if (us > 0) dp_page_print(page, " Slices of less than %s are drawn together.", dp_page_time(us * 1e-3, text));
  if (t->n_tracks > MOST_LANES) dp_page_print(page, " %d more streams are not drawn.", t->n_tracks - MOST_LANES);
  dp_page_put(page, " Drag over a part to enlarge it, double click for all of it.</p>\n");
}

static void write(dp_page *page, const dp_report *r) {
  const dp_report_trace *t = &r->trace;
  const int lanes = t->n_tracks < MOST_LANES ? t->n_tracks : MOST_LANES;
  dp_chart_key keys[DP_COUNT(kinds)];
  for (size_t i = 0; i < DP_COUNT(kinds); i++) keys[i] = kinds[(i + 1) % DP_COUNT(kinds)];
  const double unit_us = t->us >= 2000 ? 1000 : 1;
  const dp_chart chart = {.title = "one step",
                          .unit_x = unit_us > 1 ? "ms" : "\u00b5s",
                          .unit_y = "",
                          .x = {0, t->us > 0 ? t->us / unit_us : 1, false},
                          .height = (lanes > 0 ? lanes : 1) * LANE,
                          .n_keys = (int)DP_COUNT(keys),
                          .keys = keys,
                          .no_y = true};
  shape *shapes = dp_alloc_n(r->arena, MOST_SHAPES, sizeof *shapes);
  double us;
  const size_t n = take_shapes(r->arena, t, shapes, &us);
  dp_chart_begin(page, &chart, put_lanes, (void *)(uintptr_t)t);
  int last = 0;
  for (size_t i = 0; i < n; i++) {
    const int lane = find_track(t, shapes[i].first, last);
    if (lane == t->n_tracks) continue;  // its name is in a damaged line, which is noted
    last = lane;
    if (lane < lanes) put_shape(page, &chart, &shapes[i], unit_us, lane);
  }
  dp_chart_end(page, &chart);
  put_note(page, t, us);
}

const dp_report_section dp_report_section_timeline = {
    .id = "timeline", .title = "Timeline of a step", .missing = missing, .write = write};
