// The memory of a device: what it holds all the time, and over a step where each tensor lives and when.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/plan/report/steps.h"
#include "tools/report/section.h"

enum { MOST_BLOCKS = 1500, MOST_ROLES = 8 };

static const char *missing(const dp_report *r) {
  return r->plan
             ? NULL
             : "Memory and placements: the plan was not found (dprun --save=DIR records where it is; or dprun report "
               "--plan=FILE).";
}

// ---- tensors over a step --------------------------------------------------------------------------------------------

// Bytes of the transient arena from one instruction to another.
typedef struct {
  uint64_t offset, bytes;
  uint32_t first, last;      // by order
  const char *style, *name;  // name NULL: scratch
  const Dp__Instruction *from, *to;
} block;

typedef struct {
  const dp_report *report;
  const Dp__Program *program;
  uint64_t arena_bytes;
  uint32_t n_steps;
  size_t count;
  block *blocks;
} role_memory;

static size_t find_program(const Dp__Role *role, const char *name) {
  size_t at = 0;
  while (at < role->n_programs && strcmp(role->programs[at]->name, name)) at++;
  return at;
}

// Places a block for each tensor that instructions in order first and last touch.
static void touch(block *b, uint32_t at, const Dp__Instruction *in, bool makes) {
  if (!b->from) {
    b->first = at;
    b->from = in;
    if (makes && in->communication) b->style = "communicate";
  }
  b->last = at;
  b->to = in;
}

static const char *name_of(const role_memory *m, const Dp__DeviceTensor *tensor) {
  return m->report->plan->graphs[m->program->graph]->values[tensor->value]->name;
}

static void take_blocks(role_memory *m, const dp_plan_steps *steps, uint32_t role) {
  const Dp__Program *p = m->program;
  block *of = dp_alloc_n(m->report->arena, p->n_tensors + 1, sizeof *of);
  for (uint32_t k = 0; k < steps->n_ordered; k++) {
    // A Send and its Recv are one step of two roles.
    const uint32_t one = steps->order[k], two = steps->receiver[one] ? steps->receiver[one] - 1 : one;
    const dp_plan_step *step = steps->steps[one].role == role ? &steps->steps[one] : &steps->steps[two];
    if (step->role != role) continue;
    const Dp__Instruction *in = step->in;
    const uint32_t at = m->n_steps++;
    for (size_t i = 0; i < in->n_inputs; i++)
      if (in->inputs[i]) touch(&of[in->inputs[i] - 1], at, in, false);
    for (size_t i = 0; i < in->n_outputs; i++)
      if (in->outputs[i]) touch(&of[in->outputs[i] - 1], at, in, true);
    if (!in->scratch || !in->scratch->bytes) continue;
    const block scratch = {in->scratch->offset, in->scratch->bytes, at, at, "scratch", NULL, in, in};
    DP_PUSH(m->report->arena, m->blocks, m->count, scratch);
  }
  for (size_t i = 0; i < p->n_tensors; i++) {
    const Dp__DeviceTensor *t = p->tensors[i];
    if (t->space != DP__SPACE__TRANSIENT || !t->bytes || !of[i].from) continue;
    of[i].offset = t->offset;
    of[i].bytes = t->bytes;
    of[i].name = name_of(m, t);
    if (!of[i].style) of[i].style = "compute";
    DP_PUSH(m->report->arena, m->blocks, m->count, of[i]);
  }
}

static int by_area(const void *a, const void *b) {
  const block *x = a, *y = b;
  const double s = (double)x->bytes * (x->last - x->first + 1), t = (double)y->bytes * (y->last - y->first + 1);
  if (s != t) return s < t ? 1 : -1;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  return (x->first > y->first) - (x->first < y->first);
}

static const char *title_of(const Dp__Instruction *in, const role_memory *m) {
  const Dp__Graph *graph = m->report->plan->graphs[m->program->graph];
  return in->n_nodes ? dp_printf(m->report->arena, "%s %s", in->op, graph->nodes[in->nodes[0]]->name) : in->op;
}

