// Machine code that was compiled before, in files of the user's. Private to the backend.
//
// The folder is $XDG_CACHE_HOME/dp or ~/.cache/dp; there is a file for each key. A file that is made here is the user's
// alone, whatever the umask, and comes under its name whole. One is taken only if nobody else may write it, and its
// content is the one that was kept under that key. Several processes may use the folder at the same time.
#ifndef DP_BACKENDS_CUDA_CACHE_H
#define DP_BACKENDS_CUDA_CACHE_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Finds what was kept under the key, the name of a file. The caller frees *code. Any thread may call this.
bool dp_cuda_cache_find(const char *key, char **code, size_t *bytes);
// Keeps the code under the key, if it can: what is not kept is compiled again. Any thread may call this.
void dp_cuda_cache_keep(const char *key, const char *code, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
