// The bytes of a data file at random access, unpacked if it was compressed. Private to the formats.
//
// A file of at most as many bytes as its opener says, DP_BYTES_HELD for one alone, is held in memory, and so is
// whatever was compressed. A larger one is read where and when its bytes are needed, so it may be larger than memory.
// Nothing is mapped: truncating a mapped file while it is read would kill the process by a signal.
#ifndef DP_RUNTIME_DATA_BYTES_H
#define DP_RUNTIME_DATA_BYTES_H

#include "ir/base/base.h"

#define DP_BYTES_HELD ((uint64_t)512 << 20)
// What is compressed may become this large, or this many times larger, whichever is more.
#define DP_BYTES_UNPACKED ((uint64_t)64 << 20)
#define DP_BYTES_RATIO 200

typedef struct {
  const char *path;
  int fd;           // -1: all is in memory
  uint8_t *memory;  // from malloc
  uint64_t at;      // where these bytes begin in the file
  uint64_t size;
  bool borrowed;  // a part of other bytes, which close fd and memory
} dp_bytes;

// Opens a regular file or standard input, and unpacks it if it is compressed. held: the largest file that is held in
// memory. EX_NOINPUT, EX_DATAERR, EX_IOERR.
dp_status dp_bytes_open(const char *path, uint64_t held, dp_bytes *bytes) DP_MUST_USE;
// Reads `count` bytes; [at, at + count) must lie within the size. Many threads may read at once. EX_IOERR: the file has
// been truncated since it was opened.
dp_status dp_bytes_read(const dp_bytes *bytes, uint64_t at, void *target, size_t count) DP_MUST_USE;
// As dp_bytes_read, for headers. EX_DATAERR: the file ends before that.
dp_status dp_bytes_header(const dp_bytes *bytes, uint64_t at, void *target, size_t count) DP_MUST_USE;
// A part of the bytes, which must stay open.
dp_bytes dp_bytes_part(const dp_bytes *bytes, uint64_t at, uint64_t size);
void dp_bytes_close(dp_bytes *bytes);

// ---- unpack.c -------------------------------------------------------------------------------------------------------

typedef struct dp_packing dp_packing;
// How a file that begins with these bytes is compressed; NULL: it is not.
const dp_packing *dp_packing_find(const uint8_t *head, size_t count);
// Unpacks all of the bytes into memory. EX_DATAERR: damaged, or out of proportion.
dp_status dp_packing_unpack(const dp_packing *packing, const dp_bytes *packed, dp_bytes *unpacked) DP_MUST_USE;
extern const dp_packing dp_packing_deflate;  // raw, as in zip

#endif
