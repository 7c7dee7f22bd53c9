// The page around its sections.
#include "tools/report/section.h"

#define DP_SECTION(name) extern const dp_report_section dp_report_section_##name;
#include "tools/report/list.h"
#undef DP_SECTION

static const dp_report_section *const sections[] = {
#define DP_SECTION(name) &dp_report_section_##name,
#include "tools/report/list.h"
#undef DP_SECTION
};

extern const char dp_report_page_css[], dp_report_page_js[];

static const char *title_of(const dp_report *r) { return r->plan && *r->plan->name ? r->plan->name : r->folder; }

static void put_head(dp_page *page, const dp_report *r) {
  dp_page_put(page,
              "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
              "script-src 'unsafe-inline'\"/>\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
              "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>");
  dp_page_text(page, title_of(r));
  dp_page_put(page, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<header><h1>", dp_report_page_css);
  dp_page_text(page, title_of(r));
  dp_page_put(page, "</h1><p>");
  if (r->n_runs && r->runs[r->n_runs - 1].date) dp_page_print(page, "%s, ", r->runs[r->n_runs - 1].date);
  dp_page_print(page, "%s", r->folder);
  dp_page_put(page, "</p></header>\n<main>\n");
}

static void put_list(dp_page *page, const char *id, const char *title) {
  dp_page_put(page, "<section id=\"%s\"><h2>%s</h2><ul>\n", id, title);
}

// What the page could not show, and what was wrong with its sources.
static void put_notes(dp_page *page, const dp_report *r, size_t n_missing, const char *const *missing) {
  if (n_missing) {
    put_list(page, "missing", "Not on this page");
    for (size_t i = 0; i < n_missing; i++) {
      dp_page_put(page, "<li>");
      dp_page_text(page, missing[i]);
      dp_page_put(page, "</li>\n");
    }
    dp_page_put(page, "</ul></section>\n");
  }
  if (!r->notes.count) return;
  put_list(page, "notes", "Notes");
  for (size_t i = 0; i < r->notes.count; i++) {
    dp_page_put(page, "<li>");
    dp_page_text(page, r->notes.texts[i]);
    dp_page_put(page, "</li>\n");
  }
  dp_page_put(page, "</ul></section>\n");
}

void dp_report_write(dp_page *page, const dp_report *report) {
  const char *missing[DP_COUNT(sections)];
  size_t n_missing = 0;
  put_head(page, report);
  for (size_t i = 0; i < DP_COUNT(sections); i++) {
    const dp_report_section *s = sections[i];
    const char *why = s->missing(report);
    if (why) {
      missing[n_missing++] = why;
      continue;
    }
    dp_page_put(page, "<section id=\"%s\"><h2>%s</h2>\n", s->id, s->title);
    s->write(page, report);
    dp_page_put(page, "</section>\n");
  }
  put_notes(page, report, n_missing, missing);
  dp_page_put(page, "</main>\n<script>\n//<![CDATA[\n%s//]]>\n</script>\n</body>\n</html>\n", dp_report_page_js);
}
