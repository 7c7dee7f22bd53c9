// Where the plan puts the variables.
#include <string.h>

#include "ir/file/proto.h"
#include "ir/graph/placement.h"
#include "tools/report/figures.h"
#include "tools/report/section.h"

enum { MOST_VARIABLES = 400 };

static const char *missing(const dp_report *r) { return r->plan ? NULL : "Placements: the plan was not found."; }

static const char *kind_of(const Dp__Variable *v) {
  static const char *const kinds[] = {"parameter", "buffer", "optimizer state", "constant"};
  return v->kind >= 0 && v->kind < (int32_t)DP_COUNT(kinds) ? kinds[v->kind] : "?";
}

static const char *type_of(const dp_report *r, const Dp__Variable *v) {
  dp_type type;
  char text[512];
  dp_status status = dp_proto_to_type(v->type, &type);
  const char *printed = status ? "?" : dp_strdup(r->arena, dp_type_print(&type, text, sizeof text));
  dp_status_free(status);
  return printed;
}

static const char *placement_of(const dp_report *r, const Dp__Placement *message) {
  dp_placement placement;
  char text[64];
  dp_status status = dp_proto_to_placement(message, &placement);
  const char *printed = status ? "?" : dp_strdup(r->arena, dp_placement_print(placement, text, sizeof text));
  dp_status_free(status);
  return !strcmp(printed, "R") ? "whole" : printed;
}

static void put_cell(dp_page *page, const char *style, const char *text) {
  dp_page_put(page, "<td class=\"%s\">", style);
  dp_page_text(page, text);
  dp_page_put(page, "</td>");
}

static void put_stages(dp_page *page, const Dp__Variable *v) {
  dp_page_put(page, "<td>");
  for (size_t i = 0; i < v->n_stages; i++) dp_page_print(page, "%s%u", i ? ", " : "", v->stages[i]);
  dp_page_put(page, "%s</td>", v->n_stages ? "" : "all");
}

static void put_variable(dp_page *page, const dp_report *r, const Dp__Variable *v) {
  char text[DP_PAGE_NUMBER];
  dp_page_put(page, "<tr>");
  put_cell(page, "wrap", v->name);
  put_cell(page, "", v->frozen ? "frozen parameter" : kind_of(v));
  put_cell(page, "", type_of(r, v));
  for (size_t a = 0; a < r->plan->n_mesh; a++)
    if (!dp_report_is_time(r->plan->mesh[a]))
      put_cell(page, "", a < v->n_placements ? placement_of(r, v->placements[a]) : "?");
  if (r->plan->n_roles > 1) put_stages(page, v);
  put_cell(page, "n", dp_page_bytes((double)v->bytes, text));
  dp_page_put(page, "</tr>\n");
}

static void write(dp_page *page, const dp_report *r) {
  const Dp__Plan *plan = r->plan;
  dp_page_put(
      page,
      "<p class=\"note\">Along each axis of the mesh, devices have a variable whole, or S(d): each has a part of "
      "its dimension d, counted from 0, or P(sum): each has a summand.</p>\n");
  dp_page_put(page, "<div class=\"scroll tall\"><table><tr><th>variable</th><th>kind</th><th>type</th>");
  for (size_t a = 0; a < plan->n_mesh; a++) {
    if (dp_report_is_time(plan->mesh[a])) continue;
    dp_page_put(page, "<th>");
    dp_page_print(page, "%s = %lld", plan->mesh[a]->name, (long long)plan->mesh[a]->size);
    dp_page_put(page, "</th>");
  }
  dp_page_put(page, "%s<th class=\"n\">on a device</th></tr>\n", plan->n_roles > 1 ? "<th>stages</th>" : "");
  for (size_t i = 0; i < plan->n_variables && i < MOST_VARIABLES; i++) put_variable(page, r, plan->variables[i]);
  dp_page_put(page, "</table></div>\n");
  if (plan->n_variables > MOST_VARIABLES)
    dp_page_put(page, "<p class=\"note\">%zu more are not listed: dpc show lists all.</p>\n",
                plan->n_variables - MOST_VARIABLES);
}

const dp_report_section dp_report_section_placements = {
    .id = "placements", .title = "Placements", .missing = missing, .write = write};
