// See source.h.
#include "runtime/data/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/base/file.h"
#include "ir/base/kind.h"
#include "runtime/data/data.h"

dp_status dp_source_open(const char *path, dp_source *source) {
  int fd;
  size_t bytes;
  DP_TRY(dp_file_open(path, &fd, &bytes));
  gzFile file = gzdopen(fd, "rb");
  if (!file) {
    close(fd);
    return dp_fail(DP_EX_MEMORY, "%s: out of memory", path);
  }
  gzbuffer(file, 1 << 17);
  *source = (dp_source){path, file};
  return DP_OK;
}

void dp_source_close(dp_source *source) { gzclose(source->file); }

// Reads up to `bytes` bytes, fewer only at the end of the file.
static dp_status read_some(dp_source *source, void *data, size_t bytes, size_t *got) {
  size_t total = 0;
  while (total < bytes) {
    unsigned chunk = bytes - total > 1u << 30 ? 1u << 30 : (unsigned)(bytes - total);
    int r = gzread(source->file, (char *)data + total, chunk);
    if (r < 0) {
      int code;
      const char *message = gzerror(source->file, &code);
      return dp_fail(code == Z_ERRNO ? EX_IOERR : EX_DATAERR, "%s: %s", source->path,
                     code == Z_ERRNO ? strerror(errno) : message);
    }
    if (!r) break;
    total += (size_t)r;
  }
  *got = total;
  return DP_OK;
}

dp_status dp_source_exactly(dp_source *source, void *data, size_t bytes) {
  size_t got;
  DP_TRY(read_some(source, data, bytes, &got));
  return got == bytes ? DP_OK : dp_fail(EX_DATAERR, "%s: the file ends within its header", source->path);
}

static dp_status read_rest(dp_source *source, size_t bytes, uint8_t **buffer) {
  size_t total = 0, capacity = 0;
  for (;;) {
    size_t larger = capacity ? 2 * capacity : 1 << 20;
    if (larger > bytes) larger = bytes;
    uint8_t *grown = realloc(*buffer, larger ? larger : 1);
    if (!grown) return dp_fail(DP_EX_MEMORY, "%s: no memory for its %zu bytes of data", source->path, bytes);
    *buffer = grown;
    size_t got;
    DP_TRY(read_some(source, grown + total, larger - total, &got));
    total += got;
    if (total < larger)
      return dp_fail(EX_DATAERR, "%s: the file has %zu bytes of data, but its header promises %zu", source->path, total,
                     bytes);
    capacity = larger;
    if (total == bytes) break;
  }
  uint8_t extra;
  size_t more;
  DP_TRY(read_some(source, &extra, 1, &more));
  if (more)
    return dp_fail(EX_DATAERR, "%s: the file has more data than the %zu bytes that its header promises", source->path,
                   bytes);
  return DP_OK;
}

dp_status dp_source_rest(dp_source *source, dp_arena *arena, size_t bytes, void **data) {
  uint8_t *buffer = NULL;
  dp_status status = read_rest(source, bytes, &buffer);
  if (status) {
    free(buffer);
    return status;
  }
  *data = dp_arena_adopt(arena, buffer);
  return DP_OK;
}

dp_status dp_source_size(const dp_source *source, dp_tensor *tensor) {
  size_t bytes = dp_type_bytes(tensor->dtype), whole = bytes;
  for (int i = 0; i < tensor->rank; i++) {
    // Check the product without zero extents, which would hide its overflow.
    size_t extent = (size_t)tensor->extents[i];
    if (tensor->extents[i] < 0 || __builtin_mul_overflow(whole, extent ? extent : 1, &whole) || whole > SIZE_MAX / 4)
      return dp_fail(EX_DATAERR, "%s: the header gives an impossible size", source->path);
    bytes *= extent;
  }
  tensor->bytes = bytes;
  return DP_OK;
}

static dp_status refuse(dp_source *source, const uint8_t magic[4]) {
  uint8_t head[4096];
  size_t more = 0;
  memcpy(head, magic, 4);
  DP_TRY(read_some(source, head + 4, sizeof head - 4, &more));
  return dp_file_kind_refuse(source->path, head, 4 + more, "data as IDX or .npy, gzipped or not");
}

dp_status dp_data_read(dp_arena *arena, const char *path, dp_tensor *tensor) {
  dp_source source;
  DP_TRY(dp_source_open(path, &source));
  uint8_t magic[4];
  dp_status status = dp_source_exactly(&source, magic, sizeof magic);
  if (!status) {
    if (!memcmp(magic, "\x93NUM", 4))
      status = dp_npy_read(&source, arena, magic, tensor);
    else if (!magic[0] && !magic[1])
      status = dp_idx_read(&source, arena, magic, tensor);
    else
      status = refuse(&source, magic);
  }
  dp_source_close(&source);
  return status;
}
