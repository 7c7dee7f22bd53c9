// See metrics.h. A loss that is not finite is written as null, since JSON has no such numbers.
#include "runtime/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/base/file.h"
#include "ir/base/stream.h"

enum { POLL_MS = 100 };

static FILE *open_file(const char *path, bool go_on) {
  struct stat st;
  if (dp_file_is_standard(path)) return stdout;
  if (go_on && !stat(path, &st) && S_ISREG(st.st_mode)) return fopen(path, "r+e");
  const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  return file < 0 ? NULL : fdopen(file, "w");
}

dp_status dp_metrics_open(const char *path, int loss_digits, bool (*stopped)(void), bool go_on, dp_metrics *metrics) {
  FILE *file = path ? open_file(path, go_on) : NULL;
  dp_metrics m = {.path = path, .file = file, .loss_digits = loss_digits, .stopped = stopped};
  if (path && !file && errno == EINTR)
    return dp_fail(EX_TEMPFAIL, "interrupted while waiting for a reader of %s", path);
  if (path && !file) return dp_fail(EX_CANTCREAT, "%s: cannot be written: %s", path, strerror(errno));
  *metrics = m;
  return DP_OK;
}

static bool is_regular(const dp_metrics *metrics) {
  struct stat st;
  return metrics->file && metrics->file != stdout && !fstat(fileno(metrics->file), &st) && S_ISREG(st.st_mode);
}

dp_status dp_metrics_begin(dp_metrics *metrics) {
  if (!is_regular(metrics) || !ftruncate(fileno(metrics->file), 0)) return DP_OK;
  return dp_fail(EX_IOERR, "--metrics=%s: cannot be written: %s", metrics->path, strerror(errno));
}

// Whether a line is one that this file writes, of a step or evaluation before the given number of steps.
static bool is_before(const char *line, size_t length, int64_t steps) {
  char event[8];
  long long step;
  if (length < 2 || strcmp(line + length - 2, "}\n")) return false;
  if (sscanf(line, "{\"event\":\"%7[a-z]\",\"step\":%lld,", event, &step) != 2) return false;
  return step < steps || (step == steps && !strcmp(event, "step"));
}

dp_status dp_metrics_go_on(dp_metrics *metrics, int64_t steps) {
  FILE *file = metrics->file;
  if (!is_regular(metrics)) return DP_OK;
  char *line = NULL;
  size_t capacity = 0;
  off_t kept = 0;
  for (ssize_t length; (length = getline(&line, &capacity, file)) > 0 && is_before(line, (size_t)length, steps);)
    kept += length;
  free(line);
  clearerr(file);  // a new file is open for writing alone
  if (fseeko(file, kept, SEEK_SET) || ftruncate(fileno(file), kept))
    return dp_fail(EX_IOERR, "--metrics=%s: cannot be written: %s", metrics->path, strerror(errno));
  return DP_OK;
}

static void put_number(dp_metrics *metrics, const char *name, int digits, double number) {
  if (isfinite(number))
    fprintf(metrics->file, ",\"%s\":%.*g", name, digits, number);
  else
    fprintf(metrics->file, ",\"%s\":null", name);
}

// Whether a line can be written. The reader of standard output may be slow or gone: once the run is told to stop, do
// not wait for it. A pipe that reports room has room for more than a line.
static bool can_write(dp_metrics *metrics) {
  if (!metrics->file || metrics->given_up || metrics->error) return false;
  if (metrics->file != stdout) return true;
  struct pollfd output = {STDOUT_FILENO, POLLOUT, 0};
  while (poll(&output, 1, POLL_MS) <= 0)
    if (metrics->stopped && metrics->stopped()) return !(metrics->given_up = true);
  return true;
}

static void end_line(dp_metrics *metrics, const char *end) {
  fputs(end, metrics->file);
  dp_stream_watch(metrics->file, &metrics->error);
  if (metrics->file == stdout) dp_stream_flush(stdout, &metrics->error);
}

static void begin_line(dp_metrics *metrics, const char *event, const dp_metrics_measured *m) {
  fprintf(metrics->file, "{\"event\":\"%s\",\"step\":%lld,\"epoch\":%lld", event, (long long)m->step,
          (long long)m->epoch);
  put_number(metrics, "loss", metrics->loss_digits, m->loss);
}

