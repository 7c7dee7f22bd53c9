// See trace.h. The format is the Trace Event Format
// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU): "complete" events in microseconds.
// A process is a device of the plan, named with the physical device that it is on; a thread is one of its streams.
#include "runtime/exec/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ir/base/file.h"

int64_t dp_trace_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

dp_status dp_trace_create(size_t capacity, dp_trace **trace) {
  dp_trace *t = calloc(1, sizeof *t);
  dp_slice *slices = t ? malloc(capacity * sizeof *slices) : NULL;
  if (!slices) {
    free(t);
    return dp_fail(DP_EX_MEMORY, "no memory to record a trace");
  }
  t->slices = slices;
  t->capacity = capacity;
  t->start_ns = dp_trace_now();
  *trace = t;
  return DP_OK;
}

void dp_trace_destroy(dp_trace *trace) {
  if (trace) free(trace->slices);
  free(trace);
}

void dp_trace_record(dp_trace *trace, const dp_unit *unit, const dp_bound *bound, int64_t begin_ns, int64_t end_ns) {
  size_t at = atomic_fetch_add_explicit(&trace->count, 1, memory_order_relaxed);
  if (at < trace->capacity) trace->slices[at] = (dp_slice){unit, bound->run, bound->program, begin_ns, end_ns};
}

size_t dp_trace_count(const dp_trace *trace) {
  size_t recorded = atomic_load(&trace->count);
  return recorded < trace->capacity ? recorded : trace->capacity;
}

// ---- from parts to slices -------------------------------------------------------------------------------------------

// One slice on a device's stream: all parts of one unit in one run, from the first begin to the last end.
typedef struct {
  int device;
  const dp_instruction_at *at;
  const dp_cost *cost;
  dp_slice slice;
} entry;

// Of the unit's device m.
static entry entry_of(const dp_slice *slice, int m) {
  const dp_unit *unit = slice->unit;
  return (entry){unit->devices[m], dp_unit_at(unit, m), &unit->costs[m], *slice};
}

static int stream_of(const entry *e) { return e->at->stream_index; }

static int by_track_and_time(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->device != y->device) return x->device < y->device ? -1 : 1;
  if (stream_of(x) != stream_of(y)) return stream_of(x) < stream_of(y) ? -1 : 1;
  return (x->slice.begin_ns > y->slice.begin_ns) - (x->slice.begin_ns < y->slice.begin_ns);
}

// Sorts and merges the parts. A stream runs in order, so the parts of a unit are adjacent. Returns how many slices
// remain.
static size_t merge_parts(entry *entries, size_t count) {
  qsort(entries, count, sizeof *entries, by_track_and_time);
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    entry *e = &entries[i], *last = kept ? &entries[kept - 1] : NULL;
    if (last && last->device == e->device && last->slice.unit == e->slice.unit && last->slice.run == e->slice.run)
      last->slice.end_ns = dp_max_i64(last->slice.end_ns, e->slice.end_ns);
    else
      entries[kept++] = *e;
  }
  return kept;
}

// ---- writing --------------------------------------------------------------------------------------------------------

typedef struct {
  dp_file_writer file;
  int64_t start_ns;
  const char *const *programs;
  const dp_role_map *roles;
  const dp_backend *backend;
} writing;

static dp_status put_text(writing *w, const char *text, int length) {
  return dp_file_writer_write(&w->file, text, (size_t)length);
}

enum { NAME_BYTES = 160, LINE_BYTES = 1024 };

// A name from the plan, which may contain anything, as a JSON string: unprintable and special characters become '_'.
static const char *plain(const char *name, char text[NAME_BYTES]) {
  size_t i = 0;
  for (; name[i] && i + 1 < NAME_BYTES; i++) {
    bool good = name[i] >= ' ' && name[i] <= '~' && name[i] != '"' && name[i] != '\\';
    text[i] = good ? name[i] : '_';
  }
  text[i] = 0;
  return text;
}

// What computes, or on how many devices communication happens, and how much the device does for it.
static dp_status put_means(writing *w, const entry *e) {
  char text[LINE_BYTES], kernel[NAME_BYTES];
  DP_TRY(
      put_text(w, text, snprintf(text, sizeof text, ",\"flops\":%.0f,\"bytes\":%.0f", e->cost->flops, e->cost->bytes)));
  const dp_unit *unit = e->slice.unit;
  if (unit->transfer && unit->n_devices > 1)
    return put_text(w, text, snprintf(text, sizeof text, ",\"devices\":%d", unit->n_devices));
  if (!unit->kernel) return DP_OK;
  return put_text(w, text,
                  snprintf(text, sizeof text, ",\"kernel\":\"%s\"", plain(e->at->instruction->kernel, kernel)));
}

