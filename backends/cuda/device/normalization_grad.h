// Gradients of normalizations of rows: LayerNormalization's and RMSNormalization's (ir/ops/normalization_grad.h).
#ifndef DP_BACKENDS_CUDA_DEVICE_NORMALIZATION_GRAD_H
#define DP_BACKENDS_CUDA_DEVICE_NORMALIZATION_GRAD_H

#include "backends/cuda/device/prelude.h"

enum { DP_NORMALIZATION_THREADS = 256, DP_NORMALIZATION_JOINING = 32 };  // JOINING: threads that join a column

typedef struct {
  double mean, invstd;
} dp_normalization_row;

// Sums over rows are made in `sums` parts, each of so many neighbouring rows, which a second launch adds in order:
// first those of dscale, then of dbias. Where neither is wanted, nobody uses the parts.
typedef struct {
  long long rows, length, sums;
  long long aligned;                   // whether vectors can be read and written at once
  double epsilon, share;               // share: of an element in a row's mean, 1 / length
  dp_normalization_row *statistics;    // (rows); of rows that are not held
  void *parts;                         // (sums, results, length) of type C
  const void *x, *scale, *dy, *other;  // other: what is added to dx
  void *dx, *narrow, *dscale, *dbias;  // narrow: dx as type U. The latter two may be NULL
} dp_normalization_grad_arguments;

#endif
