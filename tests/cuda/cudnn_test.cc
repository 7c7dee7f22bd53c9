// Convolutions by cuDNN against the CPU's reference, on the stand-in, which computes from the graphs as finalised.
#include <gtest/gtest.h>

#include "backends/cuda/cudnn/descriptor.h"
#include "backends/cuda/cudnn/plan.h"
#include "backends/cuda/gpu/calibration.h"
#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/gpu/memory.h"
#include "backends/cuda/gpu/queue.h"
#include "tests/cuda/convolutions.h"

extern "C" const dp_kernel dp_kernel_cuda_cudnn_Conv;

namespace dp_test {
namespace {

constexpr char kConv[] = "cuda.cudnn.Conv", kGradInput[] = "cuda.cudnn.dp.ConvGradInput",
               kGradWeight[] = "cuda.cudnn.dp.ConvGradWeight";

TEST(Cudnn, Samples) {
  CheckSamples("Conv", "", kConv);
  CheckSamples("ConvGradInput", "dp", kGradInput);
  CheckSamples("ConvGradWeight", "dp", kGradWeight);
}

TEST(Cudnn, RandomConvolutions) {
  Random random(3);
  for (int i = 0; i < 60; i++) {
    ConvolutionKind kind;
    const char *const types[] = {"float32", "float64", "float32", "float16", "bfloat16"};
    kind.type = types[i % 5];
    const Convolutions v = DrawConvolutions(random, kind, i % 8 == 7 ? 0 : random.Int(1, 4));
    Check(v.forward, kConv);
    Check(v.grad_input, kGradInput);
    Check(v.grad_weight, kGradWeight);
    if (HasFatalFailure()) return;
  }
}

// Images and weights in NHWC, all or none.
TEST(Cudnn, ChannelsLast) {
  Random random(5);
  for (int i = 0; i < 40; i++) {
    ConvolutionKind kind;
    const char *const types[] = {"bfloat16", "float16", "float32", "bfloat16", "float64"};
    kind.type = types[i % 5];
    kind.dims = 2;
    const Convolutions v = DrawConvolutions(random, kind, i % 8 == 7 ? 0 : random.Int(1, 4));
    Check(v.forward, kConv, true);
    Check(v.grad_input, kGradInput, true);
    Check(v.grad_weight, kGradWeight, true);
    if (HasFatalFailure()) return;
  }
  const Ready ready = Draw({"Conv", "", "bfloat16[N,3,9,9], bfloat16[7,3,3,3], bfloat16[7]", "", 2, 1});
  for (int last = 0; last < 8; last++) {
    Spec spec(ready.built->node, ready.in, ready.out);
    int number = 0;
    spec.SetLayouts([&] { return (last >> number++ & 1) != 0; });
    EXPECT_EQ(dp_kernel_cuda_cudnn_Conv.match(&spec), last == 0 || last == 7) << last;
  }
}

// The choices of a kernel that is prepared and found to be right.
std::string ChoicesOf(const Problem &problem, const char *kernel, bool channels_last = false) {
  dp_cuda_choices();
  Check(problem, kernel, channels_last);
  return dp_cuda_choices();
}

// The gradient of the weight is cuDNN's where pads are equal, or may be taken to be; else our own.
TEST(Cudnn, PadsThatDiffer) {
  struct {
    const char *x, *y, *w, *pads;
    bool planned;
  } const cases[] = {
      {"[N,4,10]", "[N,3,4]", "[3,4,2]", "strides=[3], pads=[2,1]", false},
      {"[N,4,10]", "[N,3,4]", "[3,4,2]", "strides=[3], pads=[1,2]", true},  // with [1,1] there are 4 windows too
      {"[N,4,10]", "[N,3,4]", "[3,4,2]", "strides=[3], pads=[0,1]", false},
      {"[N,4,10]", "[N,3,3]", "[3,4,2]", "strides=[3], pads=[0,0]", true},
      {"[N,2,6,6]", "[N,3,6,6]", "[3,2,2,2]", "pads=[0,0,1,1]", false},
      {"[N,2,6,6]", "[N,3,7,6]", "[3,2,2,2]", "pads=[1,0,1,1]", false},
      {"[N,2,6,6]", "[N,3,3,3]", "[3,2,3,3]", "strides=[2,2], pads=[1,1,0,0]", true},
      {"[N,2,3,3,3]", "[N,3,3,3,3]", "[3,2,2,2,2]", "pads=[0,0,0,1,1,1]", false},
  };
  for (const auto &of : cases)
    for (const std::string type : {"float32", "bfloat16"}) {
      const std::string attrs = std::string("shape=") + of.w + ", " + of.pads;
      const Problem gradient{"ConvGradWeight", "dp", type + of.x + ", " + type + of.y, attrs, 2, 200};
      const std::string choices = ChoicesOf(gradient, kGradWeight);
      EXPECT_EQ(choices.find("cuDNN engine") != std::string::npos, of.planned) << of.pads << ": " << choices;
      EXPECT_EQ(choices.find("function") == std::string::npos, of.planned) << of.pads << ": " << choices;
      const Problem forward{"Conv", "", type + of.x + ", " + type + of.w, of.pads, 2, 40};
      EXPECT_NE(ChoicesOf(forward, kConv).find("cuDNN engine"), std::string::npos) << of.pads;
      if (Draw(gradient).in[0].local.rank != 4) continue;
      const bool planned = ChoicesOf(gradient, kGradWeight, true).find("cuDNN engine") != std::string::npos;
      EXPECT_EQ(planned, of.planned) << of.pads << " in NHWC";
    }
}

// It comes before our own function, whatever the extents.
TEST(Cudnn, IsSelected) {
  EXPECT_EQ(Selected({"Conv", "", "float32[N,3,9,9], float32[7,3,3,3], float32[7]", "", 0, 1}), kConv);
  EXPECT_EQ(Selected({"Conv", "", "float64[N,3,9], float64[7,3,3]", "pads=[1,2]", 2, 1}), kConv);
  EXPECT_EQ(Selected({"ConvGradInput", "dp", "float32[7,3,3], float32[N,7,7]", "shape=[N,3,9]", 2, 1}), kGradInput);
  EXPECT_EQ(Selected({"ConvGradWeight", "dp", "float32[N,3,9], float32[N,7,7]", "shape=[7,3,3]", 2, 1}), kGradWeight);
}

// Input channels over devices, some of which get none: the partial sums add up to the whole.
TEST(Cudnn, PartsOfChannelsAddUp) {
  const dp_mesh mesh{1, {{"tensor", 5}}};
  const Ready ready = Draw({"Conv", "", "float32[N,3,6,6], float32[4,3,3,3]", "pads=[1,1,1,1]", 2, 27});
  const dp_node *node = ready.built->node;
  const Outcome whole = RunReference(node, ready.in, ready.out);
  std::vector<double> sum(size_t(ready.out[0].Count()));
  for (int64_t device = 0; device < 5; device++) {
    const dp_placement split = dp_shard(1);
    const int64_t coordinate[DP_MAX_MESH] = {device};
    std::vector<Tensor> in;
    for (int k = 0; k < 2; k++) {
      in.push_back(MakePart(*node->inputs[k]->type, 2, &split, mesh, coordinate));
      Cut(ready.in[size_t(k)], &in.back());
    }
    const Outcome part = RunCuda(kConv, node, in, ready.out);
    ASSERT_EQ(part.error, "");
    for (size_t i = 0; i < sum.size(); i++) sum[i] += part.results[0].Get(int64_t(i));
  }
  for (size_t i = 0; i < sum.size(); i++) EXPECT_NEAR(sum[i], whole.results[0].Get(int64_t(i)), 1e-5);
}

// ---- engines --------------------------------------------------------------------------------------------------------

class Plans : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsStandin()) GTEST_SKIP() << kSteers;
    ASSERT_EQ(OpenDevice(), "");
    ASSERT_EQ(dp_cudnn_load(&calls), DP_OK);
    ASSERT_EQ(dp_cudnn_open(&handle), DP_OK);
    held = Standin().count().handles;
    spec = {};
    spec.kind = DP_CUDNN_CONV;
    spec.dtype = DP_FLOAT32;
    spec.spatial = 2;
    spec.workspace = 1 << 20;
    Set(spec.x, {2, 4, 5, 6});
    Set(spec.w, {6, 4, 3, 3});
    Set(spec.y, {2, 6, 5, 6});
    for (int d = 0; d < 3; d++) spec.pad_begin[d] = spec.pad_end[d] = spec.stride[d] = spec.dilation[d] = 1;
  }
  // All descriptors have been destroyed.
  void TearDown() override { EXPECT_EQ(IsStandin() ? Standin().count().handles : held, held); }
  static void Set(int64_t *to, const std::vector<int64_t> &values) { std::copy(values.begin(), values.end(), to); }

  // The number of the engine that is chosen; -1: none.
  int64_t Engine() {
    dp_cudnn_plan plan{};
    bool found = false;
    dp_status status = dp_cudnn_plan_make(calls, handle, nullptr, &spec, nullptr, &plan, &found);
    EXPECT_EQ(std::string(dp_status_message(status)), "");
    dp_status_free(status);
    const int64_t engine = plan.engine;
    if (!found) return -1;
    EXPECT_LE(uint64_t(plan.workspace_bytes), spec.workspace);
    dp_cudnn_plan_release(&plan);
    return engine;
  }

  const dp_cudnn_calls *calls = nullptr;
  cudnnHandle_t handle = nullptr;
  int64_t held = 0;
  dp_cudnn_spec spec;
};

