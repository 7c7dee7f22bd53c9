// What the run was on, and what the plan was made for.
#include "tools/report/section.h"

static const char *missing(const dp_report *r) {
  return r->n_runs || (r->plan && r->plan->target) ? NULL : "Machine: it was not recorded (dprun --save=DIR does).";
}

static void put_row(dp_page *page, const char *name, const char *value) {
  if (!value || !*value) return;
  dp_page_put(page, "<tr><td>%s</td><td class=\"wrap\">", name);
  dp_page_text(page, value);
  dp_page_put(page, "</td></tr>\n");
}

static void write(dp_page *page, const dp_report *r) {
  char text[DP_PAGE_NUMBER];
  const dp_report_run *run = r->n_runs ? &r->runs[r->n_runs - 1] : NULL;
  const Dp__Target *target = r->plan ? r->plan->target : NULL;
  dp_page_put(page, "<div class=\"scroll\"><table>\n");
  if (run) {
    put_row(page, "host", run->host);
    put_row(page, "processor", run->processor);
    put_row(page, "cores", run->cores ? dp_page_number((double)run->cores, text) : NULL);
    put_row(page, "memory", run->memory_bytes ? dp_page_bytes((double)run->memory_bytes, text) : NULL);
    put_row(page, "system", run->system);
    put_row(page, "devices of the plan", run->devices);
  }
  if (target) {
    put_row(page, "target of the plan", target->backend);
    put_row(page, "instruction set", target->isa);
    put_row(page, "threads of an instruction", dp_page_number(target->threads, text));
    if (r->plan->tf32) put_row(page, "products in float32", "may round operands to TF32");
    if (r->plan->winograd) put_row(page, "convolutions in float32", "may be Winograd's");
    if (r->plan->reproducible) put_row(page, "sums between devices", "in rank order, on any devices");
  }
  dp_page_put(page, "</table></div>\n");
}

const dp_report_section dp_report_section_machine = {
    .id = "machine", .title = "Machine", .missing = missing, .write = write};
