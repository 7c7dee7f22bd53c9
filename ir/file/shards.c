// See shards.h.
#include "ir/file/shards.h"

#include <jansson.h>
#include <string.h>

#include "ir/base/names.h"

enum { MAX_INDEX_BYTES = 100 << 20 };

// ---- the index ------------------------------------------------------------------------------------------------------

// The index's files, and which of them each tensor is in.
typedef struct {
  dp_arena *arena;
  dp_names *numbers;   // of the files
  const char **names;  // of the files, as the index has them
  int count;
  dp_names *of_tensor;  // tensor -> number of its file
  size_t n_tensors;
} listing;

static dp_status add_entry(listing *l, const char *tensor, const json_t *value) {
  const char *file = json_string_value(value);
  if (!file) return dp_fail(EX_DATAERR, "tensor '%s' has no file", tensor);
  if (!*file || strchr(file, '/') || !strcmp(file, ".") || !strcmp(file, ".."))
    return dp_fail(EX_DATAERR, "tensor '%s' is in '%s', which is not the name of a file beside the index", tensor,
                   file);
  int32_t number = dp_names_find(l->numbers, file);
  if (number < 0) {
    const char *name = dp_strdup(l->arena, file);
    number = l->count;
    dp_names_add(l->numbers, name, number);
    DP_PUSH(l->arena, l->names, l->count, name);
  }
  dp_names_add(l->of_tensor, dp_strdup(l->arena, tensor), number);
  l->n_tensors++;
  return DP_OK;
}

static dp_status read_map(listing *l, json_t *index) {
  json_t *map = json_object_get(index, "weight_map"), *value;
  const char *tensor;
  if (!json_is_object(map)) return dp_fail(EX_DATAERR, "not an index of safetensors files: it has no 'weight_map'");
  json_object_foreach(map, tensor, value) DP_TRY(add_entry(l, tensor, value));
  return DP_OK;
}

static dp_status read_index(dp_arena *arena, const char *path, listing *l) {
  uint8_t *text;
  size_t bytes;
  json_error_t error;
  *l = (listing){.arena = arena, .numbers = dp_names_create(arena), .of_tensor = dp_names_create(arena)};
  DP_TRY(dp_file_read(arena, path, MAX_INDEX_BYTES, &text, &bytes));
  json_t *index = json_loadb((const char *)text, bytes, JSON_REJECT_DUPLICATES, &error);
  dp_status status = index ? read_map(l, index) : dp_fail(EX_DATAERR, "not JSON: %s", error.text);
  json_decref(index);
  return status;
}

// ---- the files ------------------------------------------------------------------------------------------------------

static dp_status check_file(const listing *l, int number, const dp_safetensors *file, size_t *n_tensors) {
  for (size_t i = 0; i < file->count; i++) {
    const int32_t said = dp_names_find(l->of_tensor, file->tensors[i].name);
    if (said != number)
      return dp_fail(EX_DATAERR, "tensor '%s' is in %s, but the index %s%s", file->tensors[i].name, l->names[number],
                     said < 0 ? "does not have it" : "says ", said < 0 ? "" : l->names[said]);
  }
  *n_tensors += file->count;
  return DP_OK;
}

static dp_status open_files(const listing *l, const char *path, dp_shards *shards) {
  const char *slash = strrchr(path, '/');
  const int length = slash ? (int)(slash - path) + 1 : 0;
  size_t n_tensors = 0;
  shards->files = dp_alloc_n(l->arena, (size_t)l->count, sizeof *shards->files);
  for (int i = 0; i < l->count; i++) {
    const char *file = dp_printf(l->arena, "%.*s%s", length, path, l->names[i]);
    DP_TRY(dp_safetensors_open(l->arena, file, &shards->files[i]));
    shards->count++;
    DP_TRY(check_file(l, i, &shards->files[i], &n_tensors));
  }
  if (n_tensors != l->n_tensors)
    return dp_fail(EX_DATAERR, "it lists %zu tensors, but its files have %zu of them", l->n_tensors, n_tensors);
  return DP_OK;
}

static bool is_index(const char *path) {
  const size_t length = strlen(path);
  return length >= 5 && !strcmp(path + length - 5, ".json");
}

dp_status dp_shards_open(dp_arena *arena, const char *path, dp_shards *shards) {
  dp_shards s = {0};
  dp_status status;
  if (is_index(path)) {
    listing l;
    status = read_index(arena, path, &l);
    if (!status) status = open_files(&l, path, &s);
    status = dp_status_context(status, "%s", path);
  } else {
    s.files = dp_alloc(arena, sizeof *s.files);
    status = dp_safetensors_open(arena, path, s.files);
    s.count = !status;
  }
  if (status)
    dp_shards_close(&s);
  else
    *shards = s;
  return status;
}

void dp_shards_close(dp_shards *shards) {
  for (int i = 0; i < shards->count; i++) dp_safetensors_close(&shards->files[i]);
  *shards = (dp_shards){0};
}