static dp_status put_slice(writing *w, const entry *e, const char *name, bool waits, int64_t begin_ns, int64_t end_ns) {
  char text[LINE_BYTES], program[NAME_BYTES];
  int length =
      snprintf(text, sizeof text,
               ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s\",\"cat\":\"%s\","
               "\"args\":{"
               "\"run\":%llu",
               e->device, stream_of(e), (double)(begin_ns - w->start_ns) * 1e-3, (double)(end_ns - begin_ns) * 1e-3,
               name, plain(w->programs[e->slice.program], program), (unsigned long long)e->slice.run);
  DP_TRY(put_text(w, text, length));
  if (e->slice.unit->micro >= 0)
    DP_TRY(put_text(w, text, snprintf(text, sizeof text, ",\"micro\":%d", e->slice.unit->micro)));
  if (!waits) DP_TRY(put_means(w, e));
  return put_text(w, "}}", 2);
}

// The operator and the node it computes or the value it moves: "Gemm fc1", "AllReduce dp.gradient/fc1.weight".
static const char *title(const entry *e, char text[2 * NAME_BYTES]) {
  const char *of = e->slice.unit->name ? e->slice.unit->name : e->slice.unit->moved;
  char op[NAME_BYTES], name[NAME_BYTES];
  snprintf(text, 2 * NAME_BYTES, "%s%s%s", plain(e->at->instruction->op, op), of ? " " : "", of ? plain(of, name) : "");
  return text;
}

static dp_status put_track(writing *w, const entry *e, bool first) {
  char text[LINE_BYTES], stage[NAME_BYTES + 8] = "", name[NAME_BYTES];
  const char *chip = w->backend->chip_name ? w->backend->chip_name(e->device) : NULL;
  if (w->roles->n_roles > 1)
    snprintf(stage, sizeof stage, " (%s)", plain(w->roles->roles[w->roles->of_device[e->device]].role->name, name));
  int length =
      snprintf(text, sizeof text,
               "%s{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"device %d%s%s%s\"}},\n"
               "{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}}",
               first ? "" : ",\n", e->device, e->device, stage, chip ? ", " : "", chip ? chip : "", e->device,
               stream_of(e), plain(e->at->stream, name));
  return put_text(w, text, length);
}

static dp_status put_entries(writing *w, const entry *entries, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const entry *e = &entries[i], *before = i ? &entries[i - 1] : NULL;
    bool same = before && before->device == e->device && stream_of(before) == stream_of(e);
    if (!same) DP_TRY(put_track(w, e, i == 0));
    if (same && before->slice.end_ns < e->slice.begin_ns)
      DP_TRY(put_slice(w, e, "wait", true, before->slice.end_ns, e->slice.begin_ns));
    char text[2 * NAME_BYTES];
    DP_TRY(put_slice(w, e, title(e, text), false, e->slice.begin_ns, e->slice.end_ns));
  }
  return DP_OK;
}

static dp_status put_all(writing *w, const entry *entries, size_t count, size_t left_out,
                         const dp_trace_shares *shares) {
  char text[256];
  DP_TRY(put_text(w, text,
                  snprintf(text, sizeof text,
                           "{\"otherData\":{\"parts_left_out\":%zu,\"communication_ns\":%lld,\"hidden_ns\":%lld},"
                           "\"traceEvents\":[\n",
                           left_out, (long long)shares->collectives_ns, (long long)shares->hidden_ns)));
  DP_TRY(put_entries(w, entries, count));
  return put_text(w, "\n]}\n", 4);
}

dp_status dp_trace_write(const dp_trace *trace, const char *const *programs, const dp_role_map *roles,
                         const dp_backend *backend, const char *path) {
  size_t parts = dp_trace_count(trace), left_out = atomic_load(&trace->count) - parts;
  size_t count = 0;
  dp_trace_shares shares;
  DP_TRY(dp_trace_share(trace->slices, parts, &shares));
  for (size_t i = 0; i < parts; i++) count += (size_t)trace->slices[i].unit->n_devices;
  entry *entries = malloc((count + 1) * sizeof *entries);
  if (!entries) return dp_fail(DP_EX_MEMORY, "%s: no memory to sort the trace", path);
  count = 0;
  for (size_t i = 0; i < parts; i++)
    for (int m = 0; m < trace->slices[i].unit->n_devices; m++) entries[count++] = entry_of(&trace->slices[i], m);
  count = merge_parts(entries, count);
  writing w = {.start_ns = trace->start_ns, .programs = programs, .roles = roles, .backend = backend};
  dp_status status = dp_file_writer_open(path, &w.file);
  if (!status) {
    status = put_all(&w, entries, count, left_out, &shares);
    if (!status)
      status = dp_file_writer_commit(&w.file);
    else
      dp_file_writer_abandon(&w.file);
  }
  free(entries);
  return status;
}
