// Opens data: finds the file, its part and its format. See data.h.
#include "runtime/data/data.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/base/file.h"
#include "ir/base/kind.h"
#include "runtime/data/format.h"
#include "runtime/data/several.h"

enum { HEAD_BYTES = 4096 };

#define DP_DATA_FORMAT(name) extern const dp_data_format dp_data_format_##name;
#include "runtime/data/formats.h"
#undef DP_DATA_FORMAT

const dp_data_format *const dp_data_formats[] = {
#define DP_DATA_FORMAT(name) &dp_data_format_##name,
#include "runtime/data/formats.h"
#undef DP_DATA_FORMAT
    NULL,
};

// ---- what was asked for ---------------------------------------------------------------------------------------------

static bool is_there(const char *path) { return dp_file_is_standard(path) || !access(path, F_OK); }

// Divides "FILE:PART". *part: NULL if there is none.
static void divide(dp_arena *arena, const char *text, const char **path, const char **part) {
  const char *colon = strrchr(text, ':');
  *path = text;
  *part = NULL;
  if (!colon || colon == text || is_there(text)) return;
  const char *before = dp_strndup(arena, text, (size_t)(colon - text));
  if (!is_there(before) && !dp_several_is_pattern(before)) return;
  *path = before;
  *part = dp_strdup(arena, colon + 1);
}

const char *dp_data_path(dp_arena *arena, const char *text) {
  const char *path, *part;
  divide(arena, text, &path, &part);
  return dp_several_is_pattern(path) && !is_there(path) ? NULL : path;
}

int dp_data_paths(dp_arena *arena, const char *text, const char ***paths) {
  const char *path, *part, *one = dp_data_path(arena, text);
  int n = 0;
  if (!one) {
    divide(arena, text, &path, &part);
    return dp_several_list(arena, path, paths);
  }
  *paths = NULL;
  DP_PUSH(arena, *paths, n, one);
  return n;
}

bool dp_data_wanted(const dp_data_request *request, int64_t extents[DP_MAX_RANK], int *rank, int64_t *count) {
  if (request->batch_dim < 0) return false;
  *rank = 0;
  *count = 1;
  for (int d = 0; d < request->input->shape.rank; d++) {
    if (d == request->batch_dim) continue;
    extents[(*rank)++] = request->input->shape.dims[d].offset;
    *count *= request->input->shape.dims[d].offset;
  }
  return true;
}

dp_bytes dp_data_take(dp_data_file *file) {
  const dp_bytes taken = file->bytes;
  file->bytes = (dp_bytes){.fd = -1};
  return taken;
}

// ---- opening --------------------------------------------------------------------------------------------------------

static bool is_folder(const char *path) {
  struct stat st;
  return !dp_file_is_standard(path) && !stat(path, &st) && S_ISDIR(st.st_mode);
}

static dp_status open_as(dp_data_file *file, const dp_data_format *format, dp_data *data) {
  if (file->part && !format->has_parts)
    return dp_fail(EX_USAGE, "%s:%s: %s has no parts: give its name alone", file->path, file->part, format->what);
  data->format = format;
  dp_status status = format->open(file, data);
  if (status) format->close(data);
  return status;
}

static dp_status recognise(dp_data_file *file, dp_data *data) {
  for (int i = 0; dp_data_formats[i]; i++)
    if (dp_data_formats[i]->recognise(file)) return open_as(file, dp_data_formats[i], data);
  if (file->folder) return dp_fail(EX_DATAERR, "%s: a folder without folders of pictures in it", file->path);
  return dp_file_kind_refuse(file->path, file->head, file->n_head,
                             "data as IDX, .npy, .npz, .csv, .tar, or another of docs/running.md");
}

