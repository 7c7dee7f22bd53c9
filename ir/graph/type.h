// Types of tensors: element types with ONNX's numbers, extents symbolic in n (samples present), shapes, constant
// tensors.
#ifndef DP_IR_GRAPH_TYPE_H
#define DP_IR_GRAPH_TYPE_H

#include "ir/graph/element.h"

#ifdef __cplusplus
extern "C" {
#endif

// Sets of types for schemas, one bit a type. Types narrower than a byte and one-byte floats are only stored, cast and
// quantized; nothing computes in them.
#define DP_BIT(dtype) (1u << (dtype))
#define DP_FLOATS (DP_BIT(DP_FLOAT32) | DP_BIT(DP_FLOAT64) | DP_BIT(DP_FLOAT16) | DP_BIT(DP_BFLOAT16))
#define DP_SIGNED (DP_BIT(DP_INT8) | DP_BIT(DP_INT16) | DP_BIT(DP_INT32) | DP_BIT(DP_INT64))
#define DP_UNSIGNED (DP_BIT(DP_UINT8) | DP_BIT(DP_UINT16) | DP_BIT(DP_UINT32) | DP_BIT(DP_UINT64))
#define DP_INTS (DP_SIGNED | DP_UNSIGNED)
#define DP_NUMBERS (DP_FLOATS | DP_INTS)
#define DP_ANY_TYPE (DP_NUMBERS | DP_BIT(DP_BOOL))
#define DP_FLOAT8S \
  (DP_BIT(DP_FLOAT8E4M3FN) | DP_BIT(DP_FLOAT8E4M3FNUZ) | DP_BIT(DP_FLOAT8E5M2) | DP_BIT(DP_FLOAT8E5M2FNUZ))
#define DP_SMALL_INTS (DP_BIT(DP_UINT4) | DP_BIT(DP_INT4) | DP_BIT(DP_UINT2) | DP_BIT(DP_INT2))
#define DP_SMALL (DP_FLOAT8S | DP_SMALL_INTS | DP_BIT(DP_FLOAT4E2M1) | DP_BIT(DP_FLOAT8E8M0))
#define DP_STORED (DP_ANY_TYPE | DP_SMALL)
// The types that reference kernels compute in. The other types of DP_ANY_TYPE are upcast to these (ir/kernel/kernel.h).
#define DP_UPCAST \
  (DP_BIT(DP_FLOAT32) | DP_BIT(DP_FLOAT64) | DP_BIT(DP_INT32) | DP_BIT(DP_INT64) | DP_BIT(DP_UINT64) | DP_BIT(DP_BOOL))

const char *dp_type_name(dp_dtype dtype);      // "float32"; "?" when unknown
dp_dtype dp_type_from_name(const char *name);  // DP_NO_TYPE when unknown; accepts "float" and "double" too
size_t dp_type_bytes(dp_dtype dtype);          // bytes per element; 0 when unknown
static inline bool dp_type_is_float(dp_dtype dtype) { return (DP_BIT(dtype) & DP_FLOATS) != 0; }

// An extent: scale * n + offset, n = samples present in the batch, 0 <= n <= B. A plain number has scale 0.
typedef struct {
  int64_t scale, offset;
} dp_dim;

enum { DP_MAX_RANK = 8 };

typedef struct {
  int rank;
  dp_dim dims[DP_MAX_RANK];
} dp_shape;

typedef struct {
  dp_dtype dtype;
  dp_shape shape;
} dp_type;

static inline dp_dim dp_dim_of(int64_t extent) { return (dp_dim){0, extent}; }
static inline dp_dim dp_dim_batch(void) { return (dp_dim){1, 0}; }
static inline bool dp_dim_is_symbolic(dp_dim d) { return d.scale != 0; }
static inline bool dp_dim_equal(dp_dim a, dp_dim b) { return a.scale == b.scale && a.offset == b.offset; }
static inline bool dp_dim_is(dp_dim d, int64_t extent) { return d.scale == 0 && d.offset == extent; }
static inline int64_t dp_dim_at(dp_dim d, int64_t n) { return d.scale * n + d.offset; }

// How the elements of a tensor lie on a device, dense over its local extents.
typedef enum {
  DP_LAYOUT_PLAIN = 0,  // the last dim's elements are neighbours
  DP_LAYOUT_NHWC,       // of rank 4: those of dim 1, then of dim 3, dim 2, dim 0
  DP_LAYOUT_NCHW8C,     // of rank 4: 8 of dim 1, then those of dim 3, dim 2, the other eighths of dim 1, dim 0
  DP_LAYOUT_NCHW16C,    // the same with 16
  // Of a convolution's weights, with whole blocks: 32 of dim 0, 16 of dim 1, then those of dim 3, dim 2, the other
  // sixteenths of dim 1, the other thirty-seconds of dim 0.
  DP_LAYOUT_OIHW16I32O,
  DP_N_LAYOUTS,
} dp_layout;

// The channels that lie side by side where a layout keeps them in blocks; 0: it does not.
static inline int64_t dp_layout_block(dp_layout layout) {
  return layout == DP_LAYOUT_NCHW8C ? 8 : layout == DP_LAYOUT_NCHW16C ? 16 : 0;
}

// The blocks of DP_LAYOUT_OIHW16I32O; whether a shape has whole ones, and elements.
enum { DP_LAYOUT_OUT_BLOCK = 32, DP_LAYOUT_IN_BLOCK = 16 };
bool dp_shape_in_weight_blocks(const dp_shape *shape);
// The place there of an element: of dims 0 and 1, and of dims 2 and 3 together.
static inline int64_t dp_weight_block_place(const int64_t extents[4], int64_t o, int64_t i, int64_t tap) {
  const int64_t in_blocks = extents[1] / DP_LAYOUT_IN_BLOCK, taps = extents[2] * extents[3];
  const int64_t block = (o / DP_LAYOUT_OUT_BLOCK * in_blocks + i / DP_LAYOUT_IN_BLOCK) * taps + tap;
  return (block * DP_LAYOUT_IN_BLOCK + i % DP_LAYOUT_IN_BLOCK) * DP_LAYOUT_OUT_BLOCK + o % DP_LAYOUT_OUT_BLOCK;
}

bool dp_shape_equal(const dp_shape *a, const dp_shape *b);
bool dp_type_equal(const dp_type *a, const dp_type *b);
bool dp_shape_is_symbolic(const dp_shape *shape);
// Extents at n. The number of elements is their product; both were checked for overflow when the shape was made.
void dp_shape_at(const dp_shape *shape, int64_t n, int64_t extents[DP_MAX_RANK]);
int64_t dp_shape_count(const dp_shape *shape, int64_t n);
// The product as scale * n + offset; false when it does not have that form (n squared) or overflows.
bool dp_shape_product(const dp_shape *shape, int first, int end, dp_dim *product);
// Refuses negative extents, products (times 16 bytes) beyond 2^62 at n, and ranks above DP_MAX_RANK.
dp_status dp_shape_check(const dp_shape *shape, int64_t n) DP_MUST_USE;
// "[N,3,2*N+1]". Returns `text`.
char *dp_shape_print(const dp_shape *shape, char *text, size_t bytes);
char *dp_type_print(const dp_type *type, char *text, size_t bytes);  // "float32[N,10]"
// ONNX's multidirectional broadcasting; EX_DATAERR names both shapes when they are incompatible.
dp_status dp_shape_broadcast(const dp_shape *a, const dp_shape *b, dp_shape *result) DP_MUST_USE;

// A tensor whose data is known: dense, row-major, native byte order.
typedef struct {
  dp_dtype dtype;
  int rank;
  int64_t extents[DP_MAX_RANK];
  size_t bytes;
  const void *data;
} dp_tensor;

int64_t dp_tensor_count(const dp_tensor *tensor);
double dp_tensor_get(const dp_tensor *tensor, int64_t index);  // any type, as double
dp_shape dp_tensor_shape(const dp_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
