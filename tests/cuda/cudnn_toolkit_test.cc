// Where cuDNN is installed: its heuristics plan the convolutions of usual networks for an H200, which need not be
// there, since cuDNN also plans for a device that is described to it (since 9.8). Shows that the graphs are what cuDNN
// takes, and that there is an engine of full precision, the same bits in every run, within the scratch that kernels
// declare.
#include <gtest/gtest.h>

#include <cstdio>

#include "backends/cuda/cudnn/convolution.h"
#include "backends/cuda/cudnn/descriptor.h"

namespace dp_test {
namespace {

constexpr char kH200[] =
    R"({"deviceVer":900,"driverVer":13000,"cudaDeviceId":0,"totalGlobalMem":150754820096,)"
    R"("maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
    R"("multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
    R"("maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,)"
    R"("maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":9019,"isTccDriver":0,)"
    R"("supportCoopLaunch":1,"smClockRateKHz":1980000,"memClockRateKHz":3201000,"l2CacheSize":62914560,)"
    R"("deviceName":"NVIDIA H200"})";

struct Layer {
  const char *name;
  int spatial;
  int64_t samples, x_channels, extent, y_channels, groups, kernel, stride, pad_begin, pad_end, dilation;
};

const Layer kLayers[] = {
    {"first of an MNIST CNN", 2, 64, 1, 28, 64, 1, 3, 1, 1, 1, 1},
    {"second of an MNIST CNN", 2, 64, 64, 28, 128, 1, 3, 1, 1, 1, 1},
    {"ResNet-18, 32x32", 2, 64, 64, 32, 64, 1, 3, 1, 1, 1, 1},
    {"ResNet-18, stride 2", 2, 64, 64, 32, 128, 1, 3, 2, 1, 1, 1},
    {"ResNet-18, 1x1 stride 2", 2, 64, 64, 32, 128, 1, 1, 2, 0, 0, 1},
    {"VGG-11, last", 2, 64, 512, 4, 512, 1, 3, 1, 1, 1, 1},
    {"ResNet-50, first", 2, 32, 3, 224, 64, 1, 7, 2, 3, 3, 1},
    {"depthwise", 2, 16, 32, 16, 32, 32, 3, 1, 1, 1, 1},
    {"groups", 2, 16, 32, 16, 32, 4, 3, 1, 1, 1, 1},
    {"dilated, stride 2", 2, 16, 8, 17, 8, 1, 3, 2, 2, 2, 2},
    {"pads at one end", 2, 16, 8, 16, 8, 1, 2, 1, 0, 1, 1},
    {"three dims, groups", 3, 4, 8, 8, 8, 2, 3, 2, 1, 1, 1},
    {"one element", 2, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1},
};

dp_cudnn_spec SpecOf(const Layer &l, dp_cudnn_kind kind, dp_dtype dtype) {
  dp_cudnn_spec s{};
  s.kind = kind;
  s.dtype = dtype;
  s.spatial = l.spatial;
  s.x[0] = s.y[0] = l.samples;
  s.x[1] = l.x_channels;
  s.w[0] = s.y[1] = l.y_channels;
  s.w[1] = l.x_channels / l.groups;
  for (int d = 0; d < l.spatial; d++) {
    s.x[2 + d] = l.extent;
    s.w[2 + d] = l.kernel;
    s.pad_begin[d] = l.pad_begin;
    s.pad_end[d] = l.pad_end;
    s.stride[d] = l.stride;
    s.dilation[d] = l.dilation;
    s.y[2 + d] = (l.extent + l.pad_begin + l.pad_end - (l.kernel - 1) * l.dilation - 1) / l.stride + 1;
  }
  int64_t bytes = 0;
  for (const int64_t *extents : {s.x, s.w, s.y}) {
    int64_t count = int64_t(dp_type_bytes(dtype));
    for (int d = 0; d < 2 + l.spatial; d++) count *= extents[d];
    bytes += count;
  }
  s.workspace = dp_cudnn_workspace(uint64_t(bytes));
  return s;
}

TEST(CudnnOfTheToolkit, PlansForADeviceThatIsNotThere) {
  const dp_cudnn_calls *calls = nullptr;
  dp_status status = dp_cudnn_load(&calls);
  const std::string absent = dp_status_message(status);
  dp_status_free(status);
  if (!absent.empty()) GTEST_SKIP() << absent;
  const dp_cudnn_attribute json = {CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, sizeof kH200, kH200};
  cudnnBackendDescriptor_t device = nullptr;
  if (dp_cudnn_describe(calls, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, 1, &json, &device) != CUDNN_STATUS_SUCCESS)
    GTEST_SKIP() << "this cuDNN does not take the description of a device";
  struct Type {
    const char *name;
    dp_dtype dtype;
  };
  for (const Type &type : {Type{"float32", DP_FLOAT32}, Type{"float64", DP_FLOAT64}, Type{"float16", DP_FLOAT16},
                           Type{"bfloat16", DP_BFLOAT16}})
    for (dp_cudnn_kind kind : {DP_CUDNN_CONV, DP_CUDNN_GRAD_INPUT, DP_CUDNN_GRAD_WEIGHT})
      for (const Layer &layer : kLayers) {
        const dp_cudnn_spec spec = SpecOf(layer, kind, type.dtype);
        dp_cudnn_plan plan{};
        bool found = false;
        status = dp_cudnn_plan_make(calls, nullptr, device, &spec, nullptr, &plan, &found);
        EXPECT_EQ(std::string(dp_status_message(status)), "") << layer.name;
        dp_status_free(status);
        EXPECT_TRUE(found) << type.name << " " << layer.name << ", kind " << kind;
        if (!found) continue;
        std::printf("%s kind %d %-24s engine %3lld workspace %9lld\n", type.name, kind, layer.name,
                    static_cast<long long>(plan.engine), static_cast<long long>(plan.workspace_bytes));
        EXPECT_LE(uint64_t(plan.workspace_bytes), spec.workspace) << layer.name;
        dp_cudnn_plan_release(&plan);
      }
  calls->cudnnBackendDestroyDescriptor(device);
}

}  // namespace
}  // namespace dp_test
