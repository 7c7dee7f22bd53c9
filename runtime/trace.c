// See trace.h. The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU (Trace Event
// Format), "complete" events with microseconds.
#include "runtime/trace.h"

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

void dp_trace_record(dp_trace *trace, const dp_unit *unit, int part, int program, int64_t begin_ns, int64_t end_ns) {
  size_t at = atomic_fetch_add_explicit(&trace->count, 1, memory_order_relaxed);
  if (at < trace->capacity) trace->slices[at] = (dp_slice){unit, part, program, begin_ns, end_ns};
}

// A track: a device and a stream. Slices of one track in order of time, with what lies between two of them as waiting.
typedef struct {
  int device;
  const dp_slice *slice;
} entry;

static int by_track_and_time(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->device != y->device) return x->device < y->device ? -1 : 1;
  int s = x->slice->unit->stream_index, t = y->slice->unit->stream_index;
  if (s != t) return s < t ? -1 : 1;
  return (x->slice->begin_ns > y->slice->begin_ns) - (x->slice->begin_ns < y->slice->begin_ns);
}

static dp_status put(dp_file_writer *writer, const char *text, int length) {
  return dp_file_writer_write(writer, text, (size_t)length);
}

static dp_status put_slice(dp_file_writer *writer, const dp_trace *trace, const entry *e, const char *name,
                           const char *program, int64_t begin_ns, int64_t end_ns) {
  char text[512];
  int length =
      snprintf(text, sizeof text,
               ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%.200s\",\"cat\":\"%.40s\"}",
               e->device, e->slice->unit->stream_index, (double)(begin_ns - trace->start_ns) * 1e-3,
               (double)(end_ns - begin_ns) * 1e-3, name, program);
  return put(writer, text, length);
}

static dp_status put_track(dp_file_writer *writer, const entry *e, bool first) {
  char text[512];
  int length = snprintf(text, sizeof text,
                        "%s{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"device %d\"}},\n"
                        "{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"%.60s\"}}",
                        first ? "" : ",\n", e->device, e->device, e->device, e->slice->unit->stream_index,
                        e->slice->unit->stream);
  return put(writer, text, length);
}

static dp_status put_entries(dp_file_writer *writer, const dp_trace *trace, const dp_graph *const *graphs,
                             const entry *entries, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const entry *e = &entries[i], *before = i ? &entries[i - 1] : NULL;
    bool same =
        before && before->device == e->device && before->slice->unit->stream_index == e->slice->unit->stream_index;
    if (!same) DP_TRY(put_track(writer, e, i == 0));
    const char *program = graphs[e->slice->program]->name;
    if (same && before->slice->end_ns < e->slice->begin_ns)
      DP_TRY(put_slice(writer, trace, e, "wait", program, before->slice->end_ns, e->slice->begin_ns));
    DP_TRY(put_slice(writer, trace, e, e->slice->unit->instruction->op, program, e->slice->begin_ns, e->slice->end_ns));
  }
  return DP_OK;
}

dp_status dp_trace_write(const dp_trace *trace, const dp_graph *const *graphs, const char *path) {
  size_t slices = atomic_load(&trace->count), count = 0;
  if (slices > trace->capacity) slices = trace->capacity;
  for (size_t i = 0; i < slices; i++) count += (size_t)trace->slices[i].unit->n_devices;
  entry *entries = malloc((count + 1) * sizeof *entries);
  if (!entries) return dp_fail(DP_EX_MEMORY, "%s: no memory to sort the trace", path);
  count = 0;
  for (size_t i = 0; i < slices; i++)
    for (int m = 0; m < trace->slices[i].unit->n_devices; m++)
      entries[count++] = (entry){trace->slices[i].unit->devices[m], &trace->slices[i]};
  qsort(entries, count, sizeof *entries, by_track_and_time);
  dp_file_writer writer;
  dp_status status = dp_file_writer_open(path, &writer);
  if (!status) {
    status = put(&writer, "{\"traceEvents\":[\n", 17);
    if (!status) status = put_entries(&writer, trace, graphs, entries, count);
    if (!status) status = put(&writer, "\n]}\n", 4);
    if (!status)
      status = dp_file_writer_commit(&writer);
    else
      dp_file_writer_abandon(&writer);
  }
  free(entries);
  return status;
}