static void put_block(dp_page *page, const dp_chart *chart, const role_memory *m, const block *b, double unit) {
  char bytes[DP_PAGE_NUMBER];
  const double x = dp_chart_x(chart, b->first), end = dp_chart_x(chart, (double)b->last + 1);
  const double y = dp_chart_y(chart, (double)(b->offset + b->bytes) / unit);
  dp_page_put(page, "<rect class=\"block %s\" x=\"%.3f\" y=\"%.3f\" width=\"%.3f\" height=\"%.3f\"><title>", b->style,
              x, y, end - x, dp_chart_y(chart, (double)b->offset / unit) - y);
  dp_page_print(page, "%s: +%" PRIu64 ", %" PRIu64 " bytes (%s), %s", b->name ? b->name : "scratch", b->offset,
                b->bytes, dp_page_bytes((double)b->bytes, bytes), title_of(b->from, m));
  if (b->to != b->from) dp_page_print(page, " to %s", title_of(b->to, m));
  dp_page_put(page, "</title></rect>\n");
}

static uint64_t arena_of(const Dp__Role *role, Dp__Space space) {
  for (size_t i = 0; i < role->n_arenas; i++)
    if (role->arenas[i]->space == space) return role->arenas[i]->bytes;
  return 0;
}

// The largest unit of bytes that the number has one of.
static double choose_unit(double bytes, const char **name) {
  static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t power = 0;
  for (; power + 1 < DP_COUNT(names) && bytes >= 1024; power++) bytes /= 1024;
  *name = names[power];
  return pow(1024, (double)power);
}

static void put_role(dp_page *page, const dp_report *r, const dp_plan_steps *steps, uint32_t role, size_t program) {
  static const dp_chart_key keys[] = {{"computed", "compute"}, {"communicated", "communicate"}, {"scratch", "scratch"}};
  const Dp__Role *of = r->plan->roles[role];
  role_memory m = {r, of->programs[program], arena_of(of, DP__SPACE__TRANSIENT), 0, 0, NULL};
  take_blocks(&m, steps, role);
  if (!m.count || !m.n_steps) return;
  qsort(m.blocks, m.count, sizeof *m.blocks, by_area);
  const char *unit_name;
  const double unit = choose_unit((double)m.arena_bytes, &unit_name);
  const dp_chart chart = {
      .title = r->plan->n_roles > 1 ? dp_printf(r->arena, "transient memory, %s", of->name) : "transient memory",
      .unit_x = dp_printf(r->arena, "instruction of %s", m.program->name),
      .unit_y = unit_name,
      .x = {0, m.n_steps, false},
      .y = dp_scale_round(0, (double)m.arena_bytes / unit),
      .height = 320,
      .n_keys = (int)DP_COUNT(keys),
      .keys = keys};
  dp_chart_begin(page, &chart, NULL, NULL);
  for (size_t i = 0; i < m.count && i < MOST_BLOCKS; i++) put_block(page, &chart, &m, &m.blocks[i], unit);
  dp_chart_end(page, &chart);
  if (m.count > MOST_BLOCKS)
    dp_page_put(page, "<p class=\"note\">%zu smaller or shorter-lived tensors are not drawn.</p>\n",
                m.count - MOST_BLOCKS);
}

static void put_step(dp_page *page, const dp_report *r) {
  static const char *const names[] = {"train", "infer", "eval"};
  const Dp__Role *first = r->plan->roles[0];
  size_t program = first->n_programs;
  for (size_t i = 0; i < DP_COUNT(names) && program == first->n_programs; i++) program = find_program(first, names[i]);
  if (program == first->n_programs) return;
  const dp_plan_steps steps = dp_plan_steps_make(r->arena, r->plan, program);
  dp_page_put(page, "<div class=\"charts\">\n");
  for (uint32_t i = 0; i < r->plan->n_roles && i < MOST_ROLES; i++) put_role(page, r, &steps, i, program);
  dp_page_put(page, "</div>\n");
  if (r->plan->n_roles > MOST_ROLES)
    dp_page_put(page, "<p class=\"note\">%zu more stages are not drawn.</p>\n", r->plan->n_roles - MOST_ROLES);
}

