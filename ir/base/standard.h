// Standard input as a regular file; private to ir/base.
#ifndef DP_IR_BASE_STANDARD_H
#define DP_IR_BASE_STANDARD_H

#include "ir/base/base.h"

// Returns a new descriptor at the beginning of all the input; every call reads the same bytes. EX_NOINPUT: closed;
// EX_DATAERR: a terminal, a directory, or too large; EX_TEMPFAIL: interrupted by a signal while waiting; EX_IOERR. Not
// thread-safe.
dp_status dp_file_open_input(int *fd, size_t *bytes) DP_MUST_USE;

#endif
