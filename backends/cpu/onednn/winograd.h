// Convolutions with kernels of 3 x 3 and stride 1 by Winograd's F(4x4, 3x3), for --fast-math=winograd: a fourth of the
// multiplications, and rounding errors that are some ten times as large (docs/precision.md).
//
// The unit of work is a row of tiles of one sample: 4 rows of the result. What belongs to the products of one point
// lies together, channels last.
#ifndef DP_BACKENDS_CPU_ONEDNN_WINOGRAD_H
#define DP_BACKENDS_CPU_ONEDNN_WINOGRAD_H

#include "backends/base/conv_extents.h"
#include "backends/cpu/vector/transpose.h"
#include "backends/cpu/vector/winograd.h"

// A plane of x has x[0] rows of x[1] elements; element (0, 0) of y sees x from (-pad[0], -pad[1]) on.
typedef struct {
  int64_t samples, x_channels, y_channels;
  int64_t x[2], y[2], pad[2];
} dp_winograd;

// What this process calls.
typedef struct {
  const dp_vector_winograd *vectors;
  dp_vector_transpose transpose;
} dp_winograd_table;

// Weights w[y channel, x channel, 3, 3] in any order of the first two: floats from one to the next. turned: by 180
// degrees, as the gradient of x needs them.
typedef struct {
  const float *first;
  int64_t y_stride, x_stride;
  bool turned;
} dp_winograd_weights;

// The convolution that a spec's x and w describe. Whether it is one that is worth while here: allowed, of float32, two
// spatial dims that are not split, and planes that tiles fill.
bool dp_winograd_of(const dp_kernel_spec *spec, const dp_local *x, const dp_local *w, dp_winograd *conv);
// The convolution by which the gradient of x is computed from that of y.
dp_winograd dp_winograd_turned(const dp_winograd *conv);

// Bytes for spec->threads parts: of convolve, and of weights_grad.
uint64_t dp_winograd_scratch_bytes(const dp_kernel_spec *spec, const dp_winograd *conv);

// At load: *state is the dp_winograd_table.
dp_status dp_winograd_prepare(const dp_kernel_spec *spec, void **state) DP_MUST_USE;

// y = x * w + bias. bias: NULL, or of each channel of y.
dp_status dp_winograd_convolve(const dp_winograd *conv, const dp_winograd_table *table, const float *x,
                               const dp_winograd_weights *w, const float *bias, float *y, void *scratch, int part,
                               int parts) DP_MUST_USE;
// dw[y channel, x channel, 3, 3], dense.
dp_status dp_winograd_weights_grad(const dp_winograd *conv, const dp_winograd_table *table, const float *x,
                                   const float *dy, float *dw, void *scratch, int part, int parts) DP_MUST_USE;

// What these kernels have in common: all of a dp_kernel but name, op, domain, match, scratch_bytes and run.
#define DP_WINOGRAD                                                                                               \
  .types = DP_BIT(DP_FLOAT32), .priority = 12, .library = true, .parts = true, .isa = true, .shares_state = true, \
  .prepare = dp_winograd_prepare

#endif
