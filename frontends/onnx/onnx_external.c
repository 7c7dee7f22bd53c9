// Reads tensors from files beside the model. A model may come from anyone, so it may name only regular files below its
// own folder: no absolute paths, no "..", no symbolic links on the way (each folder is opened from the one before,
// without following links), and no file with another hard link. Ranges of a file may be shared but must not overlap, so
// that memory stays in proportion to the file.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontends/onnx/onnx_reader.h"
#include "frontends/onnx/onnx_signature.h"

typedef struct {
  const char *location;
  uint64_t bytes, taken;
} file_use;

struct dp_onnx_files {
  dp_names *names, *ranges;  // locations; "location:offset:bytes"
  int32_t n_files, n_ranges;
  file_use *files;
  const void **data;  // (n_ranges)
};

// ---- where ----------------------------------------------------------------------------------------------------------

static dp_status check_location(const char *location) {
  if (!*location) return dp_fail(EX_DATAERR, "its external data does not name a file");
  if (*location == '/' || strchr(location, '\\'))
    return dp_fail(EX_DATAERR, "external data '%s': a path relative to the model's folder is expected", location);
  for (const char *part = location; part;) {
    const char *end = strchr(part, '/');
    size_t length = end ? (size_t)(end - part) : strlen(part);
    if (length == 2 && !memcmp(part, "..", 2))
      return dp_fail(EX_DATAERR, "external data '%s': '..' would leave the model's folder", location);
    if (!length || length > NAME_MAX || strlen(location) >= DP_ONNX_MAX_PATH_BYTES)
      return dp_fail(EX_DATAERR, "external data '%.80s': a file's name is expected", location);
    part = end ? end + 1 : NULL;
  }
  return DP_OK;
}

static dp_status open_folder(const char *path, int *fd) {
  char folder[DP_ONNX_MAX_PATH_BYTES];
  const char *slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) + 1 : 2;
  if (length >= sizeof folder) return dp_fail(EX_NOINPUT, "the model's path is too long");
  memcpy(folder, slash ? path : "./", length);
  folder[length] = 0;
  *fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return *fd >= 0 ? DP_OK : dp_fail(EX_NOINPUT, "%s: cannot be opened: %s", folder, strerror(errno));
}

static dp_status refuse_file(const char *location, int error) {
  if (error == ELOOP || error == ENOTDIR)
    return dp_fail(EX_DATAERR, "external data '%s': symbolic links are not followed", location);
  return dp_fail(error == ENOENT ? EX_NOINPUT : EX_DATAERR, "external data '%s': cannot be read: %s", location,
                 strerror(error));
}

// Opens the file below the folder, one path component at a time.
static dp_status open_file(const char *path, const char *location, int *fd) {
  int at;
  DP_TRY(check_location(location));
  DP_TRY(open_folder(path, &at));
  for (const char *part = location; part;) {
    char name[NAME_MAX + 1];
    const char *end = strchr(part, '/');
    size_t length = end ? (size_t)(end - part) : strlen(part);
    memcpy(name, part, length);
    name[length] = 0;
    int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | (end ? O_DIRECTORY : 0);
    int next = openat(at, name, flags), error = errno;
    close(at);
    if (next < 0) return refuse_file(location, error);
    at = next;
    part = end ? end + 1 : NULL;
  }
  *fd = at;
  return DP_OK;
}

// ---- what -----------------------------------------------------------------------------------------------------------

static dp_status parse_number(const char *key, const char *text, uint64_t *number) {
  uint64_t n = 0;
  for (const char *c = text; *c || c == text; c++) {
    if (*c < '0' || *c > '9' || __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *c - '0', &n))
      return dp_fail(EX_DATAERR, "external data: %s '%.40s' is not a number of bytes", key, text);
  }
  *number = n;
  return DP_OK;
}

typedef struct {
  const char *location;
  uint64_t offset, length;
  bool has_length;
} range;

static dp_status read_range(const Dp__Onnx__Tensor *m, range *r) {
  *r = (range){.location = ""};
  for (size_t i = 0; i < m->n_external_data; i++) {
    const Dp__Onnx__StringStringEntry *entry = m->external_data[i];
    for (size_t k = 0; k < i; k++)
      if (!strcmp(m->external_data[k]->key, entry->key))
        return dp_fail(EX_DATAERR, "external data: '%s' is given twice", entry->key);
    if (!strcmp(entry->key, "location")) r->location = entry->value;
    if (!strcmp(entry->key, "offset")) DP_TRY(parse_number("offset", entry->value, &r->offset));
    if (!strcmp(entry->key, "length")) {
      DP_TRY(parse_number("length", entry->value, &r->length));
      r->has_length = true;
    }
  }
  return DP_OK;
}

