// Files as untrusted input and as precious output.
//
// Reading takes regular files only: a FIFO, a directory or a device is refused before a byte is read, a file that grows
// while it is read is cut at the size it had. Writing goes to a new file beside the target, is flushed to the disk and then
// renamed over it, so that whatever happens either the old or the new content is there whole.
#ifndef DP_IR_BASE_FILE_H
#define DP_IR_BASE_FILE_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// The whole file. EX_NOINPUT: missing or not readable; EX_DATAERR: not a regular file or above max_bytes (0: 2 GiB).
// *data is followed by a zero byte.
dp_status dp_file_read(dp_arena *arena, const char *path, size_t max_bytes, uint8_t **data, size_t *bytes) DP_MUST_USE;

// Maps a regular file for reading; an empty file gives NULL and 0. Unmap with dp_file_unmap.
typedef struct {
  const uint8_t *data;
  size_t bytes;
} dp_file_map;
dp_status dp_file_map_read(const char *path, dp_file_map *map) DP_MUST_USE;
void dp_file_unmap(dp_file_map *map);

// A file being written aside. Usage: open, write ..., then commit or abandon (exactly one of them, once open succeeded).
typedef struct {
  int fd;
  char *path, *temporary;
  size_t buffered;
  uint8_t *buffer;
} dp_file_writer;
dp_status dp_file_writer_open(const char *path, dp_file_writer *writer) DP_MUST_USE;  // EX_CANTCREAT
// After a failure (EX_IOERR) only abandon may follow.
dp_status dp_file_writer_write(dp_file_writer *writer, const void *data, size_t bytes) DP_MUST_USE;
// Flushes, syncs, renames, syncs the folder. The writer is closed whatever the result; on failure the target is untouched.
dp_status dp_file_writer_commit(dp_file_writer *writer) DP_MUST_USE;
void dp_file_writer_abandon(dp_file_writer *writer);
// All in one.
dp_status dp_file_write(const char *path, const void *data, size_t bytes) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
