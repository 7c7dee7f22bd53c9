// The frame of a region whose members work on rows, and how it is divided into chunks (rows.c).
#ifndef DP_BACKENDS_CPU_ROW_FRAME_H
#define DP_BACKENDS_CPU_ROW_FRAME_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// The extents of the largest values, and the first dim of a row.
typedef struct {
  int rank, row;
  int64_t extents[DP_MAX_RANK];
} dp_row_frame;

// The frame of a region. False: some member does not work on rows, or some value does not fit.
bool dp_row_frame_of(const dp_kernel_spec *spec, dp_row_frame *f);

// The elements of the dims from `first` on. Empty dims count as one, since something may be reduced from them.
int64_t dp_row_frame_elements(const dp_row_frame *f, int first);

enum { DP_ROW_CHUNK = 2048 };  // elements of a chunk of more than one row

// How the frame is divided.
typedef struct {
  int dim;              // dims before it are iterated one by one, those after it are whole; -1: everything is one chunk
  int64_t step, along;  // of `dim`: extent of a chunk, chunks
  int64_t count;        // chunks
} dp_row_division;

dp_row_division dp_row_frame_divide(const dp_row_frame *f);

#ifdef __cplusplus
}
#endif
#endif
