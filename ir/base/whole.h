// Reading and writing all of something through a descriptor that waits: a call may move fewer bytes, and a signal may
// come in between.
#ifndef DP_IR_BASE_WHOLE_H
#define DP_IR_BASE_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

// False: the file ends before (errno is 0), or an error (errno).
bool dp_read_whole(int fd, void *data, size_t bytes);
// False: an error (errno); some of it may have been written.
bool dp_write_whole(int fd, const void *data, size_t bytes);

#endif
