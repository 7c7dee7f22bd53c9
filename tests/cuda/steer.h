// Steers the driver's stand-in, which a test does not link but loads, as the backend does. On a machine with a GPU,
// tests that do not depend on the stand-in run with the driver instead.
#ifndef DP_TESTS_CUDA_STEER_H
#define DP_TESTS_CUDA_STEER_H

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tests/cuda/standin/standin.h"

namespace dp_test {

inline bool IsStandin() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  return library && dlsym(library, "dp_standin_seed");
}

// Why a test is skipped on a GPU.
constexpr char kSteers[] = "the stand-in's engines and errors";

// The stand-in's function of that name and type.
template <typename Function>
Function Steer(const char *name) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  void *found = library ? dlsym(library, name) : nullptr;
  if (!found) ADD_FAILURE() << name << " is not in libcuda.so.1: LD_LIBRARY_PATH must name the stand-ins";
  return reinterpret_cast<Function>(found);
}
#define DP_STEER(function) Steer<decltype(&function)>(#function)

}  // namespace dp_test

#endif
