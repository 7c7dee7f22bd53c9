// Data that a text leaves in another model. See sources.h.
//
// A text may come from anyone, so it may name only a regular file in its own directory: no path, no symbolic link. Each
// such model is read once, and its tensors are found by the XXH3 of their bytes.
#include "ir/file/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ir/base/file.h"

typedef struct {
  uint64_t xxh3;
  const dp_tensor *tensor;
} known_tensor;

typedef struct {
  const char *file;
  int n_tensors;
  known_tensor *tensors;  // sorted by xxh3
} source;

struct dp_sources {
  dp_arena *arena;
  const char *text_path;
  dp_model_source_reader *read;
  int depth;
  int n_sources;
  source *sources;
};

dp_sources *dp_sources_create(dp_arena *arena, const char *text_path, dp_model_source_reader *read, int depth) {
  dp_sources *s = dp_alloc(arena, sizeof *s);
  *s = (dp_sources){.arena = arena, .text_path = text_path, .read = read, .depth = depth};
  return s;
}

static dp_status find_path(const dp_sources *s, const char *file, const char **path) {
  if (!*file)
    return dp_fail(EX_DATAERR, "the data was omitted from this text, and no file has it: `dpc show --data` prints it");
  if (strchr(file, '/') || !strcmp(file, "..") || !strcmp(file, ".") || dp_file_is_standard(file))
    return dp_fail(EX_DATAERR, "the data is said to be in '%s'; expected the name of a file beside the text", file);
  const char *slash = strrchr(s->text_path, '/');
  if (!strcmp(file, slash ? slash + 1 : s->text_path))
    return dp_fail(EX_DATAERR, "the data is said to be in '%s', which is this text", file);
  *path = dp_printf(s->arena, "%.*s%s", slash ? (int)(slash - s->text_path + 1) : 0, s->text_path, file);
  struct stat st;
  if (lstat(*path, &st))
    return dp_fail(EX_NOINPUT, "the data was left in %s, which cannot be read: %s; put it beside the text", *path,
                   strerror(errno));
  return S_ISLNK(st.st_mode) ? dp_fail(EX_DATAERR, "the data was left in %s: symbolic links are not followed", *path)
                             : DP_OK;
}

static int by_xxh3(const void *a, const void *b) {
  const known_tensor *x = a, *y = b;
  return (x->xxh3 > y->xxh3) - (x->xxh3 < y->xxh3);
}

static void add_tensor(dp_sources *s, source *from, const dp_tensor *tensor) {
  known_tensor known = {dp_hash64(tensor->data, tensor->bytes), tensor};
  DP_PUSH(s->arena, from->tensors, from->n_tensors, known);
}

static dp_status open_source(dp_sources *s, const char *file, const source **opened) {
  for (int i = 0; i < s->n_sources; i++)
    if (!strcmp(s->sources[i].file, file)) {
      *opened = &s->sources[i];
      return DP_OK;
    }
  const char *path = NULL;
  dp_model *model;
  source from = {.file = file};
  DP_TRY(find_path(s, file, &path));
  DP_TRY(s->read(s->arena, path, s->depth - 1, &model));
  for (int32_t i = 0; i < model->n_variables; i++)
    if (model->variables[i].init.kind == DP_INIT_TENSOR) add_tensor(s, &from, model->variables[i].init.tensor);
  for (int g = 0; g < model->n_graphs; g++)
    for (int32_t i = 0; i < model->graphs[g]->n_values; i++)
      if (model->graphs[g]->values[i]->constant) add_tensor(s, &from, model->graphs[g]->values[i]->constant);
  if (from.n_tensors) qsort(from.tensors, (size_t)from.n_tensors, sizeof *from.tensors, by_xxh3);
  DP_PUSH(s->arena, s->sources, s->n_sources, from);
  *opened = &s->sources[s->n_sources - 1];
  return DP_OK;
}

static bool is_of_type(const dp_tensor *tensor, const dp_type *type) {
  dp_shape shape = dp_tensor_shape(tensor);
  return tensor->dtype == type->dtype && dp_shape_equal(&shape, &type->shape);
}

dp_status dp_sources_find(void *sources, const char *file, uint64_t xxh3, const dp_type *type,
                          const dp_tensor **tensor) {
  dp_sources *s = sources;
  const source *from;
  DP_TRY(open_source(s, file, &from));
  int low = 0, high = from->n_tensors;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (from->tensors[middle].xxh3 < xxh3)
      low = middle + 1;
    else
      high = middle;
  }
  // Equal bytes may have several types.
  for (; low < from->n_tensors && from->tensors[low].xxh3 == xxh3; low++)
    if (is_of_type(from->tensors[low].tensor, type)) {
      *tensor = from->tensors[low].tensor;
      return DP_OK;
    }
  char text[256];
  return dp_fail(EX_DATAERR, "%s has no %s with the XXH3 %016llx: it is not the file that this text was printed from",
                 file, dp_type_print(type, text, sizeof text), (unsigned long long)xxh3);
}
