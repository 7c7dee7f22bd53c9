// See metrics.h. A loss that is not finite is written as null: JSON has no word for it.
#include "runtime/metrics.h"

#include <errno.h>
#include <math.h>
#include <string.h>

dp_status dp_metrics_open(const char *path, int loss_digits, dp_metrics *metrics) {
  dp_metrics m = {path, path ? fopen(path, "we") : NULL, loss_digits};
  if (path && !m.file) return dp_fail(EX_CANTCREAT, "%s: cannot be written: %s", path, strerror(errno));
  *metrics = m;
  return DP_OK;
}

static void put_number(dp_metrics *metrics, const char *name, int digits, double number) {
  if (isfinite(number))
    fprintf(metrics->file, ",\"%s\":%.*g", name, digits, number);
  else
    fprintf(metrics->file, ",\"%s\":null", name);
}

void dp_metrics_step(dp_metrics *metrics, int64_t step, int64_t epoch, double loss, double lr, int64_t samples,
                     double ms) {
  if (!metrics->file) return;
  fprintf(metrics->file, "{\"event\":\"step\",\"step\":%lld,\"epoch\":%lld", (long long)step, (long long)epoch);
  put_number(metrics, "loss", metrics->loss_digits, loss);
  put_number(metrics, "lr", 9, lr);
  fprintf(metrics->file, ",\"samples\":%lld,\"ms\":%.3f}\n", (long long)samples, ms);
}

void dp_metrics_eval(dp_metrics *metrics, int64_t epoch, double loss, double accuracy, int64_t samples) {
  if (!metrics->file) return;
  fprintf(metrics->file, "{\"event\":\"eval\",\"epoch\":%lld", (long long)epoch);
  put_number(metrics, "loss", metrics->loss_digits, loss);
  if (accuracy >= 0) put_number(metrics, "accuracy", 9, accuracy);
  fprintf(metrics->file, ",\"samples\":%lld}\n", (long long)samples);
  fflush(metrics->file);
}

void dp_metrics_infer(dp_metrics *metrics, int64_t samples, double ms) {
  if (metrics->file)
    fprintf(metrics->file, "{\"event\":\"infer\",\"samples\":%lld,\"ms\":%.3f}\n", (long long)samples, ms);
}

void dp_metrics_memory(dp_metrics *metrics, const dp_metrics_bytes *b) {
  if (!metrics->file) return;
  const struct {
    const char *name;
    uint64_t number;
  } fields[] = {
      {"devices", b->devices},
      {"persistent_bytes", b->persistent},
      {"transient_bytes", b->transient},
      {"host_input_bytes", b->host_input},
      {"host_output_bytes", b->host_output},
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
  fputs(b->n_stages ? "]}\n" : "}\n", metrics->file);
}

dp_status dp_metrics_close(dp_metrics *metrics) {
  if (!metrics->file) return DP_OK;
  bool failed = ferror(metrics->file) != 0;
  failed |= fclose(metrics->file) != 0;
  metrics->file = NULL;
  return failed ? dp_fail(EX_IOERR, "%s: cannot be written: %s", metrics->path, strerror(errno)) : DP_OK;
}
