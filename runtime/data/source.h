// A regular file, optionally gzipped, as a stream of bytes. Private to the readers.
#ifndef DP_RUNTIME_DATA_SOURCE_H
#define DP_RUNTIME_DATA_SOURCE_H

#include <zlib.h>

#include "ir/graph/type.h"

typedef struct {
  const char *path;
  gzFile file;  // zlib reads plain files unchanged
} dp_source;

dp_status dp_source_open(const char *path, dp_source *source) DP_MUST_USE;
void dp_source_close(dp_source *source);
// Reads exactly `bytes` bytes. EX_DATAERR: the file ends before that.
dp_status dp_source_exactly(dp_source *source, void *data, size_t bytes) DP_MUST_USE;
// Reads the rest of the file, which must be `bytes` long. Memory grows only as data arrives. EX_DATAERR.
dp_status dp_source_rest(dp_source *source, dp_arena *arena, size_t bytes, void **data) DP_MUST_USE;

// The readers of each format; the caller has read the magic (the first 4 bytes).
dp_status dp_idx_read(dp_source *source, dp_arena *arena, const uint8_t magic[4], dp_tensor *tensor) DP_MUST_USE;
dp_status dp_npy_read(dp_source *source, dp_arena *arena, const uint8_t magic[4], dp_tensor *tensor) DP_MUST_USE;
// Sets tensor->bytes from its type and extents. EX_DATAERR: the product overflows.
dp_status dp_source_size(const dp_source *source, dp_tensor *tensor) DP_MUST_USE;

#endif
