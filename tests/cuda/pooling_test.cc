// Pooling by cuDNN against the CPU's reference, on the stand-in, which computes from the graphs as finalised.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cuda/cudnn/pooling.h"
#include "backends/cuda/gpu/choices.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

constexpr char kMaximum[] = "cuda.cudnn.MaxPool", kMean[] = "cuda.cudnn.AveragePool",
               kGradient[] = "cuda.cudnn.dp.AveragePoolGrad";

TEST(Pooling, Samples) {
  CheckSamples("AveragePool", "", kMean);
  CheckSamples("AveragePoolGrad", "dp", kGradient);
}

// Which sums cuDNN takes shows in the choice; everything else is our own function's.
struct Tally {
  int64_t runs = 0, planned = 0;
  void Count() {
    runs++;
    planned += std::string(dp_cuda_choices()).find("cuDNN engine") != std::string::npos;
  }
};

// Of 1 to 3 dims, with pads that differ, ceil_mode, windows that overlap and that leave gaps, dilated ones.
TEST(Pooling, RandomWindows) {
  Random random(5);
  Tally tally;
  for (int i = 0; i < 60; i++) {
    const int rank = int(random.Int(1, 3));
    const bool ceil = random.Int(0, 1);
    std::vector<int64_t> x = {random.Int(1, 3)}, y = x, windows, strides, dilations, pads(size_t(2 * rank));
    for (int d = 0; d < rank; d++) {
      const int64_t window = random.Int(1, 3), stride = random.Int(1, 3), dilation = random.Int(0, 5) ? 1 : 2;
      const int64_t begin = random.Int(0, window - 1), end = random.Int(0, window - 1);
      const int64_t reach = (window - 1) * dilation + 1, extent = reach + random.Int(0, rank == 3 ? 2 : 6);
      const int64_t room = extent + begin + end - reach;
      x.push_back(extent);
      int64_t count = (ceil ? (room + stride - 1) / stride : room / stride) + 1;
      if (ceil && (count - 1) * stride >= extent + begin) count--;  // no window begins in the pads at the end
      y.push_back(count);
      windows.push_back(window);
      strides.push_back(stride);
      dilations.push_back(dilation);
      pads[size_t(d)] = begin;
      pads[size_t(rank + d)] = end;
    }
    const char *const types[] = {"float32", "float64", "float16", "bfloat16"};
    const std::string type = types[i % 4], of_x = Shape("N", x), of_y = Shape("N", y);
    const std::string attrs = "kernel_shape=" + List(windows) + ", strides=" + List(strides) +
                              ", dilations=" + List(dilations) + ", pads=" + List(pads) +
                              ", ceil_mode=" + std::to_string(ceil);
    const std::string counted = attrs + ", count_include_pad=" + std::to_string(random.Int(0, 1));
    const int64_t n = i % 9 == 8 ? 0 : random.Int(1, 3);
    dp_cuda_choices();
    Check({"AveragePool", "", type + of_x, counted, n, 27}, kMean);
    tally.Count();
    Check({"AveragePoolGrad", "dp", type + of_y, "shape=" + of_x + ", " + counted, n, 27}, kGradient);
    tally.Count();
    Ready maximum = Draw({"MaxPool", "", type + of_x, attrs, n, 0});
    ASSERT_EQ(maximum.built->error, "");
    maximum.built->node->n_outputs = 1;
    maximum.out.resize(1);
    const Outcome expected = RunReference(maximum.built->node, maximum.in, maximum.out);
    const Outcome found = RunCuda(kMaximum, maximum.built->node, maximum.in, maximum.out);
    ASSERT_EQ(found.error, "") << attrs;
    EXPECT_EQ(Numbers(found.results[0]), Numbers(expected.results[0])) << attrs;
    tally.Count();
    if (HasFatalFailure()) return;
  }
  std::printf("%ld of %ld by cuDNN\n", long(tally.planned), long(tally.runs));
  EXPECT_GT(tally.planned * 2, tally.runs);
  EXPECT_LT(tally.planned, tally.runs);
}

