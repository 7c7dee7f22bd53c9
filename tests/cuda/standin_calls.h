// The calls of the stand-ins of the driver and of NVRTC, and a fixture that opens the device and, at the end, demands
// that everything is released.
#ifndef DP_TESTS_CUDA_STANDIN_CALLS_H
#define DP_TESTS_CUDA_STANDIN_CALLS_H

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/cuda/api/nvrtc.h"
#include "tests/cuda/standin/standin.h"

namespace dp_test {

// Every call as a function pointer. One that a stand-in lacks fails the test.
struct StandinCalls {
  StandinCalls();
#define DP_MEMBER(name, parameters) CUresult(*name) parameters;
  DP_CUDA_DRIVER_CALLS(DP_MEMBER)
#undef DP_MEMBER
#define DP_MEMBER(name, parameters) nvrtcResult(*name) parameters;
  DP_CUDA_NVRTC_CALLS(DP_MEMBER)
#undef DP_MEMBER
#define DP_STANDIN_CALLS(X) \
  X(dp_standin_count)       \
  X(dp_standin_report)      \
  X(dp_standin_seed)        \
  X(dp_standin_fail)        \
  X(dp_standin_memory)      \
  X(dp_standin_devices)     \
  X(dp_standin_clock) X(dp_standin_reset) X(dp_standin_enqueue) X(dp_standin_call) X(dp_standin_handles)
#define DP_MEMBER(name) decltype(&::name) name;
  DP_STANDIN_CALLS(DP_MEMBER)
#undef DP_MEMBER
};

class StandinTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Expects CUDA_SUCCESS of a call.
  void Try(CUresult result) { EXPECT_EQ(result, CUDA_SUCCESS); }
  CUdeviceptr Device(size_t bytes);
  template <typename T>
  T *Pinned(size_t count) {
    void *memory = nullptr;
    Try(cu.cuMemHostAlloc(&memory, count * sizeof(T), CU_MEMHOSTALLOC_PORTABLE));
    return static_cast<T *>(memory);
  }
  CUstream Stream(unsigned flags = CU_STREAM_NON_BLOCKING);
  CUevent Event(unsigned flags = CU_EVENT_DISABLE_TIMING);
  // Machine code of the text, with the prelude before it.
  std::vector<char> Compile(const std::string &source);
  CUfunction Load(const std::string &source, const char *name, CUmodule *module);
  template <typename T>
  CUresult Launch(CUfunction function, unsigned blocks, unsigned threads, CUstream stream, T arguments) {
    void *list[] = {&arguments};
    return cu.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, list, nullptr);
  }
  // What the stand-in said on stderr meanwhile.
  template <typename F>
  std::string Said(F run) {
    ::testing::internal::CaptureStderr();
    run();
    return ::testing::internal::GetCapturedStderr();
  }
  int64_t Held();  // things that are not released, but for the context

  StandinCalls cu;
};

template <typename T>
CUdeviceptr Address(T *memory) {
  return static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(memory));
}
template <typename T>
T *At(CUdeviceptr address) {
  return reinterpret_cast<T *>(static_cast<uintptr_t>(address));
}

}  // namespace dp_test

#endif