dp_status dp_data_open_file(dp_arena *arena, const char *path, const char *part, const dp_data_request *request,
                            dp_data *data) {
  uint8_t *head = dp_alloc(arena, HEAD_BYTES);
  dp_data_file file = {.arena = arena, .path = path, .part = part, .request = request, .head = head, .bytes.fd = -1};
  file.folder = is_folder(path);
  if (!file.folder) {
    DP_TRY(dp_bytes_open(path, DP_BYTES_HELD / (uint64_t)(request->files ? request->files : 1), &file.bytes));
    file.n_head = file.bytes.size < HEAD_BYTES ? file.bytes.size : HEAD_BYTES;
    dp_status status = dp_bytes_read(&file.bytes, 0, head, file.n_head);
    if (!status) status = recognise(&file, data);
    dp_bytes_close(&file.bytes);
    return status;
  }
  return recognise(&file, data);
}

dp_status dp_data_open(dp_arena *arena, const char *text, const dp_data_request *request, dp_data **data) {
  dp_data *d = dp_alloc(arena, sizeof *d);
  const char *path, *part;
  divide(arena, text, &path, &part);
  d->name = text;
  if (dp_several_is_pattern(path) && !is_there(path))
    DP_TRY(dp_several_open(arena, path, part, request, d));
  else
    DP_TRY(dp_data_open_file(arena, path, part, request, d));
  *data = d;
  return DP_OK;
}

void dp_data_close(dp_data *data) {
  if (data && data->format) data->format->close(data);
}

// ---- a tensor in memory ---------------------------------------------------------------------------------------------

static dp_status read_tensor(const dp_data *data, int64_t first, int64_t count, void *target) {
  const size_t bytes = dp_data_sample_bytes(data);
  if (count && bytes) memcpy(target, (const char *)data->state + (size_t)first * bytes, (size_t)count * bytes);
  return DP_OK;
}

static void close_tensor(dp_data *data) { (void)data; }

dp_data *dp_data_of_tensor(dp_arena *arena, const char *name, const dp_tensor *tensor) {
  static const dp_data_format format = {.what = "a tensor", .read = read_tensor, .close = close_tensor};
  dp_data *data = dp_alloc(arena, sizeof *data);
  *data = (dp_data){.format = &format, .name = name, .dtype = tensor->dtype, .rank = tensor->rank};
  memcpy(data->extents, tensor->extents, sizeof data->extents);
  data->state = (void *)(uintptr_t)tensor->data;
  return data;
}

// ---- reading --------------------------------------------------------------------------------------------------------

int64_t dp_data_samples(const dp_data *data) { return data->rank ? data->extents[0] : 1; }

size_t dp_data_sample_bytes(const dp_data *data) {
  size_t bytes = dp_type_bytes(data->dtype);
  for (int i = 1; i < data->rank; i++) bytes *= (size_t)data->extents[i];
  return bytes;
}

void dp_data_add_fault(dp_arena *arena, dp_data *data, int64_t record, const char *why) {
  enum { MAX_FAULTS = 256 };  // a file of nothing else takes no memory out of proportion
  if (data->n_faults == MAX_FAULTS) return;
  const dp_data_fault fault = {record, dp_strdup(arena, why)};
  DP_PUSH(arena, data->faults, data->n_faults, fault);
}

void dp_data_mark_broken(dp_arena *arena, dp_data *data, int64_t samples, int64_t record, dp_status why) {
  if (!data->broken) data->broken = dp_alloc_n(arena, (size_t)samples, sizeof *data->broken);
  data->broken[record] = true;
  dp_data_add_fault(arena, data, record, dp_status_message(why));
  dp_status_free(why);
}

static dp_status refuse_broken(const dp_data *data, int64_t record) {
  for (int i = 0; i < data->n_faults; i++)
    if (data->faults[i].record == record) return dp_fail(EX_DATAERR, "%s", data->faults[i].why);
  return dp_fail(EX_DATAERR, "%s: record %lld cannot be read", data->name, (long long)record);
}

dp_status dp_data_read(const dp_data *data, int64_t first, int64_t count, void *target) {
  for (int64_t i = first; data->broken && i < first + count; i++)
    if (data->broken[i]) return refuse_broken(data, i);
  return data->format->read(data, first, count, target);
}
