// --tensorboard: event files, which TensorBoard reads while they grow. A file is a row of records: length, its
// checksum, a protobuf message (event.proto), its checksum.
#ifndef DP_RUNTIME_TENSORBOARD_TENSORBOARD_H
#define DP_RUNTIME_TENSORBOARD_TENSORBOARD_H

#include <stdio.h>

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *path;
  FILE *file;        // NULL: the functions do nothing
  double flushed_s;  // when it was last flushed, in seconds since 1970
  int error;         // why a write failed; 0: none has
  bool out_of_memory;
} dp_tensorboard;

// Makes the folder if need be, and in it a file of this process. `path` lives in the arena. EX_CANTCREAT.
dp_status dp_tensorboard_open(dp_arena *arena, const char *folder, dp_tensorboard *board) DP_MUST_USE;
// Training goes on after this step: what files of the folder say of later ones is void.
void dp_tensorboard_go_on(dp_tensorboard *board, int64_t step);
// A point of the curve `tag`, such as "train/loss". Numbers have 32 bits there.
void dp_tensorboard_scalar(dp_tensorboard *board, int64_t step, const char *tag, double number);
// A text in Markdown.
void dp_tensorboard_text(dp_tensorboard *board, int64_t step, const char *tag, const char *text);

// A histogram in the making: of numbers that are finite, in equal parts between the least and the largest.
enum { DP_HISTOGRAM_PARTS = 64 };
typedef struct {
  double min, max, sum, squares;
  int64_t count;
  int64_t parts[DP_HISTOGRAM_PARTS];
} dp_histogram;
// Of (count) numbers; not_finite: receives how many were left out.
void dp_histogram_make(const double *numbers, size_t count, dp_histogram *histogram, size_t *not_finite);
void dp_tensorboard_histogram(dp_tensorboard *board, int64_t step, const char *tag, const dp_histogram *histogram);

// EX_IOERR: a write failed. Closes the file in any case.
dp_status dp_tensorboard_close(dp_tensorboard *board) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
