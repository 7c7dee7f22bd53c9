// The calls of NVRTC that the backend makes. See driver.h.
#ifndef DP_BACKENDS_CUDA_API_NVRTC_H
#define DP_BACKENDS_CUDA_API_NVRTC_H

#include <stddef.h>

#ifdef DP_CUDA_TOOLKIT
#include <nvrtc.h>
#else
typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;
#endif

#define DP_CUDA_NVRTC_CONSTANTS(X) \
  X(NVRTC_SUCCESS, 0)              \
  X(NVRTC_ERROR_COMPILATION, 6)

#ifndef DP_CUDA_TOOLKIT
enum {
#define DP_CONSTANT(name, value) name = value,
  DP_CUDA_NVRTC_CONSTANTS(DP_CONSTANT)
#undef DP_CONSTANT
};
#endif

// X(name, parameters): each returns an nvrtcResult.
#define DP_CUDA_NVRTC_CALLS(X)                                                                        \
  X(nvrtcVersion, (int *major, int *minor))                                                           \
  X(nvrtcCreateProgram, (nvrtcProgram * program, const char *source, const char *name, int n_headers, \
                         const char *const *headers, const char *const *include_names))               \
  X(nvrtcDestroyProgram, (nvrtcProgram * program))                                                    \
  X(nvrtcCompileProgram, (nvrtcProgram program, int n_options, const char *const *options))           \
  X(nvrtcGetCUBINSize, (nvrtcProgram program, size_t * bytes))                                        \
  X(nvrtcGetCUBIN, (nvrtcProgram program, char *image))                                               \
  X(nvrtcGetProgramLogSize, (nvrtcProgram program, size_t * bytes))                                   \
  X(nvrtcGetProgramLog, (nvrtcProgram program, char *log))

#endif
