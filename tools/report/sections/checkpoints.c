// The checkpoints that the folder has.
#include "tools/report/section.h"

enum { MOST = 200 };

static const char *missing(const dp_report *r) {
  return r->n_checkpoints ? NULL : "Checkpoints: there are none (dprun --save=DIR).";
}

static void write(dp_page *page, const dp_report *r) {
  char text[DP_PAGE_NUMBER];
  const size_t first = r->n_checkpoints > MOST ? r->n_checkpoints - MOST : 0;
  dp_page_put(page,
              "<div class=\"scroll tall\"><table><tr><th>after step</th><th class=\"n\">size</th><th></th></tr>\n");
  for (size_t i = first; i < r->n_checkpoints; i++) {
    const dp_report_checkpoint *c = &r->checkpoints[i];
    dp_page_put(page, "<tr><td>%lld</td><td class=\"n\">", (long long)c->step);
    dp_page_text(page, dp_page_bytes(c->bytes, text));
    dp_page_put(page, "</td><td>%s</td></tr>\n", c->best ? "the best" : "");
  }
  dp_page_put(page, "</table></div>\n");
  if (first) dp_page_put(page, "<p class=\"note\">%zu older ones are not listed.</p>\n", first);
}

const dp_report_section dp_report_section_checkpoints = {
    .id = "checkpoints", .title = "Checkpoints", .missing = missing, .write = write};
