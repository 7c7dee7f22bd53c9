// See nvrtc.h.
#include "backends/cuda/gpu/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/api/library.h"
#include "backends/cuda/api/nvrtc.h"
#include "backends/cuda/gpu/expected.h"

static struct {
#define DP_CALL(name, parameters) nvrtcResult(*name) parameters;
  DP_CUDA_NVRTC_CALLS(DP_CALL)
#undef DP_CALL
} rtc;

static dp_cuda_library library = {
    .what = "NVRTC",
    .sonames = (const char *const[]){"libnvrtc.so.13", "libnvrtc.so.12", NULL},
    .folder = "nvidia/{cu1?,cuda_nvrtc}/lib",
    .calls =
        (const char *const[]){
#define DP_CALL(name, parameters) #name,
            DP_CUDA_NVRTC_CALLS(DP_CALL)
#undef DP_CALL
                NULL},
    .table = (void **)&rtc,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .of_toolkit = true,
};

void dp_cuda_nvrtc_expect(void) {
  static dp_cuda_expected expected = {{.work = dp_cuda_expected_load}, &library};
  dp_cuda_job_start(&expected.job);
}

dp_status dp_cuda_nvrtc_version(int *major, int *minor) {
  DP_TRY(dp_cuda_library_load(&library));
  if (rtc.nvrtcVersion(major, minor)) return dp_fail(EX_UNAVAILABLE, "NVRTC cannot be used on this machine");
  return DP_OK;
}

// NULL: there is none.
static char *log_of(nvrtcProgram program) {
  size_t bytes = 0;
  char *log = NULL;
  if (!rtc.nvrtcGetProgramLogSize(program, &bytes)) log = calloc(1, bytes + 1);
  if (log) rtc.nvrtcGetProgramLog(program, log);
  return log;
}

static dp_status refusal(nvrtcProgram program) {
  char *log = log_of(program);
  dp_status status = dp_fail(EX_SOFTWARE, "NVRTC refuses a function of this program: %s", log ? log : "");
  free(log);
  return status;
}

static dp_status compile(nvrtcProgram program, int major, int minor, char **code, size_t *bytes, bool verbose) {
  char architecture[64];
  snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
  // No contraction: a region's members give the bits that they give alone.
  const char *const options[] = {architecture, "--std=c++17", "--fmad=false", "-default-device", "--ptxas-options=-v"};
  if (rtc.nvrtcCompileProgram(program, (int)DP_COUNT(options) - !verbose, options)) return refusal(program);
  if (rtc.nvrtcGetCUBINSize(program, bytes)) return dp_fail(EX_SOFTWARE, "NVRTC has made no machine code");
  char *made = malloc(*bytes + 1);
  if (!made) return dp_fail(DP_EX_MEMORY, "no memory for the GPU's functions");
  if (rtc.nvrtcGetCUBIN(program, made)) {
    free(made);
    return dp_fail(EX_SOFTWARE, "NVRTC has made no machine code");
  }
  *code = made;
  return DP_OK;
}

dp_status dp_cuda_nvrtc_compile(const char *text, int major, int minor, char **code, size_t *bytes, char **log) {
  nvrtcProgram program;
  DP_TRY(dp_cuda_library_load(&library));
  if (rtc.nvrtcCreateProgram(&program, text, "dp.cu", 0, NULL, NULL))
    return dp_fail(EX_UNAVAILABLE, "NVRTC cannot be used on this machine");
  dp_status status = compile(program, major, minor, code, bytes, log != NULL);
  if (!status && log) *log = log_of(program);
  rtc.nvrtcDestroyProgram(&program);
  return status;
}
