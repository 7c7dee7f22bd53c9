// Communication between devices, and what computation hid of it.
#include <math.h>
#include <stdlib.h>

#include "tools/report/section.h"

enum { MOST_DEVICES = 64 };

static const char *missing(const dp_report *r) {
  if (!r->trace.n_slices) return "Communication that was hidden: no trace was found.";
  return r->trace.communication_ms > 0 ? NULL : "Communication that was hidden: there was none between devices.";
}

// When a device was at something of one kind.
typedef struct {
  double begin, end;
} span;

static int by_begin(const void *a, const void *b) {
  const span *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

// The spans of a device's slices of one kind, in order of time, joined where they overlap. Returns how many.
static size_t take_spans(const dp_report_slice *slices, size_t count, dp_report_slice_kind kind, span *spans) {
  size_t n = 0, kept = 0;
  for (size_t i = 0; i < count; i++)
    if (slices[i].kind == kind) spans[n++] = (span){slices[i].begin_us, slices[i].end_us};
  if (n) qsort(spans, n, sizeof *spans, by_begin);
  for (size_t i = 0; i < n; i++) {
    if (kept && spans[i].begin <= spans[kept - 1].end)
      spans[kept - 1].end = fmax(spans[kept - 1].end, spans[i].end);
    else
      spans[kept++] = spans[i];
  }
  return kept;
}

static double length_of(const span *spans, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += spans[i].end - spans[i].begin;
  return sum;
}

static double overlap_of(const span *a, size_t n, const span *b, size_t m) {
  double sum = 0;
  for (size_t i = 0, k = 0; i < n && k < m;) {
    const double begin = fmax(a[i].begin, b[k].begin), end = fmin(a[i].end, b[k].end);
    if (end > begin) sum += end - begin;
    if (a[i].end < b[k].end)
      i++;
    else
      k++;
  }
  return sum;
}

static void put_cell(dp_page *page, const char *text) {
  dp_page_put(page, "<td class=\"n\">");
  dp_page_text(page, text);
  dp_page_put(page, "</td>");
}

static void put_device(dp_page *page, const dp_report *r, const dp_report_slice *slices, size_t count) {
  char text[DP_PAGE_NUMBER];
  span *computing = dp_alloc_n(r->arena, count, sizeof *computing);
  span *meeting = dp_alloc_n(r->arena, count, sizeof *meeting);
  const size_t n = take_spans(slices, count, DP_SLICE_COMPUTE, computing);
  const size_t m = take_spans(slices, count, DP_SLICE_COMMUNICATE, meeting);
  const double busy = length_of(computing, n), between = length_of(meeting, m);
  dp_page_put(page, "<tr><td>device %d</td>", slices->device);
  put_cell(page, dp_page_time(busy * 1e-3, text));
  put_cell(page, dp_page_time(between * 1e-3, text));
  put_cell(page, dp_page_share(overlap_of(computing, n, meeting, m), between, text));
  put_cell(page, dp_page_share(busy, r->trace.us, text));
  dp_page_put(page, "</tr>\n");
}

static void write(dp_page *page, const dp_report *r) {
  const dp_report_trace *t = &r->trace;
  char text[DP_PAGE_NUMBER];
  int devices = 0;
  dp_page_put(page, "<p>");
  dp_page_print(page, "%s of communication between devices while the trace was recorded, ",
                dp_page_time(t->communication_ms, text));
  dp_page_print(page, "%s of it while some device computed.", dp_page_share(t->hidden_ms, t->communication_ms, text));
  dp_page_put(page, "</p>\n<div class=\"bar\"><i class=\"compute\" style=\"width:%.2f%%\"></i>",
              100 * t->hidden_ms / t->communication_ms);
  dp_page_put(page, "<i class=\"communicate\" style=\"width:%.2f%%\"></i></div>\n",
              100 - 100 * t->hidden_ms / t->communication_ms);
  dp_page_put(page,
              "<div class=\"scroll\"><table><tr><th>in the step above</th><th class=\"n\">computing</th>"
              "<th class=\"n\">between devices</th><th class=\"n\">of it hidden</th>"
              "<th class=\"n\">busy</th></tr>\n");
  for (size_t i = 0; i < t->n_slices; devices++) {
    size_t end = i;
    while (end < t->n_slices && t->slices[end].device == t->slices[i].device) end++;
    if (devices < MOST_DEVICES) put_device(page, r, &t->slices[i], end - i);
    i = end;
  }
  dp_page_put(page, "</table></div>\n");
  if (devices > MOST_DEVICES)
    dp_page_put(page, "<p class=\"note\">%d more devices are not listed.</p>\n", devices - MOST_DEVICES);
}

const dp_report_section dp_report_section_traffic = {
    .id = "traffic", .title = "Communication", .missing = missing, .write = write};
