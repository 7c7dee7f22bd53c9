// Machine code that was made beforehand: dprun --make-code writes it, on a machine that has NVRTC and needs no GPU;
// machines with GPUs then need no NVRTC. It lies in a folder that DP_CUDA_CODE names, or, where that is not set, in a
// folder `cuda_code` beside the program, which `bazel build //tools:cuda_code` makes. Private to the backend.
#ifndef DP_BACKENDS_CUDA_CODE_FOLDER_H
#define DP_BACKENDS_CUDA_CODE_FOLDER_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Finds a program's code for GPUs of that compute capability: of the same major number and of this minor number or a
// smaller one, as GPUs run it. *found: whether it is there; the caller frees *code. False where there is no such folder
// beside the program, or DP_CUDA_CODE is empty. Any thread may call this. EX_NOINPUT: there is no folder of that name;
// EX_CONFIG: others than the user and root may write there, or into a file of it; EX_DATAERR: a file is damaged.
dp_status dp_cuda_code_folder_find(const char *program, int major, int minor, char **code, size_t *bytes,
                                   bool *found) DP_MUST_USE;
// Makes the folder if need be. EX_CANTCREAT.
dp_status dp_cuda_code_folder_make(const char *folder) DP_MUST_USE;
// Puts a program's code there. EX_CANTCREAT.
dp_status dp_cuda_code_folder_put(const char *folder, const char *program, int major, int minor, const char *code,
                                  size_t bytes) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
