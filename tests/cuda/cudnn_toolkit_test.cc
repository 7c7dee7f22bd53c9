// Where cuDNN is installed: its heuristics plan the convolutions and the attention of usual networks for GPUs that need
// not be there, since cuDNN also plans for a device that is described to it (since 9.8). Shows that the graphs are what
// cuDNN takes, and that there is an engine of full precision, the same bits in every run, within the scratch that
// kernels declare.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/cuda/cudnn/attention_graph.h"
#include "backends/cuda/cudnn/convolution.h"
#include "backends/cuda/cudnn/descriptor.h"

namespace dp_test {
namespace {

// What cuDNN knows of a device. It has changed what it wants to be told: all that any version asks for is here.
struct Device {
  const char *name;
  int capability, multiprocessors, shared_bytes, threads;
};
const Device kA100 = {"NVIDIA A100-SXM4-80GB", 80, 108, 166912, 2048}, kH200 = {"NVIDIA H200", 90, 132, 232448, 2048},
             kB200 = {"NVIDIA B200", 100, 148, 232448, 2048},
             kRtx5090 = {"NVIDIA GeForce RTX 5090", 120, 170, 101376, 1536};

std::string Describe(const Device &d) {
  char text[2048];
  std::snprintf(
      text, sizeof text,
      R"({"deviceVer":%d,"driverVer":13000,"cudaDeviceId":0,"totalGlobalMem":85899345920,)"
      R"("maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
      R"("multiProcessorCount":%d,"smCountOrigin":0,"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
      R"("maxSharedMemoryPerBlockOptin":%d,"oversizedSharedMemoryPerBlock":0,"reservedSharedMemoryPerBlock":1024,)"
      R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":%d,)"
      R"("pciDeviceId":9019,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,)"
      R"("memClockRateKHz":3201000,"memoryBusWidth":6144,"l2CacheSize":62914560,"deviceName":"%s"})",
      d.capability * 10, d.multiprocessors, d.shared_bytes, d.threads, d.name);
  return text;
}

// cuDNN, and devices that it is told of.
class CudnnOfTheToolkit : public testing::Test {
 protected:
  void SetUp() override {
    // cuDNN finds this driver, since it is loaded, if there is no other.
    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
      dlopen("tests/cuda/nodevice/libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    dp_status status = dp_cudnn_load(&calls);
    const std::string absent = dp_status_message(status);
    dp_status_free(status);
    if (!absent.empty()) GTEST_SKIP() << absent;
    if (!(device = Make(kH200))) GTEST_SKIP() << "this cuDNN does not take the description of a device";
  }
  void TearDown() override {
    if (device) calls->cudnnBackendDestroyDescriptor(device);
  }
  cudnnBackendDescriptor_t Make(const Device &of) {
    const std::string text = Describe(of);
    const dp_cudnn_attribute json = {CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                     int64_t(text.size()) + 1, text.c_str()};
    cudnnBackendDescriptor_t made = nullptr;
    dp_cudnn_describe(calls, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, 1, &json, &made);
    return made;
  }
  const dp_cudnn_calls *calls = nullptr;
  cudnnBackendDescriptor_t device = nullptr;  // kH200
};

// ---- convolutions ---------------------------------------------------------------------------------------------------

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

// All kinds of convolutions that ResNet-50 has, for pictures of 224 x 224.
const Layer kResNet50[] = {
    {"3 to 64, 7x7 stride 2", 2, 256, 3, 224, 64, 1, 7, 2, 3, 3, 1},
    {"64 to 64", 2, 256, 64, 56, 64, 1, 1, 1, 0, 0, 1},
    {"64 to 64, 3x3", 2, 256, 64, 56, 64, 1, 3, 1, 1, 1, 1},
    {"64 to 256", 2, 256, 64, 56, 256, 1, 1, 1, 0, 0, 1},
    {"256 to 64", 2, 256, 256, 56, 64, 1, 1, 1, 0, 0, 1},
    {"256 to 128", 2, 256, 256, 56, 128, 1, 1, 1, 0, 0, 1},
    {"128 to 128, 3x3 stride 2", 2, 256, 128, 56, 128, 1, 3, 2, 1, 1, 1},
    {"256 to 512, stride 2", 2, 256, 256, 56, 512, 1, 1, 2, 0, 0, 1},
    {"128 to 512", 2, 256, 128, 28, 512, 1, 1, 1, 0, 0, 1},
    {"512 to 128", 2, 256, 512, 28, 128, 1, 1, 1, 0, 0, 1},
    {"128 to 128, 3x3", 2, 256, 128, 28, 128, 1, 3, 1, 1, 1, 1},
    {"512 to 256", 2, 256, 512, 28, 256, 1, 1, 1, 0, 0, 1},
    {"256 to 256, 3x3 stride 2", 2, 256, 256, 28, 256, 1, 3, 2, 1, 1, 1},
    {"512 to 1024, stride 2", 2, 256, 512, 28, 1024, 1, 1, 2, 0, 0, 1},
    {"256 to 1024", 2, 256, 256, 14, 1024, 1, 1, 1, 0, 0, 1},
    {"1024 to 256", 2, 256, 1024, 14, 256, 1, 1, 1, 0, 0, 1},
    {"256 to 256, 3x3", 2, 256, 256, 14, 256, 1, 3, 1, 1, 1, 1},
    {"1024 to 512", 2, 256, 1024, 14, 512, 1, 1, 1, 0, 0, 1},
    {"512 to 512, 3x3 stride 2", 2, 256, 512, 14, 512, 1, 3, 2, 1, 1, 1},
    {"1024 to 2048, stride 2", 2, 256, 1024, 14, 2048, 1, 1, 2, 0, 0, 1},
    {"512 to 2048", 2, 256, 512, 7, 2048, 1, 1, 1, 0, 0, 1},
    {"2048 to 512", 2, 256, 2048, 7, 512, 1, 1, 1, 0, 0, 1},
    {"512 to 512, 3x3", 2, 256, 512, 7, 512, 1, 3, 1, 1, 1, 1},
};

dp_cudnn_spec SpecOf(const Layer &l, dp_cudnn_kind kind, dp_dtype dtype, bool channels_last = false) {
  dp_cudnn_spec s{};
  s.channels_last = channels_last;
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
  uint64_t bytes = 0;
  for (const int64_t *extents : {s.x, s.w, s.y}) bytes += dp_cudnn_room(dtype, 2 + l.spatial, extents);
  s.workspace = dp_cudnn_workspace(bytes);
  return s;
}

// The first convolution of networks for pictures, of three channels, which engines pad.
TEST_F(CudnnOfTheToolkit, TensorCoresTakeThreeChannels) {
  for (int64_t samples : {32, 256})
    for (dp_cudnn_kind kind : {DP_CUDNN_CONV, DP_CUDNN_GRAD_WEIGHT}) {
      const Layer layer = {"first", 2, samples, 3, 224, 64, 1, 7, 2, 3, 3, 1};
      const dp_cudnn_spec spec = SpecOf(layer, kind, DP_BFLOAT16);
      dp_cudnn_plan plan{};
      bool found = false;
      ASSERT_EQ(dp_cudnn_plan_make(calls, nullptr, device, &spec, nullptr, &plan, &found), DP_OK);
      ASSERT_TRUE(found);
      EXPECT_TRUE(plan.tensor_cores) << samples << " samples, kind " << kind << ", engine " << plan.engine;
      dp_cudnn_plan_release(&plan);
    }
}

// One case in five, which is another one for each type and kind; with DP_FULL all.
bool IsSampled() {
  static int number = 0;
  return std::getenv("DP_FULL") || number++ % 5 == 0;
}

TEST_F(CudnnOfTheToolkit, PlansConvolutionsForADeviceThatIsNotThere) {
  struct Type {
    const char *name;
    dp_dtype dtype;
  };
  for (const Type &type : {Type{"float32", DP_FLOAT32}, Type{"float64", DP_FLOAT64}, Type{"float16", DP_FLOAT16},
                           Type{"bfloat16", DP_BFLOAT16}})
    for (dp_cudnn_kind kind : {DP_CUDNN_CONV, DP_CUDNN_GRAD_INPUT, DP_CUDNN_GRAD_WEIGHT})
      for (const Layer &layer : kLayers) {
        if (!IsSampled()) continue;
        const dp_cudnn_spec spec = SpecOf(layer, kind, type.dtype);
        dp_cudnn_plan plan{};
        bool found = false;
        dp_status status = dp_cudnn_plan_make(calls, nullptr, device, &spec, nullptr, &plan, &found);
        EXPECT_EQ(std::string(dp_status_message(status)), "") << layer.name;
        dp_status_free(status);
        EXPECT_TRUE(found) << type.name << " " << layer.name << ", kind " << kind;
        if (!found) continue;
        std::printf("%s kind %d %-24s engine %3lld workspace %9lld\n", type.name, kind, layer.name,
                    static_cast<long long>(plan.engine), static_cast<long long>(plan.workspace_bytes));
        EXPECT_LE(uint64_t(plan.workspace_bytes), spec.workspace) << layer.name;
        dp_cudnn_plan_release(&plan);
      }
}

// In NHWC there is an engine for every layer too. Those of ResNet-50 use tensor cores and, but where three channels are
// padded, have no room to move an image to another layout.
TEST_F(CudnnOfTheToolkit, PlansConvolutionsInNhwc) {
  std::vector<Layer> layers(std::begin(kResNet50), std::end(kResNet50));
  const size_t of_resnet = layers.size();
  for (const Layer &layer : kLayers)
    if (layer.spatial == 2) layers.push_back(layer);
  for (dp_dtype dtype : {DP_BFLOAT16, DP_FLOAT16})
    for (dp_cudnn_kind kind : {DP_CUDNN_CONV, DP_CUDNN_GRAD_INPUT, DP_CUDNN_GRAD_WEIGHT})
      for (size_t i = 0; i < layers.size(); i++) {
        if (!IsSampled()) continue;
        const Layer &layer = layers[i];
        const dp_cudnn_spec spec = SpecOf(layer, kind, dtype, true);
        dp_cudnn_plan plan{};
        bool found = false;
        dp_status status = dp_cudnn_plan_make(calls, nullptr, device, &spec, nullptr, &plan, &found);
        EXPECT_EQ(std::string(dp_status_message(status)), "") << layer.name;
        dp_status_free(status);
        EXPECT_TRUE(found) << dp_type_name(dtype) << " " << layer.name << ", kind " << kind;
        if (!found) continue;
        std::printf("%s kind %d %-24s engine %3lld workspace %9lld%s\n", dp_type_name(dtype), kind, layer.name,
                    static_cast<long long>(plan.engine), static_cast<long long>(plan.workspace_bytes),
                    plan.tensor_cores ? ", tensor cores" : "");
        EXPECT_LE(uint64_t(plan.workspace_bytes), spec.workspace) << layer.name;
        EXPECT_TRUE(plan.tensor_cores || i >= of_resnet) << layer.name << ", kind " << kind;
        EXPECT_TRUE(plan.workspace_bytes < 4 << 20 || i >= of_resnet || layer.x_channels % 8) << layer.name;
        dp_cudnn_plan_release(&plan);
      }
}

// A bias, and with it the sum with a residual, Relu, or both: there is an engine for each layer, in every type and
// layout, and for those of ResNet-50 in 16 bits and NHWC one that uses tensor cores.
TEST_F(CudnnOfTheToolkit, PlansWhatFollowsConvolutions) {
  std::vector<Layer> layers(std::begin(kResNet50), std::end(kResNet50));
  const size_t of_resnet = layers.size();
  layers.insert(layers.end(), std::begin(kLayers), std::end(kLayers));
  for (dp_dtype dtype : {DP_FLOAT32, DP_BFLOAT16, DP_FLOAT16})
    for (bool channels_last : {false, true})
      for (size_t i = 0; i < layers.size(); i++)
        for (int what = 0; what < 4; what++) {
          const Layer &layer = layers[i];
          if (channels_last && (layer.spatial != 2 || dtype == DP_FLOAT32)) continue;
          dp_cudnn_spec spec = SpecOf(layer, DP_CUDNN_CONV, dtype, channels_last);
          spec.bias = true;
          spec.residual = what & 1;
          spec.relu = what & 2;
          dp_cudnn_plan plan{};
          bool found = false;
          dp_status status = dp_cudnn_plan_make(calls, nullptr, device, &spec, nullptr, &plan, &found);
          EXPECT_EQ(std::string(dp_status_message(status)), "") << layer.name;
          dp_status_free(status);
          EXPECT_TRUE(found) << dp_type_name(dtype) << " " << layer.name << ", " << what << " in NHWC "
                             << channels_last;
          if (!found) continue;
          std::printf("%s%s bias%s%s %-24s engine %3lld workspace %9lld%s\n", dp_type_name(dtype),
                      channels_last ? " in NHWC" : "", spec.residual ? ", sum" : "", spec.relu ? ", Relu" : "",
                      layer.name, static_cast<long long>(plan.engine), static_cast<long long>(plan.workspace_bytes),
                      plan.tensor_cores ? ", tensor cores" : "");
          EXPECT_TRUE(plan.tensor_cores || i >= of_resnet || !channels_last) << layer.name << ", " << what;
          dp_cudnn_plan_release(&plan);
        }
}

// ---- attention ------------------------------------------------------------------------------------------------------

struct Attention {
  const char *name;
  dp_dtype dtype;
  int64_t batch, length, heads, size, keys, groups, v_size, mask_batch, mask_heads;
  int64_t first = -1;  // of queries that see no later keys; -1: they see all
};

const Attention kAttentions[] = {
    {"GPT-2, causal by a mask", DP_BFLOAT16, 4, 1024, 12, 64, 1024, 12, 64, 1, 1},
    {"Llama 3.2 1B, causal by a mask", DP_BFLOAT16, 1, 1024, 32, 64, 1024, 8, 64, 1, 1},
    {"no mask, heads of 128", DP_FLOAT16, 2, 256, 8, 128, 256, 8, 128, 0, 0},
    {"a mask for each sample and head", DP_FLOAT16, 2, 64, 4, 64, 64, 4, 64, 2, 4},
    {"odd lengths, heads of 8, shared keys", DP_BFLOAT16, 2, 77, 8, 8, 101, 2, 8, 1, 1},
    {"other sizes of values", DP_BFLOAT16, 2, 77, 4, 24, 101, 4, 40, 0, 0},
    {"one query", DP_BFLOAT16, 2, 1, 8, 64, 101, 8, 64, 0, 0},
    {"GPT-2, causal", DP_BFLOAT16, 16, 1024, 12, 64, 1024, 12, 64, 0, 0, 0},
    {"Llama 3.2 1B, causal", DP_BFLOAT16, 1, 1024, 32, 64, 1024, 8, 64, 0, 0, 0},
    {"causal, heads of 128", DP_FLOAT16, 2, 256, 8, 128, 256, 8, 128, 0, 0, 0},
    {"causal, fewer keys", DP_BFLOAT16, 2, 101, 8, 8, 77, 2, 8, 0, 0, 0},
    {"causal, more keys", DP_FLOAT16, 2, 77, 4, 24, 101, 4, 40, 0, 0, 0},
    {"causal, one query", DP_BFLOAT16, 2, 1, 8, 64, 101, 8, 64, 0, 0, 0},
    {"causal, the second half of queries", DP_BFLOAT16, 4, 512, 12, 64, 1024, 12, 64, 0, 0, 512},
    {"causal, odd places", DP_FLOAT16, 2, 33, 8, 8, 101, 2, 8, 0, 0, 67},
};

dp_cudnn_attention SpecOf(const Attention &of, bool gradient, bool statistics) {
  dp_cudnn_attention a{};
  a.gradient = gradient;
  a.statistics = statistics;
  a.dtype = of.dtype;
  a.batch = of.batch;
  a.length = of.length;
  a.heads = a.all_heads = of.heads;
  a.size = of.size;
  a.keys = of.keys;
  a.groups = of.groups;
  a.v_size = of.v_size;
  const int64_t rows[] = {of.heads * of.size, of.groups * of.size, of.groups * of.v_size};
  for (int i = 0; i < 3; i++) a.rows[i] = a.gradient_rows[i] = rows[i];
  a.mask_batch = of.mask_batch;
  a.mask_heads = a.mask_all_heads = of.mask_heads;
  a.causal = of.first >= 0;
  a.first = a.causal ? of.first : 0;
  a.workspace = dp_cudnn_attention_workspace(&a);
  return a;
}

// Forward, as in inference and in training, and backward, for an H200, or with DP_FULL for all kinds of GPU that plans
// run on: there is an engine, within the workspace that kernels reckon with.
TEST_F(CudnnOfTheToolkit, PlansAttentionForDevicesThatAreNotThere) {
  std::vector<Device> devices = {kH200};
  if (std::getenv("DP_FULL")) devices.insert(devices.end(), {kA100, kB200, kRtx5090});
  for (const Device &of : devices) {
    cudnnBackendDescriptor_t described = Make(of);
    ASSERT_NE(described, nullptr) << of.name;
    for (const Attention &attention : kAttentions)
      for (int what : {0, 1, 2}) {  // forward without statistics, with them, backward
        const bool gradient = what == 2;
        const dp_cudnn_attention a = SpecOf(attention, gradient, what == 1);
        dp_cudnn_plan plan{};
        bool found = false;
        dp_status status = dp_cudnn_attention_plan(calls, nullptr, described, &a, &plan, &found);
        EXPECT_EQ(std::string(dp_status_message(status)), "") << attention.name;
        dp_status_free(status);
        EXPECT_TRUE(found) << of.name << ": " << attention.name << (gradient ? ", gradient" : "");
        if (!found) continue;
        std::printf("sm_%d %-36s %s engine %3lld workspace %9lld of %9lld\n", of.capability, attention.name,
                    gradient ? "gradient" : "forward ", static_cast<long long>(plan.engine),
                    static_cast<long long>(plan.workspace_bytes), static_cast<long long>(a.workspace));
        dp_cudnn_plan_release(&plan);
      }
    calls->cudnnBackendDestroyDescriptor(described);
  }
}

// Where Q, K and V are parts of one tensor, and their gradients too: the engines and workspaces are those of tensors of
// their own.
TEST_F(CudnnOfTheToolkit, PlansAttentionOnPartsOfOneTensor) {
  for (const Attention &attention : kAttentions)
    for (int what : {0, 1, 2}) {  // forward without statistics, with them, backward
      if (!IsSampled()) continue;
      SCOPED_TRACE(testing::Message() << attention.name << ", " << what);
      dp_cudnn_attention a = SpecOf(attention, what == 2, what == 1);
      long long engine[2], workspace[2];
      for (int joined : {0, 1}) {
        const int64_t row = a.rows[0] + a.rows[1] + a.rows[2];
        for (int i = 0; i < 3 && joined; i++) a.rows[i] = a.gradient_rows[i] = row;
        dp_cudnn_plan plan{};
        bool found = false;
        dp_status status = dp_cudnn_attention_plan(calls, nullptr, device, &a, &plan, &found);
        EXPECT_EQ(std::string(dp_status_message(status)), "");
        dp_status_free(status);
        ASSERT_TRUE(found);
        engine[joined] = plan.engine;
        workspace[joined] = plan.workspace_bytes;
        dp_cudnn_plan_release(&plan);
      }
      EXPECT_EQ(engine[0], engine[1]);
      EXPECT_EQ(workspace[0], workspace[1]);
    }
}

// Parts of it: some heads, whose strides are those of all.
TEST_F(CudnnOfTheToolkit, PlansPartsOfAttention) {
  dp_cudnn_attention a = SpecOf(kAttentions[1], true, false);
  a.groups = 2;
  a.heads = 8;
  dp_cudnn_plan plan{};
  bool found = false;
  dp_status status = dp_cudnn_attention_plan(calls, nullptr, device, &a, &plan, &found);
  EXPECT_EQ(std::string(dp_status_message(status)), "");
  dp_status_free(status);
  ASSERT_TRUE(found);
  EXPECT_LE(uint64_t(plan.workspace_bytes), dp_cudnn_attention_workspace(&a));
  dp_cudnn_plan_release(&plan);
}

}  // namespace
}  // namespace dp_test