static dp_status check_file(int fd, const range *r, size_t bytes, uint64_t *size) {
  struct stat st;
  if (fstat(fd, &st) || !S_ISREG(st.st_mode))
    return dp_fail(EX_DATAERR, "external data '%s': not a regular file", r->location);
  if (st.st_nlink != 1)
    return dp_fail(EX_DATAERR, "external data '%s': the file is hard-linked under another name: copy it", r->location);
  *size = (uint64_t)st.st_size;
  if (r->has_length && r->length != bytes)
    return dp_fail(EX_DATAERR, "external data '%s': the model names %llu bytes, but type and extents need %zu",
                   r->location, (unsigned long long)r->length, bytes);
  if (r->offset > *size || bytes > *size - r->offset)
    return dp_fail(EX_DATAERR, "external data '%s': the model needs %zu bytes from %llu on, but the file has %llu",
                   r->location, bytes, (unsigned long long)r->offset, (unsigned long long)*size);
  return DP_OK;
}

// Counts these bytes against the file's size.
static dp_status count_bytes(dp_onnx_reader *reader, const range *r, size_t bytes, uint64_t size) {
  dp_onnx_files *f = reader->files;
  int32_t i = dp_names_find(f->names, r->location);
  if (i < 0) {
    file_use use = {.location = r->location, .bytes = size};
    dp_names_add(f->names, r->location, i = f->n_files);
    DP_PUSH(reader->arena, f->files, f->n_files, use);
  }
  f->files[i].taken += bytes;
  if (f->files[i].taken > f->files[i].bytes)
    return dp_fail(EX_DATAERR, "external data '%s': its tensors overlap", r->location);
  return DP_OK;
}

static dp_status read_bytes(int fd, const range *r, size_t bytes, char *data) {
  size_t got = 0;
  while (got < bytes) {
    ssize_t n = pread(fd, data + got, bytes - got, (off_t)(r->offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return dp_fail(EX_IOERR, "external data '%s': ends early: %s", r->location, n ? strerror(errno) : "it shrank");
    got += (size_t)n;
  }
  return DP_OK;
}

// Nothing between opening and closing the file may allocate, because a failure would leak the descriptor.
static dp_status read_file(dp_onnx_reader *reader, const range *r, size_t bytes, void **data) {
  int fd;
  uint64_t size;
  DP_TRY(open_file(reader->path, r->location, &fd));
  dp_status status = check_file(fd, r, bytes, &size);
  close(fd);
  DP_TRY(status);
  DP_TRY(count_bytes(reader, r, bytes, size));
  *data = dp_alloc(reader->arena, bytes ? bytes : 1);
  DP_TRY(open_file(reader->path, r->location, &fd));
  status = check_file(fd, r, bytes, &size);
  if (!status) status = read_bytes(fd, r, bytes, *data);
  close(fd);
  return status;
}

// Data that our writer put outside is that of the model, not of one that was exported to the same name before or after.
static dp_status check_hash(dp_arena *arena, const Dp__Onnx__Tensor *message, const char *location, const void *data,
                            size_t bytes) {
  const char *hash = dp_onnx_signature_find(message->n_metadata_props, message->metadata_props, "dp.xxh3");
  if (!hash || !strcmp(hash, dp_printf(arena, "%016" PRIx64, dp_hash64(data, bytes)))) return DP_OK;
  return dp_fail(EX_DATAERR,
                 "external data '%s': it is not what was exported with this model, perhaps because an export was "
                 "interrupted: export the model again",
                 location);
}

dp_status dp_onnx_external_read(dp_onnx_reader *reader, const Dp__Onnx__Tensor *message, size_t bytes,
                                const void **data) {
  range r;
  void *read;
  DP_TRY(read_range(message, &r));
  if (!reader->files) {
    reader->files = dp_alloc(reader->arena, sizeof *reader->files);
    reader->files->names = dp_names_create(reader->arena);
    reader->files->ranges = dp_names_create(reader->arena);
  }
  dp_onnx_files *f = reader->files;
  const char *key = dp_printf(reader->arena, "%s:%llu:%zu", r.location, (unsigned long long)r.offset, bytes);
  int32_t i = dp_names_find(f->ranges, key);
  if (i < 0) {
    DP_TRY(read_file(reader, &r, bytes, &read));
    dp_names_add(f->ranges, key, i = f->n_ranges);
    DP_PUSH(reader->arena, f->data, f->n_ranges, (const void *)read);
  }
  *data = f->data[i];
  return check_hash(reader->arena, message, r.location, *data, bytes);
}
