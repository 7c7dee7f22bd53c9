// See trace.h. dprun writes an event in each line; it is read twice: once to find the step, once for its names.
#include "tools/report/trace.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/lines.h"

// An event of the first reading, without its name.
typedef struct {
  dp_report_slice slice;
  int64_t run, at;  // its line's place in the file
  int program;
} event;

typedef struct {
  dp_arena *arena;
  dp_report_trace *trace;
  dp_report_lines lines;
  size_t n_events;
  event *events;
  int n_programs, n_tracks;
  const char *programs[16];
  dp_report_track *tracks;
} reading;

// ---- lines ----------------------------------------------------------------------------------------------------------

static bool take_int(const json_t *object, const char *name, int64_t most, int64_t *number) {
  const json_t *value = json_object_get(object, name);
  *number = json_integer_value(value);
  return json_is_integer(value) && *number >= 0 && *number <= most;
}

static bool take_real(const json_t *object, const char *name, double *number) {
  const json_t *value = json_object_get(object, name);
  *number = json_number_value(value);
  return json_is_number(value) && *number >= 0 && *number < 1e15;
}

static int find_program(reading *r, const char *name) {
  int at = 0;
  while (at < r->n_programs && strcmp(r->programs[at], name)) at++;
  if (at == r->n_programs && at < (int)DP_COUNT(r->programs)) r->programs[r->n_programs++] = dp_strdup(r->arena, name);
  return at < r->n_programs ? at : -1;
}

static bool take_slice(reading *r, const json_t *line) {
  const json_t *args = json_object_get(line, "args");
  const char *name = json_string_value(json_object_get(line, "name"));
  const char *program = json_string_value(json_object_get(line, "cat"));
  int64_t device, stream;
  double duration;
  event e = {.at = r->lines.at};
  if (!name || !program || !take_int(line, "pid", 1 << 20, &device) || !take_int(line, "tid", 1 << 20, &stream))
    return false;
  if (!take_real(line, "ts", &e.slice.begin_us) || !take_real(line, "dur", &duration)) return false;
  if (!take_int(args, "run", INT64_MAX, &e.run) || (e.program = find_program(r, program)) < 0) return false;
  e.slice.device = (int)device;
  e.slice.stream = (int)stream;
  e.slice.end_us = e.slice.begin_us + duration;
  e.slice.kind = !strcmp(name, "wait")              ? DP_SLICE_WAIT
                 : json_object_get(args, "devices") ? DP_SLICE_COMMUNICATE
                 : json_object_get(args, "kernel")  ? DP_SLICE_COMPUTE
                                                    : DP_SLICE_MOVE;
  DP_PUSH(r->arena, r->events, r->n_events, e);
  return true;
}

// "process_name" and "thread_name": dprun writes both before a track's first slice.
static bool take_name(reading *r, const json_t *line) {
  const char *what = json_string_value(json_object_get(line, "name"));
  const char *name = json_string_value(json_object_get(json_object_get(line, "args"), "name"));
  int64_t device, stream;
  if (!what || !name || !take_int(line, "pid", 1 << 20, &device)) return false;
  const char *copy = dp_strdup(r->arena, name);
  if (!strcmp(what, "process_name")) {
    const dp_report_track track = {(int)device, -1, copy, ""};
    DP_PUSH(r->arena, r->tracks, r->n_tracks, track);
    return true;
  }
  dp_report_track *last = r->n_tracks ? &r->tracks[r->n_tracks - 1] : NULL;
  if (!last || last->device != (int)device || !take_int(line, "tid", 1 << 20, &stream)) return false;
  last->stream = (int)stream;
  last->name = copy;
  return true;
}

static bool take_line(reading *r) {
  size_t length = r->lines.length;
  if (length && r->lines.line[length - 1] == ',') length--;
  json_t *line = json_loadb(r->lines.line, length, 0, NULL);
  const char *kind = json_string_value(json_object_get(line, "ph"));
  const bool good = kind && (!strcmp(kind, "X") ? take_slice(r, line) : !strcmp(kind, "M") && take_name(r, line));
  json_decref(line);
  return good;
}

static const char head[] = "{\"otherData\":", rest[] = "]}";

static dp_status take_head(reading *r) {
  if (!dp_report_lines_next(&r->lines) || strncmp(r->lines.line, head, sizeof head - 1))
    return dp_fail(EX_DATAERR, "%s: not a trace that dprun --trace wrote", r->lines.path);
  json_t *all = json_loads(dp_printf(r->arena, "%s%s", r->lines.line, rest), 0, NULL);
  const json_t *data = json_object_get(all, "otherData");
  double communication, hidden;
  if (take_real(data, "communication_ns", &communication) && take_real(data, "hidden_ns", &hidden)) {
    r->trace->communication_ms = communication * 1e-6;
    r->trace->hidden_ms = fmin(hidden, communication) * 1e-6;
  }
  json_decref(all);
  return DP_OK;
}

static dp_status read_events(reading *r, dp_report_notes *notes) {
  dp_report_damage damage = {0};
  bool whole = false;
  DP_TRY(take_head(r));
  while (dp_report_lines_next(&r->lines)) {
    whole = !strcmp(r->lines.line, rest);
    if (!whole && r->lines.length && !take_line(r)) dp_report_damage_add(&damage, r->lines.number);
  }
  dp_report_damage_note(&damage, notes, r->lines.path, "event");
  if (!whole) dp_report_note(notes, "%s: its end is missing", r->lines.path);
  return DP_OK;
}