// Engines that round or depend on the order of arrival come first in the stand-in's lists.
TEST_F(Plans, TakeTheFirstEngineThatWillDo) {
  EXPECT_EQ(Engine(), 38);
  spec.workspace = 1000;  // less than it wants
  EXPECT_EQ(Engine(), 70);
  spec.dilation[0] = spec.dilation[1] = 2;  // which that one does not take
  spec.y[2] -= 2;
  spec.y[3] -= 2;
  EXPECT_EQ(Engine(), 0);
}

// What is much slower than the best so far is not measured for long.
TEST_F(Plans, HopelessTrialsEndEarly) {
  struct Counted {
    dp_cudnn_plan plan;
    void *rooms[4];
    int runs;
  } counted{};
  bool found = false;
  ASSERT_EQ(dp_cudnn_plan_make(calls, handle, nullptr, &spec, nullptr, &counted.plan, &found), DP_OK);
  ASSERT_TRUE(found);
  for (void *&room : counted.rooms) room = dp_cuda_allocate({false, 0}, 1 << 20, 256);
  const auto run = [](void *context, dp_queue *queue) {
    auto *c = static_cast<Counted *>(context);
    c->runs++;
    const dp_cudnn_tensors at = {c->rooms[0], c->rooms[1], c->rooms[2], nullptr, nullptr};
    return dp_cudnn_plan_enqueue(&c->plan, static_cast<cudaStream_t>(dp_cuda_queue_stream(queue)), &at, c->rooms[3]);
  };
  const auto runs = [&](double best_ns, double *ns) {
    counted.runs = 0;
    EXPECT_EQ(dp_cuda_trial_time(run, &counted, best_ns, ns), DP_OK);
    return counted.runs;
  };
  double whole = 0, hopeless = 0, close = 0;
  EXPECT_EQ(runs(0, &whole), 21);
  EXPECT_GT(whole, 0);
  EXPECT_EQ(runs(whole / 10, &hopeless), 5);
  EXPECT_GT(hopeless, whole / 5);
  EXPECT_EQ(runs(whole, &close), 21);
  for (void *room : counted.rooms) dp_cuda_release({false, 0}, room, 1 << 20);
  dp_cudnn_plan_release(&counted.plan);
}

