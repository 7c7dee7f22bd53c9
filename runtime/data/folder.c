// A folder of folders of pictures: each inner folder is a class. DIR is the pictures, DIR:class the numbers of their
// classes. Classes and pictures come in the order of the bytes of their names, as torchvision's ImageFolder has them.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ir/base/file.h"
#include "runtime/data/pictures.h"

typedef struct {
  const char *name;  // "class/picture.png"
  int64_t class;
} entry;

typedef struct {
  dp_pictures pictures;  // first, as pictures.h wants it
  const char *path;
  entry *entries;
} folder;

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The names in a folder that are folders, or pictures, sorted; hidden ones are left out.
static dp_status list(dp_arena *arena, const char *path, bool folders, const char ***names, size_t *count) {
  DIR *dir = opendir(path);
  if (!dir) return dp_fail(EX_NOINPUT, "%s: the folder cannot be read", path);
  *names = NULL;
  *count = 0;
  for (struct dirent *e; (e = readdir(dir));) {
    struct stat st;
    if (*e->d_name == '.' || fstatat(dirfd(dir), e->d_name, &st, 0)) continue;
    if (folders ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode) && dp_pictures_has_ending(e->d_name))
      DP_PUSH(arena, *names, *count, dp_strdup(arena, e->d_name));
  }
  closedir(dir);
  if (*count) qsort(*names, *count, sizeof **names, compare_names);
  return DP_OK;
}

static dp_status list_entries(dp_data_file *file, entry **entries, int64_t *count) {
  const char **classes, **names;
  size_t n_classes, n_names;
  *entries = NULL;
  *count = 0;
  DP_TRY(list(file->arena, file->path, true, &classes, &n_classes));
  for (size_t c = 0; c < n_classes; c++) {
    DP_TRY(list(file->arena, dp_printf(file->arena, "%s/%s", file->path, classes[c]), false, &names, &n_names));
    for (size_t i = 0; i < n_names; i++) {
      const entry e = {dp_printf(file->arena, "%s/%s", classes[c], names[i]), (int64_t)c};
      DP_PUSH(file->arena, *entries, *count, e);
    }
  }
  if (*count) return DP_OK;
  return dp_fail(EX_DATAERR, "%s: no pictures (.jpg, .jpeg, .png) in folders of it, one for each class", file->path);
}

static char *path_of(const folder *f, int64_t sample) {
  const char *name = f->entries[sample].name;
  const size_t bytes = strlen(f->path) + strlen(name) + 2;
  char *path = malloc(bytes);
  if (path) snprintf(path, bytes, "%s/%s", f->path, name);
  return path;
}

// The file was there when the folder was listed: if it is not now, that is a record that cannot be read.
static dp_status open_picture(const char *path, int *fd, size_t *bytes) {
  dp_status status = dp_file_open(path, fd, bytes);
  if (dp_status_code(status) != EX_NOINPUT) return status;
  dp_status told = dp_fail(EX_DATAERR, "%s", dp_status_message(status));
  dp_status_free(status);
  return told;
}

// The files are pictures as they stand: what is compressed besides is refused for what it begins with.
static dp_status load(const dp_data *data, int64_t sample, char *name, uint8_t **encoded, size_t *bytes) {
  const folder *f = data->state;
  snprintf(name, DP_PICTURE_NAME, "%s/%s", f->path, f->entries[sample].name);
  dp_bytes content = {.path = name, .fd = -1};
  char *path = path_of(f, sample);
  if (!path) return dp_fail(DP_EX_MEMORY, "%s: no memory to read it", name);
  dp_status status = open_picture(path, &content.fd, bytes);
  free(path);
  if (!status) {
    content.size = *bytes;
    status = dp_pictures_take(name, sample, &content, encoded);
  }
  dp_bytes_close(&content);
  return status;
}

static dp_status hash_names(const dp_data *data, int64_t contents, uint64_t *hash) {
  const folder *f = data->state;
  uint64_t chain[3] = {0};
  for (int64_t i = 0; i < data->extents[0]; i++) {
    const char *name = f->entries[i].name;
    char path[4096];
    struct stat st = {0};
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    if (stat(path, &st)) st.st_size = -1;
    chain[0] = dp_hash64(chain, sizeof chain);
    chain[1] = dp_hash64(name, strlen(name));
    chain[2] = (uint64_t)st.st_size;
  }
  *hash = dp_hash64(chain, sizeof chain);
  return f->pictures.load ? dp_pictures_hash(data, contents, hash) : DP_OK;
}

static void put_classes(const folder *f, int64_t first, int64_t count, void *target) {
  for (int64_t i = 0; i < count; i++) ((int64_t *)target)[i] = f->entries[first + i].class;
}

static dp_status read_samples(const dp_data *data, int64_t first, int64_t count, void *target) {
  const folder *f = data->state;
  if (f->pictures.load) return dp_pictures_read(data, first, count, target);
  put_classes(f, first, count, target);
  return DP_OK;
}

static bool recognise(const dp_data_file *file) { return file->folder; }

static dp_status open_file(dp_data_file *file, dp_data *data) {
  folder *f = dp_alloc(file->arena, sizeof *f);
  int64_t count;
  if (file->part && strcmp(file->part, "class"))
    return dp_fail(EX_USAGE, "%s:%s: the only part of a folder of pictures is 'class'", file->path, file->part);
  f->path = file->path;
  DP_TRY(list_entries(file, &f->entries, &count));
  data->state = f;
  if (file->part) {
    data->dtype = DP_INT64;
    data->rank = 1;
    data->extents[0] = count;
    return DP_OK;
  }
  f->pictures.load = load;
  DP_TRY(dp_pictures_open(file, count, &f->pictures, data));
  return dp_pictures_check(file, data);
}

static void close_folder(dp_data *data) { data->state = NULL; }

const dp_data_format dp_data_format_folder = {
    .what = "a folder of pictures",
    .has_parts = true,
    .recognise = recognise,
    .open = open_file,
    .read = read_samples,
    .close = close_folder,
    .hash = hash_names,
};
