// Tiles of attention's scores, for the kernels that compute them by products of matrices. A tile is a block of rows
// (queries of one head) by a block of keys, small enough for a core's cache.
#ifndef DP_BACKENDS_CPU_ONEDNN_ATTENTION_TILE_H
#define DP_BACKENDS_CPU_ONEDNN_ATTENTION_TILE_H

#include "backends/cpu/reference/attention.h"
#include "backends/cpu/vector/attention_rows.h"

enum { DP_TILE_ROWS = 128, DP_TILE_KEYS = 256 };

typedef struct {
  int64_t batch, head, group;
  int64_t row, key;    // the first
  int64_t rows, keys;  // how many
} dp_attention_tile;

// y (m, n) = alpha * a' (m, k) * b' (k, n) + beta * y, as dp_primitive_sgemm has it, of a type's elements.
typedef dp_status dp_attention_multiply(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                                        const void *a, int64_t lda, const void *b, int64_t ldb, float beta, float *y,
                                        int64_t ldy, void *room);

// What depends on the type of Q, K, V, Y and their gradients. Sums, scores and statistics are float32.
typedef struct {
  int64_t bytes;  // of an element
  // Rows of a block where keys may be hidden and the sequence is short; DP_TILE_ROWS at most.
  int64_t few_rows;
  dp_attention_multiply *multiply;
  // Bytes that the products of a tile need at a time, and no smaller attention more. NULL: none.
  int64_t (*room_bytes)(const dp_attention *a);
  // A tile as an operand of multiply: itself, or rounded, in the room.
  const void *(*operand)(int64_t count, const float *tile, void *room);
  // Rounds a row of sums. NULL: sums are of the type.
  void (*round)(int64_t count, const void *sums, void *row);
  double (*dot)(int64_t count, const void *x, const void *y);
} dp_attention_type;

extern const dp_attention_type dp_attention_float32;

static inline int64_t dp_attention_room_bytes(const dp_attention *a, const dp_attention_type *type) {
  return type->room_bytes ? type->room_bytes(a) : 0;
}
// The element at `at`.
static inline const void *dp_attention_at(const dp_attention_type *type, const void *first, int64_t at) {
  return (const char *)first + at * type->bytes;
}
static inline void *dp_attention_to(const dp_attention_type *type, void *first, int64_t at) {
  return (char *)first + at * type->bytes;
}

// The extents of a part's largest tile.
static inline int64_t dp_attention_tile_rows(const dp_attention *a) { return dp_min_i64(DP_TILE_ROWS, a->length); }
static inline int64_t dp_attention_tile_keys(const dp_attention *a) { return dp_min_i64(DP_TILE_KEYS, a->keys); }

// Rows of a block, but for the last of a head.
int64_t dp_attention_block_rows(const dp_attention *a, const dp_attention_type *type);

// Whether Q, operand `q`, is float32 and has elements to multiply.
bool dp_attention_match(const dp_kernel_spec *spec, int q);
// At load: *state is the dp_attention_rows for the instruction set that this process computes by.
dp_status dp_attention_prepare(const dp_kernel_spec *spec, void **state) DP_MUST_USE;
// S, dense [rows, keys]. mask: the operand, if any. room: for products.
dp_status dp_attention_tile_scores(const dp_attention *a, const dp_attention_type *type, const dp_attention_tile *tile,
                                   const void *q, const void *k, const void *mask, float *s, void *room) DP_MUST_USE;
// Whether keys may be hidden from rows, by a bool mask or because they come later.
static inline bool dp_attention_may_hide(const dp_attention *a) { return a->causal || a->mask == DP_BOOL; }
// How many keys of the tile, from its first on, are surely not hidden from the row.
int64_t dp_attention_tile_shown(const dp_attention *a, const dp_attention_tile *tile, int64_t row);
// Whether the key is hidden from the row, both counted in the tile.
bool dp_attention_tile_hides(const dp_attention *a, const dp_attention_tile *tile, const void *mask, int64_t row,
                             int64_t key);
// How many keys there are up to the last that is not hidden from all rows of the tile.
int64_t dp_attention_tile_seen(const dp_attention *a, const dp_attention_tile *tile, const void *mask);
// Whether keys that are hidden from all of the tile's rows have no share in any of them, so that they can be left
// out: their probability is 0 in float32. most: of each row, the largest score or the logarithm of the sum.
bool dp_attention_tile_ends(const dp_attention *a, const dp_attention_tile *tile, const float *most);
// What dropout multiplies the probabilities of a row of the tile by. a->ratio is not 0.
void dp_attention_tile_keep(const dp_attention *a, const dp_attention_rows *rows, const dp_attention_tile *tile,
                            const dp_random *random, int64_t row, float keep[DP_TILE_KEYS]);

// dp_kernel.scratch_bytes and run of dp.ScaledDotProductAttention and of its gradient, in parts. state: as
// dp_attention_prepare has it.
uint64_t dp_attention_scratch_bytes(const dp_kernel_spec *spec, const dp_attention_type *type);
dp_status dp_attention_run(const dp_attention_type *type, const dp_call *call, const void *state) DP_MUST_USE;
uint64_t dp_attention_grad_scratch_bytes(const dp_kernel_spec *spec, const dp_attention_type *type);
dp_status dp_attention_grad_run(const dp_attention_type *type, const dp_call *call, const void *state) DP_MUST_USE;

#endif
