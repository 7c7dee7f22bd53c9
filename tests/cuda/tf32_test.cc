// --fast-math=tf32: kernels whose specs allow it round operands of float32 to TF32, and nothing else; those of other
// specs and types do not. On the stand-ins, which round as TF32 does where descriptors and engines ask for it.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cuda/blaslt/product.h"
#include "backends/cuda/cudnn/plan.h"
#include "backends/cuda/target.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

// The nearest number with ten bits of fraction, ties away from zero.
double Rounded(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int shift = 10 - std::ilogb(x);
  return std::ldexp(std::round(std::ldexp(x, shift)), -shift);
}

Tensor Rounded(Tensor t) {
  for (int64_t i = 0; i < t.Count(); i++) t.Set(i, Rounded(t.Get(i)));
  return t;
}

// The largest distance of elements, relative to the largest of them.
double Distance(const Tensor &a, const Tensor &b) {
  double distance = 0, most = 1e-30;
  for (int64_t i = 0; i < a.Count(); i++) {
    distance = std::max(distance, std::fabs(a.Get(i) - b.Get(i)));
    most = std::max(most, std::fabs(a.Get(i)));
  }
  return distance / most;
}

// products: as many of the first operands are multiplied; what is added is never rounded.
struct Multiplies {
  const char *name;
  Problem problem;
  size_t products;
};

Outcome Compute(const Multiplies &m, const Ready &ready, bool tf32) {
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cuda, m.name);
  EXPECT_NE(kernel, nullptr) << m.name;
  Spec spec(ready.built->node, ready.in, ready.out);
  spec.tf32 = tf32;
  return RunKernel(kernel, spec, ready.in, ready.out);
}

const Multiplies kProblems[] = {
    {"cuda.blaslt.Gemm", {"Gemm", "", "float32[N,40], float32[40,7]", "", 9, 40}, 2},
    {"cuda.blaslt.Gemm", {"Gemm", "", "float32[40,N], float32[7,40], float32[7]", "transA=1, transB=1", 9, 40}, 2},
    {"cuda.blaslt.Gemm", {"Gemm", "", "float32[N,90], float32[90,7], float32[N,7]", "beta=0.3", 9, 90}, 2},
    {"cuda.blaslt.MatMul", {"MatMul", "", "float32[N,3,5,33], float32[N,3,33,4]", "", 2, 33}, 2},
    {"cuda.cudnn.Conv", {"Conv", "", "float32[N,3,9,9], float32[7,3,3,3], float32[7]", "", 2, 27}, 2},
    {"cuda.cudnn.dp.ConvGradInput",
     {"ConvGradInput", "dp", "float32[7,3,3], float32[N,7,7]", "shape=[N,3,9]", 2, 21},
     2},
    {"cuda.cudnn.dp.ConvGradWeight",
     {"ConvGradWeight", "dp", "float32[N,3,9], float32[N,7,7]", "shape=[7,3,3]", 2, 14},
     2},
};

// The result is the reference's of operands that were rounded before, to the exactness of float32's sums; that of whole
// operands is farther away, but not by more than the roundings make of it.
TEST(Tf32, RoundsOperandsAndNothingElse) {
  for (const Multiplies &m : kProblems) {
    SCOPED_TRACE(m.problem.Print());
    const Ready ready = Draw(m.problem);
    std::vector<Tensor> in = ready.in;
    for (size_t i = 0; i < m.products; i++) in[i] = Rounded(in[i]);
    const Outcome whole = RunReference(ready.built->node, ready.in, ready.out);
    const Outcome rounded = RunReference(ready.built->node, in, ready.out);
    const Outcome found = Compute(m, ready, true), exact = Compute(m, ready, false);
    ASSERT_EQ(whole.error + rounded.error + found.error + exact.error, "");
    ExpectSame(whole.results[0], exact.results[0], false);
    // What is small, a library may compute without TF32.
    if (!IsStandin() && Distance(whole.results[0], found.results[0]) < 1e-6) continue;
    ExpectSame(rounded.results[0], found.results[0], false);
    EXPECT_GT(Distance(whole.results[0], found.results[0]), 3e-5) << "nothing was rounded";
    // Each operand moves by 2^-11 of itself at most, so each product by little more than 2^-10.
    Ready sizes = Draw(m.problem);
    for (Tensor &t : sizes.in)
      for (int64_t i = 0; i < t.Count(); i++) t.Set(i, std::fabs(t.Get(i)));
    const Outcome most = RunReference(sizes.built->node, sizes.in, sizes.out);
    for (int64_t i = 0; i < found.results[0].Count(); i++)
      EXPECT_LE(std::fabs(found.results[0].Get(i) - whole.results[0].Get(i)), 0x1.01p-10 * most.results[0].Get(i));
  }
}

