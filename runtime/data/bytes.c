// See bytes.h.
#include "runtime/data/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/base/file.h"

void dp_bytes_close(dp_bytes *bytes) {
  if (!bytes->borrowed) {
    if (bytes->fd >= 0) close(bytes->fd);
    free(bytes->memory);
  }
  *bytes = (dp_bytes){.fd = -1};
}

dp_status dp_bytes_read(const dp_bytes *bytes, uint64_t at, void *target, size_t count) {
  if (bytes->fd < 0) {
    if (count) memcpy(target, bytes->memory + bytes->at + at, count);
    return DP_OK;
  }
  for (size_t done = 0; done < count;) {
    const ssize_t r = pread(bytes->fd, (char *)target + done, count - done, (off_t)(bytes->at + at + done));
    if (r < 0 && errno == EINTR) continue;
    if (r < 0) return dp_fail(EX_IOERR, "%s: cannot be read: %s", bytes->path, strerror(errno));
    if (!r) return dp_fail(EX_IOERR, "%s: it has been truncated while it was read", bytes->path);
    done += (size_t)r;
  }
  return DP_OK;
}

dp_status dp_bytes_header(const dp_bytes *bytes, uint64_t at, void *target, size_t count) {
  if (at > bytes->size || count > bytes->size - at)
    return dp_fail(EX_DATAERR, "%s: the file ends within its header", bytes->path);
  return dp_bytes_read(bytes, at, target, count);
}

dp_bytes dp_bytes_part(const dp_bytes *bytes, uint64_t at, uint64_t size) {
  dp_bytes part = *bytes;
  part.at += at;
  part.size = size;
  part.borrowed = true;
  return part;
}

static dp_status hold(dp_bytes *bytes) {
  uint8_t *memory = malloc(bytes->size ? bytes->size : 1);
  if (!memory) return dp_fail(DP_EX_MEMORY, "%s: no memory for its %zu bytes", bytes->path, (size_t)bytes->size);
  dp_status status = dp_bytes_read(bytes, 0, memory, bytes->size);
  if (status) {
    free(memory);
    return status;
  }
  close(bytes->fd);
  bytes->fd = -1;
  bytes->memory = memory;
  return DP_OK;
}

static dp_status prepare(dp_bytes *bytes, uint64_t held) {
  uint8_t head[8];
  const size_t count = bytes->size < sizeof head ? bytes->size : sizeof head;
  DP_TRY(dp_bytes_read(bytes, 0, head, count));
  const dp_packing *packing = dp_packing_find(head, count);
  if (!packing) return bytes->size <= held ? hold(bytes) : DP_OK;
  dp_bytes unpacked;
  DP_TRY(dp_packing_unpack(packing, bytes, &unpacked));
  dp_bytes_close(bytes);
  *bytes = unpacked;
  return DP_OK;
}

dp_status dp_bytes_open(const char *path, uint64_t held, dp_bytes *bytes) {
  dp_bytes b = {.path = path, .fd = -1};
  size_t size;
  DP_TRY(dp_file_open(path, &b.fd, &size));
  b.size = size;
  dp_status status = prepare(&b, held);
  if (status) {
    dp_bytes_close(&b);
    return status;
  }
  *bytes = b;
  return DP_OK;
}