// ---- the step -------------------------------------------------------------------------------------------------------

static int by_run(const void *a, const void *b) {
  const event *x = a, *y = b;
  if (x->program != y->program) return x->program < y->program ? -1 : 1;
  if (x->run != y->run) return x->run < y->run ? -1 : 1;
  if (x->slice.device != y->slice.device) return x->slice.device < y->slice.device ? -1 : 1;
  if (x->slice.stream != y->slice.stream) return x->slice.stream < y->slice.stream ? -1 : 1;
  return (x->slice.begin_us > y->slice.begin_us) - (x->slice.begin_us < y->slice.begin_us);
}

// The events of one run, and what they span without waiting.
typedef struct {
  const event *events;
  size_t count, working;
  double begin_us, end_us;
} run;

static int by_duration(const void *a, const void *b) {
  const run *x = a, *y = b;
  const double s = x->end_us - x->begin_us, t = y->end_us - y->begin_us;
  if (s != t) return s < t ? -1 : 1;
  return (x->events > y->events) - (x->events < y->events);
}

static run take_run(const event *events, size_t n) {
  run at = {.events = events, .begin_us = INFINITY};
  for (; at.count < n && events[at.count].program == events->program && events[at.count].run == events->run;
       at.count++) {
    const dp_report_slice *s = &events[at.count].slice;
    if (s->kind == DP_SLICE_WAIT) continue;
    at.working++;
    at.begin_us = fmin(at.begin_us, s->begin_us);
    at.end_us = fmax(at.end_us, s->end_us);
  }
  return at;
}

// The median of the runs that have most slices: the others were cut off.
static bool choose_run(reading *r, int program, run *chosen) {
  run *runs = NULL;
  size_t n = 0, kept = 0, most = 1;
  for (size_t i = 0; i < r->n_events;) {
    const run one = take_run(&r->events[i], r->n_events - i);
    i += one.count;
    if (one.events->program != program) continue;
    DP_PUSH(r->arena, runs, n, one);
    if (one.working > most) most = one.working;
  }
  for (size_t i = 0; i < n; i++)
    if (runs[i].working == most) runs[kept++] = runs[i];
  r->trace->n_runs = (int64_t)kept;
  if (!kept) return false;
  qsort(runs, kept, sizeof *runs, by_duration);
  *chosen = runs[(kept - 1) / 2];
  return true;
}

static const char *read_name(reading *r, int64_t at) {
  if (!dp_report_lines_again(&r->lines, at)) return "?";
  const size_t length = r->lines.length;
  json_t *line = json_loadb(r->lines.line, length - (length && r->lines.line[length - 1] == ','), 0, NULL);
  const char *name = json_string_value(json_object_get(line, "name"));
  const char *copy = dp_strdup(r->arena, name ? name : "?");
  json_decref(line);
  return copy;
}

static int by_track(const void *a, const void *b) {
  const dp_report_track *x = a, *y = b;
  if (x->device != y->device) return x->device < y->device ? -1 : 1;
  return (x->stream > y->stream) - (x->stream < y->stream);
}

static void take_step(reading *r, const run *chosen) {
  dp_report_trace *t = r->trace;
  dp_report_slice *slices = dp_alloc_n(r->arena, chosen->count, sizeof *slices);
  for (size_t i = 0; i < chosen->count; i++) {
    dp_report_slice s = chosen->events[i].slice;
    // A wait begins where the step before ended.
    s.begin_us = fmax(s.begin_us, chosen->begin_us) - chosen->begin_us;
    s.end_us = fmin(s.end_us, chosen->end_us) - chosen->begin_us;
    if (s.end_us < s.begin_us) continue;
    s.name = s.kind == DP_SLICE_WAIT ? "wait" : read_name(r, chosen->events[i].at);
    slices[t->n_slices++] = s;
  }
  t->slices = slices;
  t->run = chosen->events->run;
  t->us = chosen->end_us - chosen->begin_us;
  if (r->n_tracks) qsort(r->tracks, (size_t)r->n_tracks, sizeof *r->tracks, by_track);
  t->tracks = r->tracks;
  t->n_tracks = r->n_tracks;
}

static dp_status read_all(reading *r, dp_report_notes *notes) {
  DP_TRY(read_events(r, notes));
  if (!r->n_events) return DP_OK;
  qsort(r->events, r->n_events, sizeof *r->events, by_run);
  static const char *const preferred[] = {"train", "infer", "eval"};
  run chosen;
  for (size_t i = 0; i < DP_COUNT(preferred); i++)
    for (int p = 0; p < r->n_programs; p++)
      if (!strcmp(r->programs[p], preferred[i]) && choose_run(r, p, &chosen)) {
        r->trace->program = r->programs[p];
        take_step(r, &chosen);
        return DP_OK;
      }
  return DP_OK;
}

dp_status dp_report_trace_read(dp_arena *arena, const char *path, dp_report_notes *notes, dp_report_trace *trace) {
  *trace = (dp_report_trace){.path = path};
  reading r = {.arena = arena, .trace = trace};
  DP_TRY(dp_report_lines_open(path, &r.lines));
  dp_status status = read_all(&r, notes), closed = dp_report_lines_close(&r.lines);
  if (status || closed) *trace = (dp_report_trace){0};
  if (!status) return closed;
  dp_status_free(closed);
  return status;
}
