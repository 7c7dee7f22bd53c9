// The head of a network with many classes (ir/kernel/head.h) where it is no more than a product without a bias, the sum
// or mean of the cross entropy, and in training its gradient and the two products that take it.
#ifndef DP_BACKENDS_CUDA_BLASLT_LOSS_HEAD_H
#define DP_BACKENDS_CUDA_BLASLT_LOSS_HEAD_H

#include "backends/base/head.h"

#ifdef __cplusplus
extern "C" {
#endif

// Values and members of a region by number; -1: there is none.
typedef struct {
  bool transposed;        // w and dw = dy' x are (classes, features), else (features, classes), and dw = x' dy
  int32_t h, w, x;        // operands of the product; the rows that dw takes
  int32_t labels, dloss;  // operands
  int32_t loss, dh, dw;   // results
  int of_loss;            // the member that is the loss, or its gradient
  int64_t features, classes;
} dp_loss_head;

// Whether the region is such a head.
bool dp_loss_head_of(const dp_kernel_spec *region, dp_loss_head *head);

extern const dp_kernel dp_kernel_cuda_blaslt_Region;
// Adds the functions of that kernel, without a GPU.
dp_status dp_cuda_loss_head_add(const dp_kernel_spec *region) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
