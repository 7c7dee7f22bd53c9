// See metrics.h.
#include "tools/report/metrics.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "tools/report/lines.h"

// Larger and smaller numbers are nobody's measurements, and would overflow on the way to the page.
enum { LONGEST_NAME = 64 };
static const double most = 1e300, least = 1e-300, most_steps = 1e12;

const double *dp_report_column(const dp_report_table *table, const char *name) {
  for (int i = 0; i < table->n_columns; i++)
    if (!strcmp(table->columns[i].name, name)) return table->columns[i].values;
  return NULL;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static double number_of(const json_t *value) {
  const double number = value && json_is_number(value) ? json_number_value(value) : NAN;
  return fabs(number) <= most ? fabs(number) >= least ? number : 0 : NAN;
}

// Makes room for one more row. dp_grow would not do: rows come and go.
static void grow(dp_arena *arena, dp_report_table *t) {
  if (t->n_rows < t->capacity) return;
  t->capacity = t->capacity ? 2 * t->capacity : 64;
  for (int i = 0; i < t->n_columns; i++) {
    double *values = dp_alloc_n(arena, t->capacity, sizeof *values);
    memcpy(values, t->columns[i].values, t->n_rows * sizeof *values);
    t->columns[i].values = values;
  }
}

// A column that appears late is NaN in the rows before. DP_REPORT_COLUMNS: there is no room for it.
static int find_column(dp_arena *arena, dp_report_table *t, const char *name) {
  int at = 0;
  while (at < t->n_columns && strcmp(t->columns[at].name, name)) at++;
  if (at < t->n_columns || at == DP_REPORT_COLUMNS || strlen(name) > LONGEST_NAME) return at;
  double *values = dp_alloc_n(arena, t->capacity, sizeof *values);
  for (size_t i = 0; i < t->n_rows; i++) values[i] = NAN;
  t->columns[at].name = dp_strdup(arena, name);
  t->columns[at].values = values;
  return t->n_columns++;
}

static void set(dp_arena *arena, dp_report_table *t, const char *name, const json_t *value) {
  const int column = find_column(arena, t, name);
  if (column < t->n_columns) t->columns[column].values[t->n_rows] = number_of(value);
}

static void add_row(dp_arena *arena, dp_report_table *t, json_t *event) {
  const char *name;
  json_t *value;
  grow(arena, t);
  for (int i = 0; i < t->n_columns; i++) t->columns[i].values[t->n_rows] = NAN;
  set(arena, t, "step", json_object_get(event, "step"));
  json_object_foreach(event, name, value) {
    if (json_is_number(value) || json_is_null(value)) set(arena, t, name, value);
  }
  t->n_rows++;
}

// Drops the rows of this step and of later ones. Returns whether there were any.
static bool go_back(dp_report_table *t, double step) {
  const size_t before = t->n_rows;
  while (t->n_rows && t->columns[0].values[t->n_rows - 1] >= step) t->n_rows--;
  return t->n_rows < before;
}

// ---- events ---------------------------------------------------------------------------------------------------------

typedef struct {
  dp_arena *arena;
  dp_report_metrics *metrics;
  int64_t events, begins_again;  // the line where the steps last began again; 0: never
} reading;

static void take_memory(dp_report_metrics *m, const json_t *event) {
  const struct {
    const char *name;
    double *to;
  } fields[] = {{"arena_bytes", &m->arena_bytes},
                {"arena_resident_bytes", &m->arena_resident_bytes},
                {"peak_resident_bytes", &m->peak_resident_bytes},
                {"other_bytes", &m->other_bytes}};
  for (size_t i = 0; i < DP_COUNT(fields); i++) {
    const double bytes = number_of(json_object_get(event, fields[i].name));
    *fields[i].to = bytes >= 0 ? bytes : 0;
  }
}

// Whether the line is an event. Events of other kinds are taken for ones of later versions.
static bool take_event(reading *r, json_t *event, int64_t line) {
  dp_report_metrics *m = r->metrics;
  const char *kind = json_string_value(json_object_get(event, "event"));
  if (!kind) return false;
  const bool is_step = !strcmp(kind, "step"), is_eval = !strcmp(kind, "eval");
  if (!strcmp(kind, "memory")) take_memory(m, event);
  if (!is_step && !is_eval) return true;
  const double step = number_of(json_object_get(event, "step"));
  if (!(step >= 0 && step <= most_steps && step == trunc(step))) return false;
  const bool again = is_step ? go_back(&m->steps, step) | go_back(&m->evals, step) : go_back(&m->evals, step);
  if (again) r->begins_again = line;
  add_row(r->arena, is_step ? &m->steps : &m->evals, event);
  return true;
}

dp_status dp_report_metrics_read(dp_arena *arena, const char *path, dp_report_notes *notes,
                                 dp_report_metrics *metrics) {
  dp_report_lines lines;
  dp_report_damage damage = {0};
  *metrics = (dp_report_metrics){.path = path};
  reading r = {.arena = arena, .metrics = metrics};
  DP_TRY(dp_report_lines_open(path, &lines));
  while (dp_report_lines_next(&lines)) {
    json_t *event = json_loadb(lines.line, lines.length, 0, NULL);
    if (event && take_event(&r, event, lines.number))
      r.events++;
    else if (lines.length)
      dp_report_damage_add(&damage, lines.number);
    json_decref(event);
  }
  DP_TRY(dp_report_lines_close(&lines));
  if (!r.events && damage.count) return dp_fail(EX_DATAERR, "%s: no line of it is an event of dprun --metrics", path);
  dp_report_damage_note(&damage, notes, path, "event");
  if (r.begins_again)
    dp_report_note(notes,
                   "%s: the steps begin again at line %" PRId64 ": the earlier lines of those steps are left out", path,
                   r.begins_again);
  return DP_OK;
}
