// See safetensors.h.
#include "ir/file/safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/kind.h"

enum { MAX_HEADER_BYTES = 100 << 20, ALIGNMENT = 8 };

static const struct {
  const char *name;
  dp_dtype dtype;
} dtypes[] = {{"F32", DP_FLOAT32}, {"F64", DP_FLOAT64}, {"I64", DP_INT64},    {"I32", DP_INT32},  {"U8", DP_UINT8},
              {"BOOL", DP_BOOL},   {"I8", DP_INT8},     {"I16", DP_INT16},    {"U16", DP_UINT16}, {"U32", DP_UINT32},
              {"U64", DP_UINT64},  {"F16", DP_FLOAT16}, {"BF16", DP_BFLOAT16}};

static dp_dtype dtype_of(const char *name) {
  for (size_t i = 0; i < DP_COUNT(dtypes); i++)
    if (!strcmp(dtypes[i].name, name)) return dtypes[i].dtype;
  return DP_NO_TYPE;
}

static const char *name_of(dp_dtype dtype) {
  for (size_t i = 0; i < DP_COUNT(dtypes); i++)
    if (dtypes[i].dtype == dtype) return dtypes[i].name;
  return "?";
}

// ---- reading --------------------------------------------------------------------------------------------------------

// offset: from the start of the data.
static dp_status read_entry(const char *name, const json_t *entry, uint64_t data_bytes, dp_safetensor *item) {
  const json_t *dtype = json_object_get(entry, "dtype"), *shape = json_object_get(entry, "shape"),
               *offsets = json_object_get(entry, "data_offsets");
  if (!json_is_string(dtype) || !json_is_array(shape) || json_array_size(offsets) != 2)
    return dp_fail(EX_DATAERR, "tensor '%s' lacks dtype, shape or data_offsets", name);
  dp_tensor t = {.dtype = dtype_of(json_string_value(dtype)), .rank = (int)json_array_size(shape)};
  if (!t.dtype)
    return dp_fail(EX_DATAERR, "tensor '%s' has type '%s', which is unknown", name, json_string_value(dtype));
  if (json_array_size(shape) > DP_MAX_RANK)
    return dp_fail(EX_DATAERR, "tensor '%s' has rank %zu; at most %d is supported", name, json_array_size(shape),
                   DP_MAX_RANK);
  uint64_t bytes = dp_type_bytes(t.dtype);
  for (int i = 0; i < t.rank; i++) {
    const json_t *extent = json_array_get(shape, (size_t)i);
    t.extents[i] = json_integer_value(extent);
    if (!json_is_integer(extent) || t.extents[i] < 0 || __builtin_mul_overflow(bytes, (uint64_t)t.extents[i], &bytes))
      return dp_fail(EX_DATAERR, "tensor '%s' has an invalid shape", name);
  }
  const json_t *first = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
  int64_t b = json_integer_value(first), e = json_integer_value(end);
  if (!json_is_integer(first) || !json_is_integer(end) || b < 0 || e < b || (uint64_t)e > data_bytes ||
      (uint64_t)(e - b) != bytes)
    return dp_fail(EX_DATAERR, "tensor '%s' of %llu bytes lies at [%lld, %lld) of %llu", name,
                   (unsigned long long)bytes, (long long)b, (long long)e, (unsigned long long)data_bytes);
  t.bytes = bytes;
  item->tensor = t;
  item->offset = (uint64_t)b;
  return DP_OK;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const dp_safetensor *)a)->name, ((const dp_safetensor *)b)->name);
}

static int by_place(const void *a, const void *b) {
  const dp_safetensor *x = a, *y = b;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  return (x->tensor.bytes > y->tensor.bytes) - (x->tensor.bytes < y->tensor.bytes);
}

static dp_status check_cover(dp_safetensor *tensors, size_t count, uint64_t data_bytes) {
  if (count) qsort(tensors, count, sizeof *tensors, by_place);
  uint64_t at = 0;
  for (size_t i = 0; i < count; i++) {
    if (tensors[i].offset != at)
      return dp_fail(EX_DATAERR, "tensor '%s' overlaps another one or leaves a gap before it", tensors[i].name);
    at += tensors[i].tensor.bytes;
  }
  if (at != data_bytes)
    return dp_fail(EX_DATAERR, "%llu bytes after the last tensor", (unsigned long long)(data_bytes - at));
  return DP_OK;
}

