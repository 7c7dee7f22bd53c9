// Loading cuDNN. See library.h.
#include "backends/cuda/cudnn/library.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "backends/cuda/api/library.h"
#include "backends/cuda/gpu/expected.h"
#include "backends/cuda/gpu/gpu.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static dp_cudnn_calls cudnn;
static cudnnHandle_t handles[DP_CUDA_MOST_GPUS];

static dp_cuda_library library = {
    .what = "cuDNN",
    .sonames = (const char *const[]){"libcudnn.so.9", NULL},
    .folder = "nvidia/cudnn/lib",
    .calls =
        (const char *const[]){
#define DP_CALL(name, parameters) #name,
            DP_CUDA_CUDNN_CALLS(DP_CALL)
#undef DP_CALL
                NULL},
    .table = (void **)&cudnn,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

// The name of a status.
static const char *name_of(cudnnStatus_t status) {
  static const struct {
    const char *name;
    int value;
  } constants[] = {
#define DP_CONSTANT(name, value) {#name, value},
      DP_CUDA_CUDNN_CONSTANTS(DP_CONSTANT)
#undef DP_CONSTANT
  };
  static const char prefix[] = "CUDNN_STATUS_";
  for (size_t i = 0; i < DP_COUNT(constants); i++)
    if (constants[i].value == (int)status && !strncmp(constants[i].name, prefix, sizeof prefix - 1))
      return constants[i].name;
  return "an unknown status";
}

dp_status dp_cudnn_check(cudnnStatus_t status, const char *call) {
  if (status == CUDNN_STATUS_SUCCESS) return DP_OK;
  DP_TRY(dp_cuda_blamed());
  bool memory = status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
                status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
  return dp_fail(memory ? DP_EX_MEMORY : EX_UNAVAILABLE, "cuDNN: %s gives %s (%d)", call, name_of(status), (int)status);
}

void dp_cudnn_expect(void) {
  static dp_cuda_expected expected = {{.work = dp_cuda_expected_load}, &library};
  dp_cuda_job_start(&expected.job);
}

dp_status dp_cudnn_load(const dp_cudnn_calls **calls) {
  DP_TRY(dp_cuda_library_load(&library));
  *calls = &cudnn;
  return DP_OK;
}

dp_status dp_cudnn_open(cudnnHandle_t *handle) {
  const dp_cuda_gpu *gpu = dp_cuda_gpu_current();
  cudnnHandle_t *of_gpu = &handles[gpu->ordinal];
  pthread_mutex_lock(&lock);
  dp_status status = dp_cuda_library_load(&library);
  if (!status) status = dp_cuda_gpu_use(gpu);
  if (!status && !*of_gpu) status = dp_cudnn_check(cudnn.cudnnCreate(of_gpu), "cudnnCreate");
  pthread_mutex_unlock(&lock);
  if (!status) *handle = *of_gpu;
  return status;
}

dp_status dp_cudnn_execute(cudaStream_t stream, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t variant_pack) {
  const cudnnHandle_t handle = handles[dp_cuda_gpu_current()->ordinal];
  pthread_mutex_lock(&lock);
  dp_status status = dp_cudnn_check(cudnn.cudnnSetStream(handle, stream), "cudnnSetStream");
  if (!status) status = dp_cudnn_check(cudnn.cudnnBackendExecute(handle, plan, variant_pack), "cudnnBackendExecute");
  pthread_mutex_unlock(&lock);
  return status;
}

static dp_status get_property(int property, int *value) {
  return dp_cudnn_check(cudnn.cudnnGetProperty((libraryPropertyType)property, value), "cudnnGetProperty");
}

dp_status dp_cudnn_version_number(int *number) {
  int major, minor, patch;
  DP_TRY(dp_cuda_library_load(&library));
  DP_TRY(get_property(DP_CUDA_MAJOR_VERSION, &major));
  DP_TRY(get_property(DP_CUDA_MINOR_VERSION, &minor));
  DP_TRY(get_property(DP_CUDA_PATCH_LEVEL, &patch));
  *number = major * 10000 + minor * 100 + patch;
  return DP_OK;
}

dp_status dp_cudnn_version(char *text, size_t room) {
  int number;
  DP_TRY(dp_cudnn_version_number(&number));
  snprintf(text, room, "%s %d.%d.%d", library.what, number / 10000, number / 100 % 100, number % 100);
  return DP_OK;
}
