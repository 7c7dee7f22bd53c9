// Data files: IDX (MNIST's) and NumPy's .npy, each also gzipped, as one dense tensor whose first axis is samples.
//
// Headers are not believed: memory is taken as data arrives, and what the header promises must be there exactly.
#ifndef DP_RUNTIME_DATA_DATA_H
#define DP_RUNTIME_DATA_DATA_H

#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

// Reads a whole file by its content (not its name). EX_NOINPUT: cannot be opened; EX_DATAERR: not what it says.
dp_status dp_data_read(dp_arena *arena, const char *path, dp_tensor *tensor) DP_MUST_USE;

// Makes a file's tensor fit a graph input: the axes must agree (axes of length 1 may be missing or extra), the elements are
// converted to the input's type: integers when no value is lost, floats to narrower ones by rounding to nearest, as long as
// they are within the type's range. *rounded: some were. batch_dim: the input's dim that samples lie along, whose extent is
// free (the file's first axis); -1: the file is the whole tensor. `what` names file and input in messages.
// The result has the input's rank, with samples first (moved to batch_dim when a batch is cut).
dp_status dp_data_fit(dp_arena *arena, const char *what, const dp_type *input, int batch_dim, const dp_tensor *file,
                      dp_tensor *fitted, bool *rounded) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
