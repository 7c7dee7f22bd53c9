// Products whose result is low: B, which has many elements, is read once and where it lies, by tiles as high as the
// result. oneDNN's suit more rows.
#ifndef DP_BACKENDS_CPU_ONEDNN_LOW_PRODUCT_H
#define DP_BACKENDS_CPU_ONEDNN_LOW_PRODUCT_H

#include "backends/cpu/onednn/sgemm.h"

// Whether this rectangle of alpha * op(A) op(B) + beta * y is such a product.
bool dp_low_product_fits(const dp_sgemm *sgemm, const dp_sgemm_share *share, float alpha, float beta);
// Bytes for a part's copies. No product of smaller extents needs more.
uint64_t dp_low_product_bytes(const dp_sgemm *sgemm);
// The rectangle's columns but those beyond the last block, of which it returns the number. As dp_sgemm_run.
int64_t dp_low_product_run(const dp_sgemm *sgemm, const dp_sgemm_share *share, const float *a, const float *b,
                           float beta, float *y, void *room);

#endif
