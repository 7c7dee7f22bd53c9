// See whole.h.
#include "ir/base/whole.h"

#include <errno.h>
#include <unistd.h>

bool dp_read_whole(int fd, void *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t r = read(fd, (char *)data + done, bytes - done);
    if (r < 0 && errno == EINTR) continue;
    if (!r) errno = 0;
    if (r <= 0) return false;
    done += (size_t)r;
  }
  return true;
}

bool dp_write_whole(int fd, const void *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t r = write(fd, (const char *)data + done, bytes - done);
    if (r < 0 && errno == EINTR) continue;
    if (!r) errno = EIO;
    if (r <= 0) return false;
    done += (size_t)r;
  }
  return true;
}
