// Writes NumPy's .npy files (runtime/data/npy.c reads them) byte for byte as numpy.save does on a little-endian
// machine. The file is written to a temporary name, flushed and renamed like those of ir/base/file.h, so it appears
// whole or not at all.
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
  int64_t left;  // elements still to come, by the header
} dp_npy_writer;

// Writes the header. NumPy has no bfloat16, so its elements are written as float32, which is exact. EX_CANTCREAT;
// EX_UNAVAILABLE: .npy cannot hold the type.
dp_status dp_npy_writer_open(const char *path, dp_dtype dtype, int rank, const int64_t *extents,
                             dp_npy_writer *writer) DP_MUST_USE;
// Writes the next elements, dense. After a failure (EX_IOERR) only abandon may follow.
dp_status dp_npy_writer_write(dp_npy_writer *writer, const void *elements, int64_t count) DP_MUST_USE;
// Renames the file into place if all elements were written. Closes the writer in any case.
dp_status dp_npy_writer_commit(dp_npy_writer *writer) DP_MUST_USE;
void dp_npy_writer_abandon(dp_npy_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