TEST_F(Plans, TakeWinogradOnlyWhereItIsAllowed) {
  spec.winograd = true;
  EXPECT_EQ(Engine(), 5);
  spec.workspace = 1000;  // less than it wants; the next that does without is of tiles that are too large
  EXPECT_EQ(Engine(), 70);
  spec.workspace = 1 << 20;
  spec.tf32 = true;
  EXPECT_EQ(Engine(), 67);
}

TEST_F(Plans, FloatsOf64BitsMayUseTensorCores) {
  spec.dtype = DP_FLOAT64;
  EXPECT_EQ(Engine(), 67);
}

TEST_F(Plans, MayNotExist) {
  spec.spatial = 3;
  Set(spec.x, {2, 4, 5, 5, 5});
  Set(spec.w, {6, 2, 3, 3, 3});
  Set(spec.y, {2, 6, 3, 3, 3});
  spec.dilation[0] = spec.dilation[1] = spec.dilation[2] = 2;
  EXPECT_EQ(Engine(), -1);
}

// A convolution that no engine takes is computed by our own function.
TEST(Cudnn, LeavesTheRestToOurOwn) {
  for (const char *bias : {"", ", float32[4]"})
    Check(
        {"Conv", "", "float32[N,4,6,6,6], float32[4,2,2,2,2]" + std::string(bias), "group=2, dilations=[2,2,2]", 2, 16},
        kConv);
}

