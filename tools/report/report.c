// See report.h.
#include "tools/report/report.h"

#include <stdio.h>

#include "ir/base/file.h"
#include "tools/cli.h"
#include "tools/report/options.h"

typedef struct {
  dp_arena *arena;
  const dp_report_options *options;
} making;

static dp_status write_page(const dp_report_options *o, const dp_report *report) {
  dp_page page;
  DP_TRY(dp_page_open(&page));
  dp_report_write(&page, report);
  dp_status status = dp_page_finish(&page);
  if (!status) status = dp_file_write(o->output, page.data, page.bytes);
  dp_page_close(&page);
  return status;
}

static dp_status make(void *arg) {
  const making *m = arg;
  dp_report report;
  DP_TRY(dp_report_read(m->arena, &m->options->sources, &report));
  DP_TRY(dp_cli_check_writable("--output", m->options->output, true));
  DP_TRY(write_page(m->options, &report));
  for (size_t i = 0; i < report.notes.count; i++) {
    dp_cli_print_message(report.notes.texts[i]);
    fputc('\n', stderr);
  }
  return DP_OK;
}

int dp_report_main(int argc, char **argv) {
  dp_report_options options;
  dp_arena *arena = dp_arena_create(0);
  if (!arena) return dp_cli_finish("dprun report", dp_fail(DP_EX_MEMORY, "out of memory"));
  making m = {arena, &options};
  dp_status status = dp_report_options_parse(arena, argc, argv, &options);
  if (!status) status = dp_arena_run(arena, make, &m);
  const int code = dp_cli_finish("dprun report", status);
  dp_arena_destroy(arena);
  return code;
}
