// The figures that one looks for first.
#include <math.h>

#include "tools/report/figures.h"
#include "tools/report/section.h"

static const char *missing(const dp_report *r) {
  (void)r;
  return NULL;
}

static void put_tile(dp_page *page, const char *name, const char *value) {
  dp_page_put(page, "<div><dt>");
  dp_page_text(page, name);
  dp_page_put(page, "</dt><dd>");
  dp_page_text(page, value);
  dp_page_put(page, "</dd></div>\n");
}

static void put_last(dp_page *page, const char *name, const dp_report_table *t, const char *column) {
  char text[DP_PAGE_NUMBER];
  const double *values = dp_report_column(t, column);
  if (values && t->n_rows) put_tile(page, name, dp_page_number(values[t->n_rows - 1], text));
}

static void put_metrics(dp_page *page, const dp_report *r) {
  const dp_report_table *steps = &r->metrics.steps, *evals = &r->metrics.evals;
  char text[DP_PAGE_NUMBER];
  put_last(page, "steps", steps, "step");
  put_last(page, "epochs", steps, "epoch");
  put_last(page, "loss of the last step", steps, "loss");
  put_last(page, "loss of the last evaluation", evals, "loss");
  const double *accuracy = dp_report_column(evals, "accuracy");
  if (accuracy && evals->n_rows && isfinite(accuracy[evals->n_rows - 1]))
    put_tile(page, "accuracy of the last evaluation",
             dp_printf(r->arena, "%.2f %%", 100 * accuracy[evals->n_rows - 1]));
  dp_report_figures ms;
  if (!dp_report_figures_of(r->arena, steps->n_rows, dp_report_column(steps, "ms"), &ms)) return;
  put_tile(page, "median time of a step", dp_page_time(ms.median, text));
  put_tile(page, "time of all steps", dp_page_time(ms.sum, text));
  const double *samples = dp_report_column(steps, "samples");
  double seen = 0;
  for (size_t i = 0; samples && i < steps->n_rows; i++) seen += samples[i] > 0 ? samples[i] : 0;
  if (seen > 0 && ms.sum > 0) put_tile(page, "samples per second", dp_page_number(round(seen / ms.sum * 1e3), text));
}

static void put_plan(dp_page *page, const dp_report *r) {
  char text[DP_PAGE_NUMBER];
  int64_t devices = 1;
  uint64_t bytes = 0;
  for (size_t i = 0; i < r->plan->n_roles; i++) {
    const Dp__Role *role = r->plan->roles[i];
    uint64_t own = 0;
    for (size_t a = 0; a < role->n_arenas; a++)
      if (role->arenas[a]->space == DP__SPACE__PERSISTENT || role->arenas[a]->space == DP__SPACE__TRANSIENT)
        own += role->arenas[a]->bytes;
    if (own > bytes) bytes = own;
  }
  for (size_t i = 0; i < r->plan->n_mesh; i++)
    if (!dp_report_is_time(r->plan->mesh[i])) devices *= r->plan->mesh[i]->size;
  put_tile(page, "devices", dp_page_number((double)devices, text));
  put_tile(page, "strategy", *r->plan->strategy ? r->plan->strategy : "none");
  put_tile(page, "batch", dp_page_number((double)r->plan->batch, text));
  put_tile(page, "memory of a device", dp_page_bytes((double)bytes, text));
}

static void write(dp_page *page, const dp_report *r) {
  char text[DP_PAGE_NUMBER];
  dp_page_put(page, "<dl class=\"tiles\">\n");
  if (r->metrics.path) put_metrics(page, r);
  if (r->plan) put_plan(page, r);
  if (r->trace.communication_ms > 0)
    put_tile(page, "communication that was hidden", dp_page_share(r->trace.hidden_ms, r->trace.communication_ms, text));
  dp_page_put(page, "</dl>\n");
}

const dp_report_section dp_report_section_overview = {
    .id = "overview", .title = "Overview", .missing = missing, .write = write};