// Extents that do not belong together, in every place.
TEST_F(Plans, ExtentsMustFit) {
  const dp_cudnn_spec right = spec;
  for (int64_t *extent :
       {&spec.x[0], &spec.x[1], &spec.x[2], &spec.w[0], &spec.w[1], &spec.w[2], &spec.y[0], &spec.y[1], &spec.y[3],
        &spec.pad_begin[0], &spec.pad_end[1], &spec.stride[0], &spec.dilation[1]}) {
    *extent += 1;
    dp_cudnn_plan plan;
    bool found = false;
    dp_status status = dp_cudnn_plan_make(calls, handle, nullptr, &spec, nullptr, &plan, &found);
    EXPECT_EQ(dp_status_code(status), EX_UNAVAILABLE) << (extent - spec.x);
    EXPECT_NE(std::string(dp_status_message(status)).find("CUDNN_STATUS_BAD_PARAM"), std::string::npos);
    dp_status_free(status);
    EXPECT_FALSE(found);
    spec = right;
  }
}

// ---- descriptors ----------------------------------------------------------------------------------------------------

constexpr int64_t kExtents[3][4] = {{2, 4, 5, 6}, {6, 4, 3, 3}, {2, 6, 5, 6}};

// What a graph says beside its extents. The alternatives keep it valid.
struct Description {
  int64_t strides[3][4];
  int64_t pre[2] = {1, 1}, post[2] = {1, 1};
  float alpha = 1, beta = 0;
  int64_t ids[3] = {1, 2, 3};
  Description() {
    for (int t = 0; t < 3; t++)
      for (int64_t d = 3, stride = 1; d >= 0; stride *= kExtents[t][d--]) strides[t][d] = stride;
  }
};

