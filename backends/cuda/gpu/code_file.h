// A file of machine code. What it holds is run, so it is taken only if nobody may write it who could not run code as
// the user anyway, and if it holds what was written under its key. Private to the backend.
#ifndef DP_BACKENDS_CUDA_CODE_FILE_H
#define DP_BACKENDS_CUDA_CODE_FILE_H

#include <sys/stat.h>

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether the user alone may write it; or_root: or root alone.
bool dp_cuda_code_is_private(const struct stat *file, bool or_root);
// Reads an open file. False: it is not private, not whole, or another key's. The caller frees *code.
bool dp_cuda_code_file_read(int file, const char *key, bool or_root, char **code, size_t *bytes);
// Writes a file of the user's alone, whatever the umask, which comes under its name whole.
bool dp_cuda_code_file_write(const char *path, const char *key, const char *code, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
