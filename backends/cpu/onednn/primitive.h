// A oneDNN primitive whose operands have plain layouts, or images in blocks of channels. Only this file's functions and
// isa.c call oneDNN 2.6 (version 3 has a different interface).
//
// oneDNN chooses the layouts that convolutions compute in. If one is not the caller's, the operand is copied to scratch
// before the computation, or the result from scratch after it. The caller owns all memory except the primitive itself.
// A primitive is made for a fixed number of threads; one thread at a time may run it, and it starts the others through
// OpenMP.
#ifndef DP_BACKENDS_CPU_ONEDNN_PRIMITIVE_H
#define DP_BACKENDS_CPU_ONEDNN_PRIMITIVE_H

#include "ir/ops/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  DP_PRIMITIVE_CONV,
  DP_PRIMITIVE_CONV_GRAD_INPUT,      // w, dy -> dx
  DP_PRIMITIVE_CONV_GRAD_WEIGHT,     // x, dy -> dw
  DP_PRIMITIVE_AVERAGE_POOL,         // padding does not count
  DP_PRIMITIVE_AVERAGE_POOL_PADDED,  // padding counts
  DP_PRIMITIVE_GLOBAL_AVERAGE_POOL,  // one window over everything; `window` must say so
} dp_primitive_kind;

typedef struct {
  dp_primitive_kind kind;
  int64_t samples, x_channels, y_channels, groups;  // all > 0; groups: 1 for pooling
  dp_geometry window;                               // from dp_geometry_make
  bool bias;                                        // for DP_PRIMITIVE_CONV
  // Convolutions: x, w, bias, y and their gradients are bfloat16, but dw is float32. Sums are float32, rounded once.
  bool bf16;
  bool packed;  // for DP_PRIMITIVE_CONV: w comes as dp_primitive_pack leaves it
  // For DP_PRIMITIVE_CONV and pooling of two dims: x, y lie in blocks of so many channels, 8 or 16, which divide
  // theirs. Pooling: both alike. 0: plain.
  int64_t x_block, y_block;
  int threads;
  // Where x, w and y are parts of the caller's tensors, what those have: channels and the extent of the first spatial
  // dim of x and of y, the input channels of a group of w. 0: they are whole.
  int64_t x_all_channels, y_all_channels, x_rows, y_rows, w_channels;
  bool grouped;  // w has a dim for groups, also if there is one
  // Elements of the whole tensors before any split: of one sample of x and y, and of w. Chunks (chunks.h) depend on
  // these, so they are the same on all devices.
  int64_t whole_sample, whole_weights;
} dp_primitive_spec;

// The data of one run: x (N, C, ...), w (M, C/groups, ...), bias (M), y (N, M, ...), or their gradients.
typedef struct {
  const void *x, *w, *bias, *y;
} dp_primitive_data;

typedef struct dp_primitive dp_primitive;

static inline int64_t dp_primitive_element_bytes(const dp_primitive_spec *p) { return p->bf16 ? 2 : 4; }

// Elements of one sample of x or of y.
static inline int64_t dp_primitive_sample(const dp_primitive_spec *p, bool of_x) {
  int64_t count = of_x ? p->x_channels : p->y_channels;
  for (int i = 0; i < p->window.rank; i++) count *= of_x ? p->window.x[i] : p->window.y[i];
  return count;
}

// Elements from one sample of x or of y to the next, of all rows.
static inline int64_t dp_primitive_step(const dp_primitive_spec *p, bool of_x) {
  const int64_t all = of_x ? p->x_all_channels : p->y_all_channels, own = of_x ? p->x_channels : p->y_channels;
  return dp_primitive_sample(p, of_x) / own * dp_max_i64(all, own);
}

// The most scratch that the primitive needs. EX_SOFTWARE: oneDNN has no primitive for this spec; for bf16, none that
// multiplies by the instruction for it.
dp_status dp_primitive_scratch_bytes(const dp_primitive_spec *spec, uint64_t *bytes) DP_MUST_USE;
// Whether the primitive computes on what lies in blocks as it lies, without a copy. EX_SOFTWARE as above.
dp_status dp_primitive_takes_blocks(const dp_primitive_spec *spec, bool *takes) DP_MUST_USE;
// The bytes of w in the layout that oneDNN chooses for it; 0: it is plain. Whether that of two specs is the same.
// Whether w of `part` lies in that of `whole` as oneDNN would lay it out alone, and from which byte on; `first`: the
// first of the whole's y_channels that it has. EX_SOFTWARE as above.
dp_status dp_primitive_packed_bytes(const dp_primitive_spec *spec, uint64_t *bytes) DP_MUST_USE;
dp_status dp_primitive_packs_alike(const dp_primitive_spec *a, const dp_primitive_spec *b, bool *alike) DP_MUST_USE;
dp_status dp_primitive_packed_part(const dp_primitive_spec *whole, const dp_primitive_spec *part, int64_t first,
                                   bool *alike, uint64_t *offset) DP_MUST_USE;
dp_status dp_primitive_create(const dp_primitive_spec *spec, dp_primitive **primitive) DP_MUST_USE;
void dp_primitive_destroy(dp_primitive *primitive);  // NULL is allowed
// Writes the result of the kind (y, dx as x, or dw as w) and reads the other operands. scratch: of
// dp_primitive_scratch_bytes, aligned to 64 bytes. add: accumulate dw instead of writing it (dx and y are always
// written). again: the previous run used the same primitive, w and scratch, so w need not be copied again.
dp_status dp_primitive_run(dp_primitive *primitive, const dp_primitive_data *data, void *scratch, bool add,
                           bool again) DP_MUST_USE;
// Copies w to the layout that oneDNN has chosen for it, of dp_primitive_packed_bytes. Only for a spec that is packed.
dp_status dp_primitive_pack(dp_primitive *primitive, const void *w, void *packed, void *scratch) DP_MUST_USE;

// y (m, n) = alpha * a' (m, k) * b' (k, n) + beta * y; row-major, a' and b' optionally transposed; lda, ldb, ldy:
// elements between rows as stored. No extent is 0.
dp_status dp_primitive_sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                             int64_t lda, const float *b, int64_t ldb, float beta, float *y, int64_t ldy,
                             int threads) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
