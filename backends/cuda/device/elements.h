// GatherElements and ScatterElements: indices replace one coordinate of their own position.
#ifndef DP_BACKENDS_CUDA_DEVICE_ELEMENTS_H
#define DP_BACKENDS_CUDA_DEVICE_ELEMENTS_H

#include "backends/cuda/device/index.h"

enum { DP_ELEMENTS_RANK = 8 };  // the most dims

// extents: of the indices; data_extents: of the data.
typedef struct {
  long long count, rank, axis;  // count: results of Gather, or lines of indices along the axis
  long long narrow;             // whether indices are counted in 32 bits
  long long extents[DP_ELEMENTS_RANK], data_extents[DP_ELEMENTS_RANK];
  long long length, inner, data_inner;  // indices of a line; the distance of its elements, in indices and data
  dp_index_dim dim;
  const void *indices;
  const void *x;  // the data of Gather, the updates of Scatter
  void *y;
} dp_elements_arguments;

// Where in the data the line begins that position i of the indices lies on.
DP_DEVICE dp_i64 dp_elements_line(const dp_elements_arguments *a, dp_i64 i) {
  dp_i64 offset = 0, stride = 1;
  for (int d = (int)a->rank - 1; d > 0; d--) {
    const dp_i64 before = a->narrow ? (dp_i64)((dp_u32)i / (dp_u32)a->extents[d]) : i / a->extents[d];
    if (d != a->axis) offset += (i - before * a->extents[d]) * stride;
    i = before;
    stride *= a->data_extents[d];
  }
  return a->axis ? offset + i * stride : offset;
}

#endif