static dp_status read_entries(dp_arena *arena, json_t *header, uint64_t data_at, dp_safetensors *file) {
  const char *name;
  json_t *entry;
  const uint64_t data_bytes = file->reader.bytes - data_at;
  json_object_foreach(header, name, entry) {
    if (!strcmp(name, DP_SAFETENSORS_METADATA)) continue;
    dp_safetensor item = {.name = dp_strdup(arena, name)};
    DP_TRY(read_entry(name, entry, data_bytes, &item));
    DP_PUSH(arena, file->tensors, file->count, item);
  }
  DP_TRY(check_cover(file->tensors, file->count, data_bytes));
  for (size_t i = 0; i < file->count; i++) file->tensors[i].offset += data_at;
  if (file->count) qsort(file->tensors, file->count, sizeof *file->tensors, by_name);
  return DP_OK;
}

static dp_status read_text(const dp_file_reader *reader, uint64_t header_bytes, char *text, json_t **header) {
  json_error_t error;
  DP_TRY(dp_file_reader_read(reader, sizeof header_bytes, text, (size_t)header_bytes));
  *header = json_loadb(text, (size_t)header_bytes, JSON_REJECT_DUPLICATES, &error);
  if (json_is_object(*header)) return DP_OK;
  dp_status status = dp_fail(EX_DATAERR, "header: %s", *header ? "not an object" : error.text);
  json_decref(*header);
  return status;
}

static dp_status read_header(dp_arena *arena, dp_safetensors *file) {
  uint64_t header_bytes;
  const dp_file_reader *reader = &file->reader;
  if (reader->bytes < sizeof header_bytes)
    return dp_fail(EX_DATAERR, "%zu bytes are too few for a safetensors file", reader->bytes);
  DP_TRY(dp_file_reader_read(reader, 0, &header_bytes, sizeof header_bytes));
  if (header_bytes > reader->bytes - sizeof header_bytes || header_bytes > MAX_HEADER_BYTES)
    return dp_fail(EX_DATAERR, "header of %llu bytes in a file of %zu", (unsigned long long)header_bytes,
                   reader->bytes);
  char *text = malloc((size_t)header_bytes + 1);
  if (!text)
    return dp_fail(DP_EX_MEMORY, "out of memory: cannot hold a header of %llu bytes", (unsigned long long)header_bytes);
  json_t *header;
  dp_status status = read_text(reader, header_bytes, text, &header);
  free(text);
  if (status) return status;
  status = read_entries(arena, header, sizeof header_bytes + header_bytes, file);
  json_decref(header);
  return status;
}

// Names the file's kind when it has no header and its kind is known; otherwise `status` says what is wrong.
static dp_status describe(const char *path, const dp_file_reader *reader, dp_status status) {
  uint8_t head[4096];
  size_t bytes = reader->bytes < sizeof head ? reader->bytes : sizeof head;
  dp_status unread = dp_file_reader_read(reader, 0, head, bytes);
  bool named = !unread && dp_file_kind_of(head, bytes) && (bytes <= 8 || head[8] != '{');
  dp_status_free(unread);
  if (!named) return dp_status_context(status, "%s", path);
  dp_status_free(status);
  return dp_file_kind_refuse(path, head, bytes, "weights (.safetensors)");
}

dp_status dp_safetensors_open(dp_arena *arena, const char *path, dp_safetensors *file) {
  dp_safetensors f = {0};
  DP_TRY(dp_file_reader_open(path, &f.reader));
  dp_status status = read_header(arena, &f);
  if (status) {
    status = describe(path, &f.reader, status);
    dp_safetensors_close(&f);
    return status;
  }
  *file = f;
  return DP_OK;
}

const dp_safetensor *dp_safetensors_find(const dp_safetensors *file, const char *name) {
  dp_safetensor key = {.name = name};
  return file->count ? bsearch(&key, file->tensors, file->count, sizeof key, by_name) : NULL;
}

dp_status dp_safetensors_read(const dp_safetensors *file, const dp_safetensor *tensor, void *data) {
  return dp_file_reader_read(&file->reader, tensor->offset, data, tensor->tensor.bytes);
}