class Descriptors : public Plans {
 protected:
  void SetUp() override {
    Plans::SetUp();
    ASSERT_EQ(dp_cuda_queue_create(0, false, &queue), DP_OK);
    Random random(4);
    for (auto &numbers : data)
      for (int i = 0; i < 512; i++) numbers.push_back(float(random.Int(-8, 8)));
    for (int t = 0; t < 3; t++) rooms[t] = dp_cuda_allocate({false, 0}, kBytes, 256);
  }
  void TearDown() override {
    for (void *room : rooms) dp_cuda_release({false, 0}, room, kBytes);
    dp_cuda_queue_destroy(queue);
    Plans::TearDown();
  }
  cudnnBackendDescriptor_t Make(int type, const std::vector<dp_cudnn_attribute> &attributes) {
    cudnnBackendDescriptor_t made = nullptr;
    EXPECT_EQ(dp_cudnn_describe(calls, type, int(attributes.size()), attributes.data(), &made), CUDNN_STATUS_SUCCESS);
    if (made) all.push_back(made);
    return made;
  }
  // y of the convolution that is described, by the engine of the fallback.
  std::vector<float> Run(const Description &d) {
    const int32_t type = CUDNN_DATA_FLOAT, mode = CUDNN_CROSS_CORRELATION, fallback = CUDNN_HEUR_MODE_FALLBACK;
    const int64_t alignment = 16, two = 2, ones[] = {1, 1};
    cudnnBackendDescriptor_t tensors[3];
    for (int t = 0; t < 3; t++)
      tensors[t] =
          Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR, {{CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type},
                                                 {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &d.ids[t]},
                                                 {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment},
                                                 {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, kExtents[t]},
                                                 {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, d.strides[t]}});
    auto convolution = Make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
                            {{CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type},
                             {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode},
                             {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &two},
                             {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, ones},
                             {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, ones},
                             {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, d.pre},
                             {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, d.post}});
    auto operation =
        Make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
             {{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &convolution},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors[0]},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors[1]},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors[2]},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &d.alpha},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &d.beta}});
    auto graph = Make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
                      {{CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operation},
                       {CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle}});
    auto heuristics = Make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
                           {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph},
                            {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &fallback}});
    cudnnBackendDescriptor_t configuration = nullptr;
    EXPECT_EQ(calls->cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configuration),
              CUDNN_STATUS_SUCCESS);
    all.push_back(configuration);
    int64_t count;
    EXPECT_EQ(calls->cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                              1, &count, &configuration),
              CUDNN_STATUS_SUCCESS);
    auto plan = Make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
                     {{CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &configuration},
                      {CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle}});
    const int64_t ids[] = {1, 2, 3};
    auto pack = Make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
                     {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ids},
                      {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, rooms}});
    std::vector<float> y(data[2]);
    for (int t = 0; t < 3; t++) EXPECT_EQ(dp_cuda_upload(0, rooms[t], data[t].data(), kBytes), DP_OK);
    EXPECT_EQ(dp_cudnn_execute(static_cast<cudaStream_t>(dp_cuda_queue_stream(queue)), plan, pack), DP_OK);
    int instruction;
    EXPECT_EQ(dp_cuda_queue_finish(queue, &instruction), DP_OK);
    EXPECT_EQ(dp_cuda_download(0, y.data(), rooms[2], kBytes), DP_OK);
    for (auto descriptor : all) calls->cudnnBackendDestroyDescriptor(descriptor);
    all.clear();
    return y;
  }

  static constexpr size_t kBytes = 512 * sizeof(float);
  dp_queue *queue = nullptr;
  std::vector<float> data[3];
  void *rooms[3];
  std::vector<cudnnBackendDescriptor_t> all;
};

TEST_F(Descriptors, ComputeAsDescribed) {
  const std::vector<float> y = Run({});
  for (int64_t n = 0; n < 2; n++)
    for (int64_t m = 0; m < 6; m++)
      for (int64_t i = 0; i < 5; i++)
        for (int64_t j = 0; j < 6; j++) {
          float sum = 0;
          for (int64_t c = 0; c < 4; c++)
            for (int64_t a = 0; a < 3; a++)
              for (int64_t b = 0; b < 3; b++) {
                const int64_t k = i + a - 1, l = j + b - 1;
                if (k < 0 || k >= 5 || l < 0 || l >= 6) continue;
                sum += data[0][size_t(((n * 4 + c) * 5 + k) * 6 + l)] * data[1][size_t(((m * 4 + c) * 3 + a) * 3 + b)];
              }
          EXPECT_EQ(y[size_t(((n * 6 + m) * 5 + i) * 6 + j)], sum);
        }
  for (size_t i = 360; i < 512; i++) EXPECT_EQ(y[i], data[2][i]);
}

TEST_F(Descriptors, EveryDescriptionCounts) {
  const std::vector<float> right = Run({});
  auto expect_other = [&](const char *what, const Description &d) { EXPECT_NE(Run(d), right) << what; };
  for (int t = 0; t < 3; t++)
    for (int k = 0; k < 4; k++) {
      if (kExtents[t][k] == 1) continue;
      Description d;
      d.strides[t][k] += 1;
      expect_other("a stride", d);
    }
  for (int t = 0; t < 3; t++) {
    Description d;
    std::swap(d.strides[t][2], d.strides[t][3]);
    expect_other("a transposed plane", d);
  }
  Description d;
  d.pre[0] = 0;
  d.post[0] = 2;
  expect_other("pads at the other end", d);
  d = {};
  d.alpha = 2;
  expect_other("alpha", d);
  d = {};
  d.beta = 1;
  expect_other("beta", d);
  d = {};
  std::swap(d.ids[0], d.ids[1]);
  expect_other("the tensors' numbers", d);
}

