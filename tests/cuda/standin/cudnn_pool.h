// Inside the stand-in of cuDNN: pooling (resampling forward), as it is read from its descriptors.
#ifndef DP_TESTS_CUDA_STANDIN_CUDNN_POOL_H
#define DP_TESTS_CUDA_STANDIN_CUDNN_POOL_H

#include "tests/cuda/standin/cudnn_private.h"

typedef struct {
  int64_t id, alignment, extents[5], strides[5];  // with three spatial dims; leading ones are 1
  int type;
  void *data;
} pooled;

typedef struct {
  bool maximum, counts;
  int64_t window[3], stride[3], pre[3], post[3];
  pooled x, y;
} pooling;

bool standin_cudnn_is_pooling(const descriptor *operation);
cudnnStatus_t standin_cudnn_check_window(const descriptor *d);
// CUDNN_STATUS_BAD_PARAM...: its parts do not fit.
cudnnStatus_t standin_cudnn_read_pooling(const descriptor *operation, pooling *p);
// The engines that a mode names, and the one of a number; NULL: it is none of these.
int standin_cudnn_pool_engines(int mode, const engine **engines);
const engine *standin_cudnn_pool_engine(int number);
// Computes; argument: a pooling whose addresses are set.
void standin_cudnn_pool(void *argument);

#endif
