// What the stand-in of NVRTC has compiled before, kept between processes: many tests need the same functions, and the C
// compiler takes longer than they do.
#ifndef DP_TESTS_CUDA_STANDIN_KEPT_H
#define DP_TESTS_CUDA_STANDIN_KEPT_H

#include <stdbool.h>
#include <stddef.h>

// The file in the folder that DP_STANDIN_CODE names, by the text and everything that the compiler is told. The caller
// frees the path; NULL: nothing is kept, as there is no such variable, or the folder is not the user's own.
char *kept_path(const char *const *command, const char *text);
// Puts the file `made` there, if it can. Others may do so at the same time.
void kept_add(const char *path, const char *made);

#endif
