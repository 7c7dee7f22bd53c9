#include "tests/cuda/standin_calls.h"

#include <dlfcn.h>

extern "C" {
#include "backends/cuda/device/sources.h"
}

namespace dp_test {

namespace {

template <typename Function>
void Find(void *library, const char *name, Function *function) {
  void *found = library ? dlsym(library, name) : nullptr;
  ASSERT_NE(found, nullptr) << name << " is in no stand-in";
  *function = reinterpret_cast<Function>(found);
}

}  // namespace

StandinCalls::StandinCalls() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *compiler = dlopen("libnvrtc.so.13", RTLD_NOW);
#define DP_FIND(name, parameters) Find(driver, #name, &name);
  DP_CUDA_DRIVER_CALLS(DP_FIND)
#undef DP_FIND
#define DP_FIND(name, parameters) Find(compiler, #name, &name);
  DP_CUDA_NVRTC_CALLS(DP_FIND)
#undef DP_FIND
#define DP_FIND(name) Find(driver, #name, &name);
  DP_STANDIN_CALLS(DP_FIND)
#undef DP_FIND
}

void StandinTest::SetUp() {
  CUcontext context = nullptr;
  CUdevice device = -1;
  cu.dp_standin_reset();
  cu.dp_standin_seed(0);
  cu.dp_standin_memory(size_t{1} << 30);
  Try(cu.cuInit(0));
  Try(cu.cuDeviceGet(&device, 0));
  Try(cu.cuDevicePrimaryCtxRetain(&context, device));
  Try(cu.cuCtxSetCurrent(context));
}

void StandinTest::TearDown() {
  cu.dp_standin_reset();
  EXPECT_EQ(Held(), 0);
  Try(cu.cuDevicePrimaryCtxRelease_v2(0));
}

int64_t StandinTest::Held() {
  FILE *file = fopen("/dev/null", "w");
  int64_t held = cu.dp_standin_report(file) - cu.dp_standin_count().contexts;
  fclose(file);
  return held;
}

CUdeviceptr StandinTest::Device(size_t bytes) {
  CUdeviceptr memory = 0;
  Try(cu.cuMemAlloc_v2(&memory, bytes));
  return memory;
}

CUstream StandinTest::Stream(unsigned flags) {
  CUstream stream = nullptr;
  Try(cu.cuStreamCreateWithPriority(&stream, flags, 0));
  return stream;
}

CUevent StandinTest::Event(unsigned flags) {
  CUevent event = nullptr;
  Try(cu.cuEventCreate(&event, flags));
  return event;
}

std::vector<char> StandinTest::Compile(const std::string &source) {
  const char *const options[] = {"--gpu-architecture=sm_90", "--std=c++17", "-default-device"};
  nvrtcProgram program = nullptr;
  std::string text = dp_cuda_source_prelude + source;
  EXPECT_EQ(cu.nvrtcCreateProgram(&program, text.c_str(), "test.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
  nvrtcResult result = cu.nvrtcCompileProgram(program, 3, options);
  size_t bytes = 0;
  cu.nvrtcGetProgramLogSize(program, &bytes);
  std::string log(bytes, 0);
  cu.nvrtcGetProgramLog(program, log.data());
  EXPECT_EQ(result, NVRTC_SUCCESS) << log;
  EXPECT_EQ(cu.nvrtcGetCUBINSize(program, &bytes), NVRTC_SUCCESS);
  std::vector<char> image(bytes);
  EXPECT_EQ(cu.nvrtcGetCUBIN(program, image.data()), NVRTC_SUCCESS);
  EXPECT_EQ(cu.nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
  return image;
}

CUfunction StandinTest::Load(const std::string &source, const char *name, CUmodule *module) {
  CUfunction function = nullptr;
  std::vector<char> image = Compile(source);
  Try(cu.cuModuleLoadData(module, image.data()));
  Try(cu.cuModuleGetFunction(&function, *module, name));
  return function;
}

}  // namespace dp_test
