// A oneDNN primitive between operands in plain layouts: the one place, with isa.c, that calls oneDNN 2.6 (version 3 has
// another interface).
//
// oneDNN chooses the layouts in which it computes; where these are not plain, operands are copied into scratch before and
// the result out of it after. All memory but the primitive itself is the caller's. A primitive is made for a number of
// threads, is run by one thread at a time, and starts the others by OpenMP on its own.
#ifndef DP_BACKENDS_CPU_ONEDNN_PRIMITIVE_H
#define DP_BACKENDS_CPU_ONEDNN_PRIMITIVE_H

#include "ir/ops/geometry.h"

typedef enum {
  DP_PRIMITIVE_CONV,
  DP_PRIMITIVE_CONV_GRAD_INPUT,      // w, dy -> dx
  DP_PRIMITIVE_CONV_GRAD_WEIGHT,     // x, dy -> dw
  DP_PRIMITIVE_AVERAGE_POOL,         // over the elements inside
  DP_PRIMITIVE_AVERAGE_POOL_PADDED,  // over those in the padding too
  DP_PRIMITIVE_GLOBAL_AVERAGE_POOL,  // one window over all; the window's geometry says so
} dp_primitive_kind;

typedef struct {
  dp_primitive_kind kind;
  int64_t samples, x_channels, y_channels, groups;  // none is 0; groups: 1 for pooling
  dp_geometry window;                               // as dp_geometry_make gives it
  bool bias;                                        // of DP_PRIMITIVE_CONV
  int threads;
  // Of the whole tensors, before any split: elements of x and y of one sample, and of w. Chunks (chunks.h) are chosen by
  // these, the same on all devices.
  int64_t whole_sample, whole_weights;
} dp_primitive_spec;

// What a primitive works on: x (N, C, ...), w (M, C/groups, ...), bias (M), y (N, M, ...), or their gradients.
typedef struct {
  const void *x, *w, *bias, *y;
} dp_primitive_data;

typedef struct dp_primitive dp_primitive;

// Most scratch that the primitive takes. EX_SOFTWARE when oneDNN has none for this spec.
dp_status dp_primitive_scratch_bytes(const dp_primitive_spec *spec, uint64_t *bytes) DP_MUST_USE;
dp_status dp_primitive_create(const dp_primitive_spec *spec, dp_primitive **primitive) DP_MUST_USE;
void dp_primitive_destroy(dp_primitive *primitive);  // NULL is allowed
// Writes what the kind gives (y, dx as x, dw as w); reads the rest. scratch: as dp_primitive_scratch_bytes says, aligned to 64.
// add: dw is added to (dx and y are written all the same). again: the call before was of the same primitive, with the same w
// and scratch, so that w need not be copied once more.
dp_status dp_primitive_run(dp_primitive *primitive, const dp_primitive_data *data, void *scratch, bool add,
                           bool again) DP_MUST_USE;

// oneDNN writes the code of its matrix products at the first of them; done here, at load, so that no step waits for it.
dp_status dp_primitive_sgemm_prepare(int threads) DP_MUST_USE;
// y (m, n) = alpha * a' (m, k) * b' (k, n) + beta * y; row-major, a' and b' transposed as said; lda, ldb, ldy: elements
// between rows as stored. No extent is 0.
dp_status dp_primitive_sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                             int64_t lda, const float *b, int64_t ldb, float beta, float *y, int64_t ldy,
                             int threads) DP_MUST_USE;

#endif