// ---- figures --------------------------------------------------------------------------------------------------------

static void put_row(dp_page *page, const char *name, double bytes, const char *what) {
  char text[DP_PAGE_NUMBER];
  if (!(bytes > 0)) return;
  dp_page_put(page, "<tr><td>");
  dp_page_text(page, name);
  dp_page_put(page, "</td><td class=\"n\">");
  dp_page_text(page, dp_page_bytes(bytes, text));
  dp_page_put(page, "</td><td class=\"wrap\">%s</td></tr>\n", what);
}

static bool is_on(const Dp__Variable *v, uint32_t stage) {
  for (size_t i = 0; i < v->n_stages; i++)
    if (v->stages[i] == stage) return true;
  return !v->n_stages;
}

// Of the stage whose devices hold most.
static void put_figures(dp_page *page, const dp_report *r) {
  uint32_t most = 0;
  double kinds[4] = {0};
  const Dp__Plan *plan = r->plan;
  for (uint32_t i = 1; i < plan->n_roles; i++)
    if (arena_of(plan->roles[i], DP__SPACE__PERSISTENT) + arena_of(plan->roles[i], DP__SPACE__TRANSIENT) >
        arena_of(plan->roles[most], DP__SPACE__PERSISTENT) + arena_of(plan->roles[most], DP__SPACE__TRANSIENT))
      most = i;
  for (size_t i = 0; i < plan->n_variables; i++)
    if (is_on(plan->variables[i], most)) kinds[plan->variables[i]->kind & 3] += (double)plan->variables[i]->bytes;
  const Dp__Role *role = plan->roles[most];
  dp_page_put(page,
              "<div class=\"scroll\"><table><tr><th>on one device</th><th class=\"n\">bytes</th><th></th></tr>\n");
  put_row(page, "parameters", kinds[0], "");
  put_row(page, "optimizer state", kinds[2], "");
  put_row(page, "buffers and constants", kinds[1] + kinds[3], "");
  put_row(page, "persistent arena", (double)arena_of(role, DP__SPACE__PERSISTENT),
          "all of these, aligned, and what kernels have packed");
  put_row(page, "transient arena", (double)arena_of(role, DP__SPACE__TRANSIENT), "values of a step and scratch");
  put_row(page, "host input", (double)arena_of(role, DP__SPACE__HOST_INPUT), "on the host, one copy");
  put_row(page, "host output", (double)arena_of(role, DP__SPACE__HOST_OUTPUT), "on the host, one copy");
  if (arena_of(role, DP__SPACE__OFFLOAD))
    put_row(page, "offloaded", (double)arena_of(role, DP__SPACE__OFFLOAD), "on the host, of this device");
  put_row(page, "arenas, measured", r->metrics.arena_bytes, "of all devices and the host, with all copies");
  put_row(page, "touched", r->metrics.arena_resident_bytes, "pages of the arenas that were ever used");
  put_row(page, "peak of the process", r->metrics.peak_resident_bytes, "physical memory");
  put_row(page, "other", r->metrics.other_bytes, "libraries, data, tables: the peak less the arenas");
  dp_page_put(page, "</table></div>\n");
}

static void write(dp_page *page, const dp_report *r) {
  put_step(page, r);
  dp_page_put(page,
              "<p class=\"note\">A block is a tensor: its height is its bytes where they lie, its width the "
              "instructions from the first that touches it to the last.</p>\n");
  put_figures(page, r);
}

const dp_report_section dp_report_section_memory = {
    .id = "memory", .title = "Memory over a step", .missing = missing, .write = write};
