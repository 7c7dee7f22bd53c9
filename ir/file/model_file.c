// Reading and writing model files. See model_file.h.
#include "ir/file/model_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/file.h"
#include "ir/base/kind.h"
#include "ir/file/external.h"
#include "ir/file/proto.h"
#include "ir/file/sources.h"
#include "ir/file/wire.h"
#include "ir/text/text.h"

// Text begins with a word, a comment or white space; a dp.Model begins with the tag of its version (0x08) or of a later
// field.
static bool is_text(const uint8_t *data, size_t bytes) {
  size_t i = bytes >= 3 && !memcmp(data, "\xef\xbb\xbf", 3) ? 3 : 0;  // a byte order mark
  while (i < bytes && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n')) i++;
  size_t left = bytes - i;
  return left &&
         (data[i] == '#' || (left >= 2 && !memcmp(data + i, "//", 2)) || (left >= 5 && !memcmp(data + i, "model", 5)));
}

// A protobuf may begin with any field, so a file is refused by its first bytes only when they belong to another known
// kind.
static bool is_other(const uint8_t *data, size_t bytes) {
  return !bytes || (dp_file_kind_of(data, bytes) && (bytes < 2 || memcmp(data, "\x08\x01", 2)));
}

dp_status dp_model_file_read(dp_arena *arena, const char *path, dp_model **model) {
  return dp_model_file_read_from(arena, path, NULL, 0, model);
}

dp_status dp_model_file_read_from(dp_arena *arena, const char *path, dp_model_source_reader *read_source, int depth,
                                  dp_model **model) {
  uint8_t *data;
  size_t bytes;
  ProtobufCMessage *message;
  DP_TRY(dp_file_read(arena, path, 0, &data, &bytes));
  if (is_text(data, bytes)) {
    const dp_text_sources sources = {dp_sources_create(arena, path, read_source, depth), dp_sources_find};
    return dp_text_parse_with(arena, path, (const char *)data, bytes, read_source && depth > 0 ? &sources : NULL,
                              model);
  }
  if (is_other(data, bytes))
    return dp_file_kind_refuse(path, data, bytes, "a model as text (.dpt), protobuf (.pb) or ONNX (.onnx)");
  const char *what =
      dp_printf(arena, "%s: neither a model's text, which begins with 'model', nor a complete protobuf", path);
  DP_TRY(dp_wire_unpack(arena, &dp__model__descriptor, data, bytes, what, &message));
  DP_TRY(dp_external_read(arena, message, path));
  return dp_status_context(dp_proto_to_model(arena, (const Dp__Model *)message, model), "%s", path);
}

static dp_status write_text(const dp_model *model, const char *path) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return dp_fail(DP_EX_MEMORY, "%s: out of memory while it was written", path);
  dp_text_print(model, out);
  bool good = !ferror(out);
  good &= !fclose(out);
  dp_status status =
      good ? dp_file_write(path, text, bytes) : dp_fail(DP_EX_MEMORY, "%s: out of memory while it was written", path);
  free(text);
  return status;
}

static dp_status write_proto(dp_arena *arena, const dp_model *model, const char *path) {
  uint8_t *data;
  size_t bytes;
  dp_external external;
  Dp__Model *message = dp_proto_from_model(arena, model);
  if (dp_file_is_standard(path))  // there is no file beside it
    external = (dp_external){0};
  else
    DP_TRY(dp_external_detach(arena, &message->base, &external));
  DP_TRY(dp_wire_pack(arena, &message->base, path, &data, &bytes));
  DP_TRY(dp_external_write(&external, path));
  return dp_file_write(path, data, bytes);
}

typedef struct {
  dp_arena *arena;
  const dp_model *model;
  const char *path;
} writing;

static dp_status write_in(void *arg) {
  const writing *w = arg;
  return write_proto(w->arena, w->model, w->path);
}

dp_status dp_model_file_write(const dp_model *model, const char *path) {
  size_t length = strlen(path);
  if (length >= 4 && !strcmp(path + length - 4, ".dpt")) return write_text(model, path);
  writing w = {dp_arena_create(0), model, path};
  if (!w.arena) return dp_fail(DP_EX_MEMORY, "%s: out of memory while it was written", path);
  dp_status status = dp_arena_run(w.arena, write_in, &w);
  dp_arena_destroy(w.arena);
  return status;
}
