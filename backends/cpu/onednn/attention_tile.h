// Tiles of attention's scores, for the kernels that compute them by oneDNN's products. A tile is a block of rows
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

// The extents of a part's largest tile.
static inline int64_t dp_attention_tile_rows(const dp_attention *a) { return dp_min_i64(DP_TILE_ROWS, a->length); }
static inline int64_t dp_attention_tile_keys(const dp_attention *a) { return dp_min_i64(DP_TILE_KEYS, a->keys); }

// Whether Q, operand `q`, is float32 and has elements to multiply.
bool dp_attention_match(const dp_kernel_spec *spec, int q);
// At load: *state is the dp_attention_rows for the instruction set that this process computes by.
dp_status dp_attention_prepare(const dp_kernel_spec *spec, void **state) DP_MUST_USE;
// S, dense [rows, keys]. mask: the operand, if any.
dp_status dp_attention_tile_scores(const dp_attention *a, const dp_attention_tile *tile, const float *q, const float *k,
                                   const void *mask, float *s) DP_MUST_USE;
// Whether keys may be hidden from rows, by a bool mask or because they come later.
static inline bool dp_attention_may_hide(const dp_attention *a) { return a->causal || a->mask == DP_BOOL; }
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

#endif
