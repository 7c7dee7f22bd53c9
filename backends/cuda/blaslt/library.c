// Loading cuBLASLt. See library.h.
#include "backends/cuda/blaslt/library.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "backends/cuda/api/library.h"
#include "backends/cuda/gpu/expected.h"
#include "backends/cuda/gpu/gpu.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static dp_blaslt the_one;  // as it was loaded
static dp_blaslt of_gpu[DP_CUDA_MOST_GPUS];

static dp_cuda_library library = {
    .what = "cuBLASLt",
    .sonames = (const char *const[]){"libcublasLt.so.13", "libcublasLt.so.12", NULL},
    .folder = "nvidia/{cu13,cublas}/lib",
    .calls =
        (const char *const[]){
#define DP_CALL(name, parameters) #name,
            DP_CUDA_BLASLT_CALLS(DP_CALL)
#undef DP_CALL
                NULL},
    .table = (void **)&the_one.calls,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .of_toolkit = true,
};

// The name of a status.
static const char *name_of(cublasStatus_t status) {
  static const struct {
    const char *name;
    int value;
  } constants[] = {
#define DP_CONSTANT(name, value) {#name, value},
      DP_CUDA_BLASLT_CONSTANTS(DP_CONSTANT)
#undef DP_CONSTANT
  };
  static const char prefix[] = "CUBLAS_STATUS_";
  for (size_t i = 0; i < DP_COUNT(constants); i++)
    if (constants[i].value == (int)status && !strncmp(constants[i].name, prefix, sizeof prefix - 1))
      return constants[i].name;
  return "an unknown status";
}

dp_status dp_blaslt_check(cublasStatus_t status, const char *call) {
  if (status == CUBLAS_STATUS_SUCCESS) return DP_OK;
  DP_TRY(dp_cuda_blamed());
  return dp_fail(status == CUBLAS_STATUS_ALLOC_FAILED ? DP_EX_MEMORY : EX_UNAVAILABLE, "cuBLASLt: %s gives %s (%d)",
                 call, name_of(status), (int)status);
}

void dp_blaslt_expect(void) {
  static dp_cuda_expected expected = {{.work = dp_cuda_expected_load}, &library};
  dp_cuda_job_start(&expected.job);
}

static dp_status open_once(const dp_cuda_gpu *gpu) {
  dp_blaslt *b = &of_gpu[gpu->ordinal];
  DP_TRY(dp_cuda_library_load(&library));
  if (b->handle) return DP_OK;
  b->calls = the_one.calls;
  DP_TRY(dp_cuda_gpu_use(gpu));
  DP_BLASLT_TRY(b, cublasLtCreate, &b->handle);
  return DP_OK;
}

dp_status dp_blaslt_open(const dp_blaslt **blaslt) {
  pthread_mutex_lock(&lock);
  const dp_cuda_gpu *gpu = dp_cuda_gpu_current();
  dp_status status = open_once(gpu);
  pthread_mutex_unlock(&lock);
  if (!status) *blaslt = &of_gpu[gpu->ordinal];
  return status;
}

dp_status dp_blaslt_version(char *text, size_t room) {
  int major, minor, patch;
  DP_TRY(dp_cuda_library_load(&library));
  DP_BLASLT_TRY(&the_one, cublasLtGetProperty, (libraryPropertyType)DP_CUDA_MAJOR_VERSION, &major);
  DP_BLASLT_TRY(&the_one, cublasLtGetProperty, (libraryPropertyType)DP_CUDA_MINOR_VERSION, &minor);
  DP_BLASLT_TRY(&the_one, cublasLtGetProperty, (libraryPropertyType)DP_CUDA_PATCH_LEVEL, &patch);
  snprintf(text, room, "%s %d.%d.%d", library.what, major, minor, patch);
  return DP_OK;
}