// NaN is the largest, -infinity is not lost, and a mean that covers NaN is NaN.
TEST(Pooling, OfNumbersThatAreNone) {
  for (const char *op : {"MaxPool", "AveragePool"}) {
    Ready ready = Draw({op, "", "float32[N,1,4,6]", "kernel_shape=[2,2], strides=[2,2]", 1, 4});
    ready.built->node->n_outputs = 1;
    ready.out.resize(1);
    ready.in[0].Set(0, std::nan(""));
    for (int64_t i : {2, 3, 8, 9}) ready.in[0].Set(i, -INFINITY);
    ready.in[0].Set(4, INFINITY);
    const Outcome expected = RunReference(ready.built->node, ready.in, ready.out);
    const Outcome found =
        RunCuda(op == std::string("MaxPool") ? kMaximum : kMean, ready.built->node, ready.in, ready.out);
    ASSERT_EQ(found.error, "");
    ExpectSame(expected.results[0], found.results[0], false);
  }
}

// Who asks for indices gets them from our own function, and the gradient of maxima is always our own.
TEST(Pooling, IsLeftToOurOwn) {
  EXPECT_EQ(Selected({"MaxPool", "", "float32[N,1,4,4]", "kernel_shape=[2,2]", 1, 0}), "cuda.device.MaxPool");
  EXPECT_EQ(Selected({"MaxPoolGrad", "dp", "float32[N,1,4,4], float32[N,1,3,3]", "kernel_shape=[2,2]", 1, 0}),
            "cuda.device.dp.MaxPoolGrad");
  EXPECT_EQ(Selected({"AveragePool", "", "float32[N,1,4,4]", "kernel_shape=[2,2]", 1, 0}), kMean);
}

class Graphs : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsStandin()) GTEST_SKIP() << kSteers;
    ASSERT_EQ(OpenDevice(), "");
    ASSERT_EQ(dp_cudnn_load(&calls), DP_OK);
    ASSERT_EQ(dp_cudnn_open(&handle), DP_OK);
    held = Standin().count().handles;
    for (int d = 0; d < 2; d++) {
      pool.x[d] = pool.y[d] = 2;
      pool.x[2 + d] = 5;
      pool.y[2 + d] = 3;
      pool.window[d] = 3;
      pool.stride[d] = 2;
      pool.pre[d] = pool.post[d] = 1;
    }
    pool.spatial = 2;
    pool.dtype = DP_FLOAT32;
  }
  void TearDown() override { EXPECT_EQ(IsStandin() ? Standin().count().handles : held, held); }
  int Plan(int64_t *engine) {
    dp_cudnn_plan plan{};
    bool found = false;
    dp_status status = dp_cudnn_pool_plan(calls, handle, nullptr, &pool, &plan, &found);
    const int code = dp_status_code(status);
    dp_status_free(status);
    *engine = found ? plan.engine : -1;
    if (found) dp_cudnn_plan_release(&plan);
    return code;
  }
  const dp_cudnn_calls *calls = nullptr;
  cudnnHandle_t handle = nullptr;
  int64_t held = 0;
  dp_cudnn_pool pool{};
};

TEST_F(Graphs, HaveAnEngine) {
  int64_t engine;
  for (dp_cudnn_pool_kind kind : {DP_CUDNN_MAXIMUM, DP_CUDNN_MEAN, DP_CUDNN_MEAN_GRADIENT}) {
    pool.kind = kind;
    EXPECT_EQ(Plan(&engine), 0);
    EXPECT_EQ(engine, 301);
  }
}

// Extents that do not belong together, in every place.
TEST_F(Graphs, ExtentsMustFit) {
  int64_t engine;
  const dp_cudnn_pool right = pool;
  for (int64_t *extent :
       {&pool.x[0], &pool.x[1], &pool.x[2], &pool.y[0], &pool.y[1], &pool.y[3], &pool.window[0], &pool.post[1]}) {
    *extent += 2;
    EXPECT_EQ(Plan(&engine), EX_UNAVAILABLE) << (extent - pool.x);
    pool = right;
  }
}

}  // namespace
}  // namespace dp_test
