// Writing NumPy's .npy (runtime/data/npy.c reads it): byte for byte what numpy.save writes, in the machine's byte order,
// which is little-endian. Aside, flushed and renamed as ir/base/file.h does, so that a file is there whole or not at all.
#ifndef DP_RUNTIME_DATA_NPY_H
#define DP_RUNTIME_DATA_NPY_H

#include "ir/base/file.h"
#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  dp_file_writer file;
  dp_dtype dtype;
  int64_t left;  // elements that the header promises and that did not come yet
} dp_npy_writer;

// Writes the header. NumPy has no bfloat16: its elements are written as float32, which loses nothing. EX_CANTCREAT.
dp_status dp_npy_writer_open(const char *path, dp_dtype dtype, int rank, const int64_t *extents,
                             dp_npy_writer *writer) DP_MUST_USE;
// The next elements, dense. After a failure (EX_IOERR) only abandon may follow.
dp_status dp_npy_writer_write(dp_npy_writer *writer, const void *elements, int64_t count) DP_MUST_USE;
// Puts the file in place when all elements came. The writer is closed whatever the result.
dp_status dp_npy_writer_commit(dp_npy_writer *writer) DP_MUST_USE;
void dp_npy_writer_abandon(dp_npy_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
