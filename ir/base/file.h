// Files as untrusted input and as valuable output.
//
// Reading accepts regular files only: a FIFO, a directory or a device is refused before a byte is read. A file that
// grows while it is read is read up to the size it had when it was opened. Writing goes to a new file beside the
// target, which is flushed to disk and then renamed over the target, so that either the old or the new content is there
// whole, whatever happens.
//
// The path "-" is standard input where a file is read and standard output where one is written. Standard input may be a
// pipe: it is spooled to an unnamed temporary file so that it can be read more than once. So is a pipe that somebody
// named on the command line (dp_file_allow_pipe); one that a file names could make us wait for ever. Standard output is
// written in order and ends where an error occurred. A signal interrupts waiting for any of them (EX_TEMPFAIL).
#ifndef DP_IR_BASE_FILE_H
#define DP_IR_BASE_FILE_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether the path is standard input or output.
bool dp_file_is_standard(const char *path);

// If the path is a FIFO, as /dev/fd/63 of a shell's <(command) is, allows it to be read, under all its names. For paths
// of the command line alone. NULL: no path. DP_EX_MEMORY. Not thread-safe.
dp_status dp_file_allow_pipe(const char *path) DP_MUST_USE;
// Whether the path is "-" or a pipe that was allowed: there are no files beside it, and its name says nothing.
bool dp_file_is_stream(const char *path);

// Opens a regular file and gets its size. EX_NOINPUT: missing or not readable; EX_DATAERR: not a regular file.
dp_status dp_file_open(const char *path, int *fd, size_t *bytes) DP_MUST_USE;

// Reads the whole file. EX_NOINPUT: missing or not readable; EX_DATAERR: not a regular file or above max_bytes (0: 2
// GiB). *data is followed by a zero byte.
dp_status dp_file_read(dp_arena *arena, const char *path, size_t max_bytes, uint8_t **data, size_t *bytes) DP_MUST_USE;

// A regular file, read on demand. Nothing is mapped: truncating a mapped file while it is read would kill the process
// by a signal.
typedef struct {
  int fd;
  char *path;
  size_t bytes;  // when it was opened
} dp_file_reader;
dp_status dp_file_reader_open(const char *path, dp_file_reader *reader) DP_MUST_USE;  // fails as dp_file_read does
// EX_IOERR: it cannot be read, or has been truncated. at + bytes must lie within the size that it had when opened.
dp_status dp_file_reader_read(const dp_file_reader *reader, uint64_t at, void *data, size_t bytes) DP_MUST_USE;
void dp_file_reader_close(dp_file_reader *reader);

// A file being written beside its target. Usage: open, write ..., then either commit or abandon, once, if open
// succeeded.
typedef struct {
  int fd;
  char *path, *temporary;  // temporary NULL: standard output
  size_t buffered, room;
  uint8_t *buffer;  // (room)
  bool direct;      // past the page cache
} dp_file_writer;
dp_status dp_file_writer_open(const char *path, dp_file_writer *writer) DP_MUST_USE;  // EX_CANTCREAT
// For a large file that nobody will read soon: before anything is written, asks for its data to go to the disk past the
// page cache (O_DIRECT). That saves the system most of its work, and what is in the cache stays. Where the file system
// or the memory does not allow it, nothing changes.
void dp_file_writer_bypass_cache(dp_file_writer *writer);
// After a failure (EX_IOERR) only abandon may follow.
dp_status dp_file_writer_write(dp_file_writer *writer, const void *data, size_t bytes) DP_MUST_USE;
// Flushes and syncs what was written, so that of several files none is replaced if one has no room. Nothing may be
// written after it. On failure the writer stays open.
dp_status dp_file_writer_settle(dp_file_writer *writer) DP_MUST_USE;
// Flushes, syncs, renames, syncs the directory. The writer is closed whatever the result; on failure the target is
// untouched, unless it was the last sync that failed.
dp_status dp_file_writer_commit(dp_file_writer *writer) DP_MUST_USE;
void dp_file_writer_abandon(dp_file_writer *writer);
// Opens, writes and commits.
dp_status dp_file_write(const char *path, const void *data, size_t bytes) DP_MUST_USE;

// Syncs a directory, so that the names in it survive a crash of the machine. EX_IOERR.
dp_status dp_file_sync_folder(const char *path) DP_MUST_USE;
dp_status dp_file_sync_folder_of(const char *path) DP_MUST_USE;  // the one that holds `path`

#ifdef __cplusplus
}
#endif
#endif
