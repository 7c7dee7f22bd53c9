// Pipes as regular files: what a pipe gives is kept in an unnamed temporary file, so that it can be read more than
// once. Private to ir/base. Not thread-safe: pipes are opened before threads are started.
#ifndef DP_IR_BASE_SPOOL_H
#define DP_IR_BASE_SPOOL_H

#include <sys/stat.h>

#include "ir/base/base.h"

// A pipe that may be read. It is told by what it is, so all its names stand for the same bytes. Lives as long as the
// process.
typedef struct dp_spool dp_spool;

// The spool of a pipe, made if there is none; NULL: out of memory.
dp_spool *dp_spool_add(const struct stat *pipe);
// The spool of the FIFO that has this path; NULL: it is no FIFO, or was not added.
dp_spool *dp_spool_find(const char *path);
// Waits for the end of the pipe, unless that was done before. Gives a new descriptor at the beginning of all the bytes.
// path "-": standard input. EX_DATAERR: too large; EX_TEMPFAIL: interrupted by a signal while waiting; EX_NOINPUT,
// EX_CANTCREAT, EX_IOERR.
dp_status dp_spool_open(dp_spool *spool, const char *path, int *fd, size_t *bytes) DP_MUST_USE;
// Opens an open file again by its name in /proc, so that each reader starts at the beginning. EX_NOINPUT.
dp_status dp_spool_reopen(int open_file, const char *name, int *fd, size_t *bytes) DP_MUST_USE;

#endif
