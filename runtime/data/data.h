// Reads data files, IDX (MNIST's format) and NumPy's .npy, each optionally gzipped, as one dense tensor whose first
// axis is samples.
//
// Headers are not trusted: memory grows only as data arrives, and the data must be exactly as long as the header says.
#ifndef DP_RUNTIME_DATA_DATA_H
#define DP_RUNTIME_DATA_DATA_H

#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

// Reads a whole file; its content, not its name, tells the format. EX_NOINPUT: cannot be opened; EX_DATAERR: malformed.
dp_status dp_data_read(dp_arena *arena, const char *path, dp_tensor *tensor) DP_MUST_USE;

// Fits a file's tensor to a graph input. The extents must agree, except that axes of length 1 may be missing or extra.
// Elements are converted to the input's type: integers if no value changes, floats to a narrower type by rounding to
// nearest, if they are within its range; *rounded is set if any was rounded. batch_dim is the input's dim of samples,
// whose extent is the file's first axis; -1: the file is the whole tensor. `what` names file and input in messages. The
// result has the input's rank, with samples first; dp_loader_fill moves them to batch_dim. EX_DATAERR.
dp_status dp_data_fit(dp_arena *arena, const char *what, const dp_type *input, int batch_dim, const dp_tensor *file,
                      dp_tensor *fitted, bool *rounded) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