// Data whose channels come last gives the same result, if the strides say so.
TEST_F(Descriptors, ChannelsMayComeLast) {
  const std::vector<float> right = Run({}), plain = data[0];
  Description d;
  d.strides[0][0] = 120;
  d.strides[0][1] = 1;
  d.strides[0][2] = 24;
  d.strides[0][3] = 4;
  EXPECT_NE(Run(d), right);
  for (size_t n = 0; n < 2; n++)
    for (size_t c = 0; c < 4; c++)
      for (size_t i = 0; i < 30; i++) data[0][n * 120 + i * 4 + c] = plain[(n * 4 + c) * 30 + i];
  EXPECT_EQ(Run(d), right);
}

TEST_F(Plans, DescriptorsAreChecked) {
  const int32_t type = CUDNN_DATA_FLOAT;
  const int64_t id = 1, alignment = 16, extents[] = {2, 3, 4, 5}, strides[] = {60, 20, 5, 1},
                negative[] = {2, -3, 4, 5};
  const std::vector<dp_cudnn_attribute> all = {{CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type},
                                               {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id},
                                               {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment},
                                               {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, extents},
                                               {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides}};
  auto make = [&](const std::vector<dp_cudnn_attribute> &attributes) {
    cudnnBackendDescriptor_t made = nullptr;
    const int status =
        dp_cudnn_describe(calls, CUDNN_BACKEND_TENSOR_DESCRIPTOR, int(attributes.size()), attributes.data(), &made);
    if (made) {  // it is finalised, so nothing can be set any more
      EXPECT_EQ(calls->cudnnBackendSetAttribute(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id),
                CUDNN_STATUS_BAD_PARAM);
      EXPECT_EQ(calls->cudnnBackendFinalize(made), CUDNN_STATUS_BAD_PARAM);
      calls->cudnnBackendDestroyDescriptor(made);
    }
    return status;
  };
  EXPECT_EQ(make(all), CUDNN_STATUS_SUCCESS);
  for (size_t left_out = 0; left_out < all.size(); left_out++) {
    auto some = all;
    some.erase(some.begin() + long(left_out));
    EXPECT_EQ(make(some), CUDNN_STATUS_BAD_PARAM) << left_out;
  }
  auto wrong = all;
  wrong[3].type = CUDNN_TYPE_FLOAT;
  EXPECT_EQ(make(wrong), CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  wrong = all;
  wrong[3].values = negative;
  EXPECT_EQ(make(wrong), CUDNN_STATUS_BAD_PARAM);
  wrong = all;
  wrong[4].count = 3;
  EXPECT_EQ(make(wrong), CUDNN_STATUS_BAD_PARAM);
  wrong = all;
  wrong[1].name = CUDNN_ATTR_CONVOLUTION_COMP_TYPE;
  EXPECT_EQ(make(wrong), CUDNN_STATUS_BAD_PARAM);
}

// Every call fails once: each ends with one sentence, or the result is right all the same; no descriptor is left.
TEST_F(Plans, EveryCallMayFail) {
  const Standin standin;
  for (int error : {int(CUDA_ERROR_OUT_OF_MEMORY), int(CUDA_ERROR_INVALID_VALUE)}) {
    const Ready ready = Draw({"Conv", "", "float32[N,3,5,5], float32[4,3,3,3], float32[4]", "", 2, 27});
    const Outcome whole = RunCuda(kConv, ready.built->node, ready.in, ready.out);
    ASSERT_EQ(whole.error, "");
    standin.reset();
    RunCuda(kConv, ready.built->node, ready.in, ready.out);
    const int64_t count = standin.count().calls;
    int64_t failed = 0;
    for (int64_t i = 1; i <= count; i++) {
      standin.reset();
      standin.fail(i, error);
      const Outcome outcome = RunCuda(kConv, ready.built->node, ready.in, ready.out);
      EXPECT_EQ(standin.count().handles, held) << "call " << i;
      failed += !outcome.error.empty();
      if (!outcome.error.empty()) continue;
      EXPECT_EQ(Numbers(outcome.results[0]), Numbers(whole.results[0])) << "call " << i;
    }
    standin.reset();
    EXPECT_GT(failed, count / 4);
  }
}

}  // namespace
}  // namespace dp_test
