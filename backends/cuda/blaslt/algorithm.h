// Which of cuBLASLt's algorithms computes a product. Private to the folder.
#ifndef DP_BACKENDS_CUDA_BLASLT_ALGORITHM_H
#define DP_BACKENDS_CUDA_BLASLT_ALGORITHM_H

#include "backends/cuda/blaslt/product.h"

// Sets algorithm and workspace of a product that is laid out, as dp_blaslt_product_make says.
dp_status dp_blaslt_algorithm_choose(dp_blaslt_product *product, bool *found) DP_MUST_USE;
// product.c: the library's description of a product. bias: its address; NULL: not known yet, or none.
dp_status dp_blaslt_describe(const dp_blaslt *blaslt, const dp_blaslt_spec *spec, const void *bias,
                             cublasLtMatmulDescOpaque_t *desc) DP_MUST_USE;

#endif
