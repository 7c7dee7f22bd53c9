// See tensorboard.h.
#include "runtime/tensorboard/tensorboard.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ir/base/stream.h"
#include "runtime/tensorboard/crc32c.h"
#include "runtime/tensorboard/event.pb-c.h"

enum { FLUSH_SECONDS = 2, STATUS_START = 1, TYPE_STRING = 7 };

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- records --------------------------------------------------------------------------------------------------------

static void put_little_endian(uint64_t number, int bytes, uint8_t *at) {
  for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(number >> 8 * i);
}

// A checksum is stored masked, so that one of data that holds checksums stays a good one.
static uint32_t masked_crc(const void *data, size_t bytes) {
  const uint32_t crc = dp_crc32c(data, bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

static void write_record(dp_tensorboard *board, const uint8_t *data, size_t bytes) {
  uint8_t head[12], tail[4];
  put_little_endian(bytes, 8, head);
  put_little_endian(masked_crc(head, 8), 4, head + 8);
  put_little_endian(masked_crc(data, bytes), 4, tail);
  fwrite(head, 1, sizeof head, board->file);
  fwrite(data, 1, bytes, board->file);
  fwrite(tail, 1, sizeof tail, board->file);
  dp_stream_watch(board->file, &board->error);
}

static void write_event(dp_tensorboard *board, DpEvent__Event *event) {
  if (!board->file) return;
  event->wall_time = now_s();
  const size_t bytes = dp_event__event__get_packed_size(event);
  uint8_t *data = malloc(bytes);
  if (!data) {
    board->out_of_memory = true;
    return;
  }
  dp_event__event__pack(event, data);
  write_record(board, data, bytes);
  free(data);
  if (event->wall_time - board->flushed_s < FLUSH_SECONDS) return;
  dp_stream_flush(board->file, &board->error);
  board->flushed_s = event->wall_time;
}

static void write_value(dp_tensorboard *board, int64_t step, DpEvent__Value *value) {
  DpEvent__Value *values[] = {value};
  DpEvent__Summary summary = DP_EVENT__SUMMARY__INIT;
  DpEvent__Event event = DP_EVENT__EVENT__INIT;
  summary.n_value = 1;
  summary.value = values;
  event.step = step;
  event.summary = &summary;
  write_event(board, &event);
}

// ---- events ---------------------------------------------------------------------------------------------------------

// Protobuf's C structs have strings that can be written to; packing only reads them.
static char *string(const char *text) { return (char *)(uintptr_t)text; }

dp_status dp_tensorboard_open(dp_arena *arena, const char *folder, dp_tensorboard *board) {
  char host[64] = "";
  if (mkdir(folder, 0777) && errno != EEXIST)
    return dp_fail(EX_CANTCREAT, "--tensorboard=%s: cannot be made: %s", folder, strerror(errno));
  gethostname(host, sizeof host - 1);
  for (char *c = host; *c; c++)
    if (*c == '/') *c = '-';
  // TensorBoard looks for the middle of the name, and reads the files of a folder in the order of their names.
  const char *path =
      dp_printf(arena, "%s/events.out.tfevents.%010lld.%s.%d", folder, (long long)now_s(), host, (int)getpid());
  FILE *file = fopen(path, "wxe");
  if (!file) return dp_fail(EX_CANTCREAT, "%s: cannot be written: %s", path, strerror(errno));
  *board = (dp_tensorboard){.path = path, .file = file};
  DpEvent__Event event = DP_EVENT__EVENT__INIT;
  event.file_version = string("brain.Event:2");
  write_event(board, &event);
  return DP_OK;
}

void dp_tensorboard_go_on(dp_tensorboard *board, int64_t step) {
  DpEvent__SessionLog log = DP_EVENT__SESSION_LOG__INIT;
  DpEvent__Event event = DP_EVENT__EVENT__INIT;
  log.status = STATUS_START;
  event.step = step + 1;
  event.session_log = &log;
  write_event(board, &event);
}

void dp_tensorboard_scalar(dp_tensorboard *board, int64_t step, const char *tag, double number) {
  DpEvent__Value value = DP_EVENT__VALUE__INIT;
  value.tag = string(tag);
  value.value_case = DP_EVENT__VALUE__VALUE_SIMPLE_VALUE;
  value.simple_value = (float)number;
  write_value(board, step, &value);
}

void dp_tensorboard_text(dp_tensorboard *board, int64_t step, const char *tag, const char *text) {
  DpEvent__PluginData plugin = DP_EVENT__PLUGIN_DATA__INIT;
  DpEvent__Metadata metadata = DP_EVENT__METADATA__INIT;
  DpEvent__Shape shape = DP_EVENT__SHAPE__INIT;
  DpEvent__Tensor tensor = DP_EVENT__TENSOR__INIT;
  DpEvent__Value value = DP_EVENT__VALUE__INIT;
  ProtobufCBinaryData data = {strlen(text), (uint8_t *)string(text)};
  plugin.plugin_name = string("text");
  metadata.plugin_data = &plugin;
  tensor.dtype = TYPE_STRING;
  tensor.tensor_shape = &shape;
  tensor.n_string_val = 1;
  tensor.string_val = &data;
  value.tag = string(tag);
  value.metadata = &metadata;
  value.value_case = DP_EVENT__VALUE__VALUE_TENSOR;
  value.tensor = &tensor;
  write_value(board, step, &value);
}

// ---- histograms -----------------------------------------------------------------------------------------------------

void dp_histogram_make(const double *numbers, size_t count, dp_histogram *histogram, size_t *not_finite) {
  dp_histogram h = {.min = INFINITY, .max = -INFINITY};
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(numbers[i])) continue;
    if (numbers[i] < h.min) h.min = numbers[i];
    if (numbers[i] > h.max) h.max = numbers[i];
    h.sum += numbers[i];
    h.squares += numbers[i] * numbers[i];
    h.count++;
  }
  const double width = (h.max - h.min) / DP_HISTOGRAM_PARTS;
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(numbers[i])) continue;
    const int part = width > 0 ? (int)((numbers[i] - h.min) / width) : 0;
    h.parts[part < DP_HISTOGRAM_PARTS ? part : DP_HISTOGRAM_PARTS - 1]++;
  }
  *not_finite = count - (size_t)h.count;
  *histogram = h;
}

