// Functions of loaded modules.
#ifndef DP_TESTS_CUDA_STANDIN_MODULE_H
#define DP_TESTS_CUDA_STANDIN_MODULE_H

#include "tests/cuda/standin/state.h"

struct CUfunc_st {
  CUfunction next;
  CUmodule module;
  char *name;
  void (*entry)(const void *arguments);
  size_t argument_bytes;
  bool together;     // the threads of a block work together
  int most_threads;  // of a block
};

// NULL, or what the stand-in does not know: the function's module was unloaded, or it never was a function.
bool standin_is_function(CUfunction function);
int standin_function_device(CUfunction function);
// DP_SHARED of the module, on this thread. They are thread-local variables of the shared object.
void *standin_shared(CUmodule module, size_t *bytes);

#endif
