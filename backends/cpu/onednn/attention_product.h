// Products of attention's tiles of float32, which are too small for a library: it takes them apart and copies them as
// it does with large ones.
#ifndef DP_BACKENDS_CPU_ONEDNN_ATTENTION_PRODUCT_H
#define DP_BACKENDS_CPU_ONEDNN_ATTENTION_PRODUCT_H

#include "backends/cpu/reference/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

// dp_attention_type.room_bytes and .multiply.
int64_t dp_attention_product_bytes(const dp_attention *a);
dp_status dp_attention_product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const void *a,
                               int64_t lda, const void *b, int64_t ldb, float beta, float *y, int64_t ldy,
                               void *room) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
