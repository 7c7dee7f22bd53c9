// See descriptor.h.
#include "backends/cuda/cudnn/descriptor.h"

static cudnnStatus_t fill(const dp_cudnn_calls *calls, int count, const dp_cudnn_attribute *attributes,
                          cudnnBackendDescriptor_t descriptor) {
  for (int i = 0; i < count; i++) {
    const dp_cudnn_attribute *a = &attributes[i];
    if (!a->values) continue;
    cudnnStatus_t status = calls->cudnnBackendSetAttribute(descriptor, a->name, a->type, a->count, a->values);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  return calls->cudnnBackendFinalize(descriptor);
}

cudnnStatus_t dp_cudnn_describe(const dp_cudnn_calls *calls, cudnnBackendDescriptorType_t type, int count,
                                const dp_cudnn_attribute *attributes, cudnnBackendDescriptor_t *made) {
  cudnnBackendDescriptor_t descriptor = NULL;
  cudnnStatus_t status = calls->cudnnBackendCreateDescriptor(type, &descriptor);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  status = fill(calls, count, attributes, descriptor);
  if (status == CUDNN_STATUS_SUCCESS)
    *made = descriptor;
  else
    calls->cudnnBackendDestroyDescriptor(descriptor);
  return status;
}
