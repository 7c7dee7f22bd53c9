// Single scores of attention. A file that includes this has T defined; L, the type of the logarithms of a row's sums,
// which is float32 for 16 bits; MASK (0: none, 1: bool, 2: numbers, which MASK_AT(mask, i) reads, 3: none, but keys
// that come later are hidden) and DROPS (whether there is dropout). DP_ATTENTION_SCORES defines the functions; SCORE_OF
// makes a score of a query's product with a key.
#ifndef DP_BACKENDS_CUDA_DEVICE_ATTENTION_SCORES_H
#define DP_BACKENDS_CUDA_DEVICE_ATTENTION_SCORES_H

#include "backends/cuda/device/attention.h"
#include "backends/cuda/device/block.h"

#define DP_EXPONENTIAL(x) (sizeof(W) == 4 ? (double)expf((float)(x)) : exp(x))

// One row of the scores: where its query, and the first key and value of its group are.
typedef struct {
  dp_i64 row, q, y, k, v, mask;  // row: of the scores; the others: elements
  dp_i64 place;                  // of its query in the whole sequence
} dp_attention_row;

DP_DEVICE dp_attention_row dp_attention_row_of(const dp_attention_arguments *a, dp_i64 b, dp_i64 h, dp_i64 l) {
  const dp_i64 query = b * a->length + l, key = b * a->keys, group = h / a->each;
  const dp_attention_row row = {(b * a->heads + h) * a->length + l,
                                query * a->q_row + h * a->size,
                                (query * a->heads + h) * a->v_size,
                                key * a->k_row + group * a->size,
                                key * a->v_row + group * a->v_size,
                                b * a->mask_stride[0] + h * a->mask_stride[1] + l * a->mask_stride[2],
                                a->first + l};
  return row;
}

#define DP_ATTENTION_SCORES(SCORE, SCORE_OF, KEEP, HIDDEN)                                                      \
  /* Whether key j is hidden from the row. */                                                                   \
  DP_DEVICE bool HIDDEN(const dp_attention_arguments *a, const dp_attention_row *r, dp_i64 j) {                 \
    if (MASK == 3) return j > r->place;                                                                         \
    return MASK == 1 && !((const bool *)a->mask)[r->mask + j * a->mask_stride[3]];                              \
  }                                                                                                             \
  DP_DEVICE double SCORE_OF(const dp_attention_arguments *a, const dp_attention_row *r, dp_i64 j, double sum) { \
    if (HIDDEN(a, r, j)) return a->masked;                                                                      \
    sum *= a->scale;                                                                                            \
    return MASK == 2 ? sum + (double)MASK_AT(a->mask, r->mask + j * a->mask_stride[3]) : sum;                   \
  }                                                                                                             \
  DP_DEVICE double SCORE(const dp_attention_arguments *a, const dp_attention_row *r, dp_i64 j) {                \
    const T *q = (const T *)a->q + r->q, *k = (const T *)a->k + r->k + j * a->k_row;                            \
    double sum = 0;                                                                                             \
    if (HIDDEN(a, r, j)) return a->masked;                                                                      \
    for (dp_i64 c = 0; c < a->size; c++) sum += (double)GET(q[c]) * (double)GET(k[c]);                          \
    return SCORE_OF(a, r, j, sum);                                                                              \
  }                                                                                                             \
  /* What dropout multiplies the probability by. */                                                             \
  DP_DEVICE double KEEP(const dp_attention_arguments *a, const dp_attention_row *r, dp_i64 j) {                 \
    dp_u32 word[4];                                                                                             \
    if (!DROPS) return 1;                                                                                       \
    const dp_i64 index = dp_place_of(&a->draw.place, r->row * a->keys + j);                                     \
    dp_draw_block(&a->draw, (dp_u64)index / 4, word);                                                           \
    return dp_draw_uniform(word[index % 4]) >= a->ratio ? 1 / (1 - a->ratio) : 0;                               \
  }

#endif
