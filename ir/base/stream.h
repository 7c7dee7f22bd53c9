// Why a stream could not be written. ferror remembers a failure, but errno holds its reason only until the next call.
#ifndef DP_IR_BASE_STREAM_H
#define DP_IR_BASE_STREAM_H

#include <errno.h>
#include <stdio.h>

// Call right after writing. Sets *error to the reason of the stream's first failure, if it has failed since.
static inline void dp_stream_watch(FILE *stream, int *error) {
  if (!*error && ferror(stream)) *error = errno ? errno : EIO;
}

// Writes what is still in memory and watches. Returns whether nothing has failed so far.
static inline int dp_stream_flush(FILE *stream, int *error) {
  fflush(stream);
  dp_stream_watch(stream, error);
  return !*error;
}

// Closes the stream. Returns the reason of its first failure, 0 for none.
static inline int dp_stream_close(FILE *stream, int error) {
  dp_stream_flush(stream, &error);
  return fclose(stream) && !error ? errno : error;
}

#endif