static void put_numbers(dp_metrics *metrics, const dp_metrics_measured *m) {
  for (int i = 0; i < m->n_numbers; i++) put_number(metrics, m->numbers[i].name, 9, m->numbers[i].number);
}

static void put_confusion(dp_metrics *metrics, const dp_metrics_measured *m) {
  fputs(",\"confusion\":[", metrics->file);
  for (int64_t i = 0; i < m->classes * m->classes; i++)
    fprintf(metrics->file, "%s%lld%s",
            i % m->classes ? ","
            : i            ? ",["
                           : "[",
            (long long)m->confusion[i], i % m->classes == m->classes - 1 ? "]" : "");
  fputc(']', metrics->file);
}

void dp_metrics_step(dp_metrics *metrics, const dp_metrics_measured *m, double lr, double ms) {
  if (!can_write(metrics)) return;
  begin_line(metrics, "step", m);
  put_number(metrics, "lr", 9, lr);
  fprintf(metrics->file, ",\"samples\":%lld,\"ms\":%.3f", (long long)m->samples, ms);
  put_numbers(metrics, m);
  end_line(metrics, "}\n");
}

void dp_metrics_eval(dp_metrics *metrics, const dp_metrics_measured *m) {
  if (!can_write(metrics)) return;
  begin_line(metrics, "eval", m);
  put_numbers(metrics, m);
  fprintf(metrics->file, ",\"samples\":%lld", (long long)m->samples);
  if (m->confusion) put_confusion(metrics, m);
  end_line(metrics, "}\n");
  dp_metrics_flush(metrics);
}

void dp_metrics_infer(dp_metrics *metrics, int64_t samples, double ms) {
  if (!can_write(metrics)) return;
  fprintf(metrics->file, "{\"event\":\"infer\",\"samples\":%lld,\"ms\":%.3f", (long long)samples, ms);
  end_line(metrics, "}\n");
}

void dp_metrics_memory(dp_metrics *metrics, const dp_metrics_bytes *b) {
  if (!can_write(metrics)) return;
  const struct {
    const char *name;
    uint64_t number;
  } fields[] = {
      {"devices", b->devices},
      {"persistent_bytes", b->persistent},
      {"transient_bytes", b->transient},
      {"host_input_bytes", b->host_input},
      {"host_output_bytes", b->host_output},
      {"device_input_bytes", b->device_input},
      {"offload_bytes", b->offload},
      {"arena_bytes", b->arenas},
      {"arena_resident_bytes", b->arenas_resident},
      {"peak_resident_bytes", b->peak_resident},
      {"other_bytes", b->other},
  };
  fputs("{\"event\":\"memory\"", metrics->file);
  for (size_t i = 0; i < DP_COUNT(fields); i++)
    fprintf(metrics->file, ",\"%s\":%llu", fields[i].name, (unsigned long long)fields[i].number);
  for (size_t i = 0; i < b->n_stages; i++)
    fprintf(metrics->file, "%s{\"persistent_bytes\":%llu,\"transient_bytes\":%llu}", i ? "," : ",\"stages\":[",
            (unsigned long long)b->stages[i].persistent, (unsigned long long)b->stages[i].transient);
  end_line(metrics, b->n_stages ? "]}\n" : "}\n");
}

void dp_metrics_flush(dp_metrics *metrics) {
  if (metrics->file && metrics->file != stdout) dp_stream_flush(metrics->file, &metrics->error);
}

dp_status dp_metrics_close(dp_metrics *metrics) {
  FILE *file = metrics->file;
  int error = metrics->error;
  metrics->file = NULL;
  if (!file) return DP_OK;
  if (file != stdout)
    error = dp_stream_close(file, error);
  else if (error || metrics->given_up)
    __fpurge(stdout);  // else exit would try to write it again
  else
    dp_stream_flush(stdout, &error);
  if (!error && !metrics->given_up) return DP_OK;
  return dp_fail(EX_IOERR, "--metrics=%s: cannot be written: %s", metrics->path,
                 error ? strerror(error) : "nobody reads it");
}