// 1 and the eleventh bit, which is half a unit; the twelfth; just below the half; zero, infinity and NaN.
TEST(Tf32, RoundsToNearestAndHalvesAwayFromZero) {
  if (!IsStandin()) GTEST_SKIP() << "a library computes what is so small without TF32";
  const struct {
    double x, rounded;
  } numbers[] = {{1 + 0x1p-11, 1 + 0x1p-10},
                 {-1 - 0x1p-11, -1 - 0x1p-10},
                 {1 + 0x1p-12, 1},
                 {1 + 0x1p-11 - 0x1p-20, 1},
                 {1 + 3 * 0x1p-11, 1 + 4 * 0x1p-11},
                 {1 + 0x1p-10, 1 + 0x1p-10},
                 {2 - 0x1p-23, 2},
                 {0, 0},
                 {INFINITY, INFINITY},
                 {NAN, NAN}};
  const Multiplies product = {"cuda.blaslt.Gemm", {"Gemm", "", "float32[1,1], float32[1,1]", "", 1, 1}, 2};
  const Multiplies conv = {"cuda.cudnn.Conv", {"Conv", "", "float32[N,1,1,1], float32[1,1,1,1]", "", 1, 1}, 2};
  for (const Multiplies &m : {product, conv})
    for (const auto &number : numbers)
      for (size_t at = 0; at < 2; at++) {
        Ready ready = Draw(m.problem);
        ready.in[at].Set(0, number.x);
        ready.in[1 - at].Set(0, 1);
        const Outcome exact = Compute(m, ready, false), found = Compute(m, ready, true);
        ASSERT_EQ(exact.error + found.error, "");
        const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
        EXPECT_TRUE(same(exact.results[0].Get(0), double(float(number.x)))) << m.name << " " << number.x;
        EXPECT_TRUE(same(found.results[0].Get(0), number.rounded))
            << m.name << " " << number.x << " " << found.results[0].Get(0);
      }
}

// What is not in float32 keeps its bits, and so do our own functions.
TEST(Tf32, LeavesTheRestAlone) {
  for (const char *type : {"float64", "float16", "bfloat16"})
    for (const Multiplies &m : kProblems) {
      Multiplies other = m;
      std::string &inputs = other.problem.inputs;
      for (size_t at; (at = inputs.find("float32")) != std::string::npos;) inputs.replace(at, 7, type);
      if (other.problem.attrs.find("beta") != std::string::npos && type != std::string("float64")) continue;
      SCOPED_TRACE(other.problem.Print());
      const Ready ready = Draw(other.problem);
      const Outcome exact = Compute(other, ready, false), found = Compute(other, ready, true);
      ASSERT_EQ(exact.error + found.error, "");
      EXPECT_EQ(exact.results[0].bytes, found.results[0].bytes);
    }
  const Multiplies own = {"cuda.device.Gemm", kProblems[0].problem, 2};
  const Ready ready = Draw(own.problem);
  EXPECT_EQ(Compute(own, ready, false).results[0].bytes, Compute(own, ready, true).results[0].bytes);
}

// Engines that convert to 16 bits, or depend on the order of arrival, are passed over all the same.
TEST(Tf32, TakesDeterministicEnginesOfTensorCoresAlone) {
  if (!IsStandin()) GTEST_SKIP() << kSteers;
  ASSERT_EQ(OpenDevice(), "");
  const dp_cudnn_calls *calls;
  cudnnHandle_t handle;
  ASSERT_EQ(dp_cudnn_load(&calls), DP_OK);
  ASSERT_EQ(dp_cudnn_open(&handle), DP_OK);
  dp_cudnn_spec spec{};
  spec.dtype = DP_FLOAT32;
  spec.tf32 = true;
  spec.spatial = 2;
  const int64_t x[] = {2, 4, 5, 6}, w[] = {6, 4, 3, 3}, y[] = {2, 6, 3, 4};
  for (int d = 0; d < 4; d++) spec.x[d] = x[d], spec.w[d] = w[d], spec.y[d] = y[d];
  for (int d = 0; d < 2; d++) spec.stride[d] = spec.dilation[d] = 1;
  spec.workspace = 1 << 20;
  std::vector<int64_t> engines;
  std::vector<bool> narrow;
  dp_cudnn_wanted wanted{};
  for (bool found = true;;) {
    dp_cudnn_plan plan{};
    ASSERT_EQ(dp_cudnn_plan_make(calls, handle, nullptr, &spec, &wanted, &plan, &found), DP_OK);
    if (!found) break;
    engines.push_back(plan.engine);
    narrow.push_back(plan.tensor_cores);
    wanted.from = plan.place + 1;
    dp_cudnn_plan_release(&plan);
  }
  // Of the stand-in's, one has tensor cores; the others do in float32 what they do without TF32.
  const std::vector<int64_t> expected = {67, 38, 70, 71, 72, 73, 74, 75, 76, 77, 0};
  EXPECT_EQ(engines, expected);
  std::vector<bool> first(expected.size());
  first[0] = true;
  EXPECT_EQ(narrow, first);
}

}  // namespace
}  // namespace dp_test
