// Standard input as a regular file; private to ir/base.
#ifndef DP_IR_BASE_STANDARD_H
#define DP_IR_BASE_STANDARD_H

#include "ir/base/base.h"

// A descriptor of its own, at the beginning of all that came; every call reads the same. EX_NOINPUT: closed;
// EX_DATAERR: a terminal, a folder, or too much; EX_TEMPFAIL: a signal came while it was waited for; EX_IOERR. Not for
// several threads.
dp_status dp_file_open_input(int *fd, size_t *bytes) DP_MUST_USE;

#endif