void dp_safetensors_close(dp_safetensors *file) {
  dp_file_reader_close(&file->reader);
  *file = (dp_safetensors){0};
}

// ---- writing --------------------------------------------------------------------------------------------------------

// The header as text, padded with spaces to align the data. NULL: out of memory.
static char *make_header(const dp_safetensor *tensors, size_t count, size_t *bytes) {
  json_t *header = json_object();
  uint64_t at = 0;
  for (size_t i = 0; header && i < count; i++) {
    const dp_tensor *t = &tensors[i].tensor;
    json_t *shape = json_array();
    for (int d = 0; d < t->rank; d++) json_array_append_new(shape, json_integer(t->extents[d]));
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", name_of(t->dtype), "shape", shape, "data_offsets",
                              (json_int_t)at, (json_int_t)(at + t->bytes));
    json_object_set_new(header, tensors[i].name, entry);
    at += t->bytes;
  }
  char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
  json_decref(header);
  if (!text) return NULL;
  size_t length = strlen(text), padded = (size_t)dp_align_up(length, ALIGNMENT);
  char *larger = realloc(text, padded + 1);
  if (!larger) {
    free(text);
    return NULL;
  }
  memset(larger + length, ' ', padded - length);
  *bytes = padded;
  return larger;
}

// Two tensors of one name would share one entry of the header; the reserved name is not a tensor's.
static dp_status check_names(const char *path, const dp_safetensor *tensors, size_t count) {
  json_t *seen = json_object();
  dp_status status = DP_OK;
  for (size_t i = 0; i < count && !status; i++) {
    const char *name = tensors[i].name;
    if (!strcmp(name, DP_SAFETENSORS_METADATA))
      status = dp_fail(EX_DATAERR, "%s: no tensor can be called '%s', which the format reserves", path, name);
    else if (json_object_get(seen, name))
      status = dp_fail(EX_DATAERR, "%s: two tensors are called '%s'", path, name);
    else if (json_object_set_new(seen, name, json_true()))
      status = dp_fail(EX_DATAERR, "%s: the name of tensor %zu is not UTF-8", path, i);
  }
  json_decref(seen);
  return status;
}

static dp_status write_tensors(dp_file_writer *writer, const dp_safetensor *tensors, size_t count,
                               dp_safetensors_source *source, void *context) {
  for (size_t i = 0; i < count; i++) {
    const void *data = NULL;
    DP_TRY(source(context, i, &data));
    DP_TRY(dp_file_writer_write(writer, data, tensors[i].tensor.bytes));
  }
  return DP_OK;
}

static dp_status write_file(const char *path, bool bypass_cache, const dp_safetensor *tensors, size_t count,
                            dp_safetensors_source *source, void *context) {
  DP_TRY(check_names(path, tensors, count));
  size_t header_bytes = 0;
  char *header = make_header(tensors, count, &header_bytes);
  if (!header) return dp_fail(DP_EX_MEMORY, "%s: out of memory: cannot hold its header", path);
  dp_file_writer writer;
  dp_status status = dp_file_writer_open(path, &writer);
  if (status) {
    free(header);
    return status;
  }
  if (bypass_cache) dp_file_writer_bypass_cache(&writer);
  uint64_t length = header_bytes;
  status = dp_file_writer_write(&writer, &length, sizeof length);
  if (!status) status = dp_file_writer_write(&writer, header, header_bytes);
  if (!status) status = write_tensors(&writer, tensors, count, source, context);
  free(header);
  if (!status) return dp_file_writer_commit(&writer);
  dp_file_writer_abandon(&writer);
  return status;
}

dp_status dp_safetensors_write_from(const char *path, const dp_safetensor *tensors, size_t count,
                                    dp_safetensors_source *source, void *context) {
  return write_file(path, true, tensors, count, source, context);
}

static dp_status in_memory(void *context, size_t index, const void **data) {
  const dp_safetensor *tensors = context;
  *data = tensors[index].tensor.data;
  return DP_OK;
}

dp_status dp_safetensors_write(const char *path, const dp_safetensor *tensors, size_t count) {
  return write_file(path, false, tensors, count, in_memory, (void *)(uintptr_t)tensors);
}