void dp_tensorboard_histogram(dp_tensorboard *board, int64_t step, const char *tag, const dp_histogram *h) {
  double limits[DP_HISTOGRAM_PARTS], counts[DP_HISTOGRAM_PARTS];
  DpEvent__Histogram histogram = DP_EVENT__HISTOGRAM__INIT;
  DpEvent__Value value = DP_EVENT__VALUE__INIT;
  if (!h->count) return;
  for (int i = 0; i < DP_HISTOGRAM_PARTS; i++) {
    limits[i] = i == DP_HISTOGRAM_PARTS - 1 ? h->max : h->min + (h->max - h->min) * (i + 1) / DP_HISTOGRAM_PARTS;
    counts[i] = (double)h->parts[i];
  }
  histogram.min = h->min;
  histogram.max = h->max;
  histogram.num = (double)h->count;
  histogram.sum = h->sum;
  histogram.sum_squares = h->squares;
  histogram.n_bucket_limit = histogram.n_bucket = DP_HISTOGRAM_PARTS;
  histogram.bucket_limit = limits;
  histogram.bucket = counts;
  value.tag = string(tag);
  value.value_case = DP_EVENT__VALUE__VALUE_HISTO;
  value.histo = &histogram;
  write_value(board, step, &value);
}

dp_status dp_tensorboard_close(dp_tensorboard *board) {
  if (!board->file) return DP_OK;
  const int error = dp_stream_close(board->file, board->error);
  board->file = NULL;
  if (board->out_of_memory) return dp_fail(DP_EX_MEMORY, "%s: out of memory while it was written", board->path);
  return error ? dp_fail(EX_IOERR, "%s: cannot be written: %s", board->path, strerror(error)) : DP_OK;
}
