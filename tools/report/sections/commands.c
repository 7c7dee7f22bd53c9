// The commands that made the run.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ir/plan/options.h"
#include "tools/report/section.h"

enum { MOST_RUNS = 50 };

static const char *missing(const dp_report *r) {
  return r->n_runs || (r->plan && r->plan->options) ? NULL
                                                    : "Commands: they were not recorded (dprun --save=DIR does).";
}

// A word as a shell takes it: quoted unless it is plain.
static void put_word(dp_page *page, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./,:+@%";
  if (*word && word[strspn(word, plain)] == 0) {
    dp_page_text(page, word);
    return;
  }
  dp_page_text(page, "'");
  for (const char *at = word; *at;) {
    const size_t length = strcspn(at, "'");
    dp_page_print(page, "%.*s%s", (int)length, at, at[length] ? "'\\''" : "");
    at += length + (at[length] != 0);
  }
  dp_page_text(page, "'");
}

static void put_run(dp_page *page, const dp_report_run *run) {
  dp_page_put(page, "<p class=\"of\">");
  dp_page_print(page, "%s", run->date ? run->date : "at an unknown time");
  if (run->first_step > 1) dp_page_print(page, ", from step %" PRId64 " on", run->first_step);
  if (run->folder) dp_page_print(page, ", in %s", run->folder);
  dp_page_put(page, "</p><pre>");
  for (size_t i = 0; i < run->n_words; i++) {
    if (i) dp_page_text(page, " ");
    put_word(page, run->words[i]);
  }
  dp_page_put(page, "</pre>\n");
}

static void put_options(dp_page *page, const dp_report *r, const char *title, const char *command, bool defaulted) {
  char *text = NULL;
  size_t bytes;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return;
  const size_t n = dp_plan_options_print(r->arena, r->plan->options, defaulted, NULL, out);
  if (!fclose(out) && n) {
    dp_page_put(page, "<p class=\"of\">%s</p><pre>%s", title, command);
    dp_page_text(page, defaulted && *text == ' ' ? text + 1 : text);
    dp_page_put(page, "</pre>\n");
  }
  free(text);
}

static void write(dp_page *page, const dp_report *r) {
  if (r->plan && r->plan->options) {
    put_options(page, r, "The plan", "dpc compile", false);
    put_options(page, r, "and, chosen by dpc", "", true);
  }
  const size_t first = r->n_runs > MOST_RUNS ? r->n_runs - MOST_RUNS : 0;
  if (first) dp_page_put(page, "<p class=\"note\">%zu earlier runs are not listed.</p>\n", first);
  for (size_t i = first; i < r->n_runs; i++) put_run(page, &r->runs[i]);
}

const dp_report_section dp_report_section_commands = {
    .id = "commands", .title = "Commands", .missing = missing, .write = write};
