// Gemm and MatMul by a function of our own: integers, which wrap, and what cuBLASLt is tested against.
#ifndef DP_BACKENDS_CUDA_PRODUCTS_PRODUCT_H
#define DP_BACKENDS_CUDA_PRODUCTS_PRODUCT_H

#include "backends/cuda/device/product.h"
#include "backends/cuda/gpu/function.h"

enum { DP_PRODUCT_TYPES = DP_FLOATS | DP_BIT(DP_INT32) | DP_BIT(DP_INT64) | DP_BIT(DP_UINT32) | DP_BIT(DP_UINT64) };

// Makes the state, which free releases: the function, and its arguments but for the addresses.
dp_status dp_cuda_product_prepare(dp_dtype dtype, const dp_product_arguments *arguments, void **state) DP_MUST_USE;
// c: NULL where there is none.
dp_status dp_cuda_product_enqueue(void *state, dp_queue *queue, const void *a, const void *b, const void *c,
                                  void *y) DP_MUST_USE;

#endif
