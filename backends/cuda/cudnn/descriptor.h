// Descriptors of cuDNN: made, given their attributes, finalised. Private to the folder.
#ifndef DP_BACKENDS_CUDA_CUDNN_DESCRIPTOR_H
#define DP_BACKENDS_CUDA_CUDNN_DESCRIPTOR_H

#include "backends/cuda/cudnn/library.h"

#ifdef __cplusplus
extern "C" {
#endif

// Attribute `name` with `count` values of a type; values NULL: it is left out.
typedef struct {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t count;
  const void *values;
} dp_cudnn_attribute;

#define DP_CUDNN_ONE(NAME, TYPE, VALUE) \
  { NAME, TYPE, 1, VALUE }

// On success *made is the caller's, to be destroyed.
cudnnStatus_t dp_cudnn_describe(const dp_cudnn_calls *calls, cudnnBackendDescriptorType_t type, int count,
                                const dp_cudnn_attribute *attributes, cudnnBackendDescriptor_t *made);

#ifdef __cplusplus
}
#endif
#endif
