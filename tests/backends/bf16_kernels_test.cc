// Kernels that compute with AVX-512's instruction for bfloat16 (backends/cpu/bf16) against the reference kernels in
// float64, of the same numbers: errors within what rounding and adding up in float32 allow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "backends/cpu/onednn/isa.h"
#include "tests/backends/drawn_convolution.h"
#include "tests/backends/library_check.h"

namespace dp_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class Bfloat16Kernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!dp_isa_allows_bf16(nullptr)) GTEST_SKIP() << "this machine lacks AVX-512's bfloat16";
  }
};

Problem InFloat64(Problem p) {
  for (const char *type : {"bfloat16", "float32"})
    for (size_t at; (at = p.inputs.find(type)) != std::string::npos;)
      p.inputs.replace(at, std::string(type).size(), "float64");
  return p;
}

using Edit = std::function<double(size_t operand, double x)>;

// The reference's results in float64 of the operands, edited.
std::vector<Tensor> Exact(const Problem &p, const std::vector<Tensor> &operands, const Edit &edit = nullptr) {
  Ready ready(InFloat64(p));
  EXPECT_EQ(ready.built->error, "");
  for (size_t k = 0; k < operands.size(); k++)
    for (int64_t i = 0; !operands[k].bytes.empty() && i < operands[k].Count(); i++) {
      const double x = operands[k].Get(i);
      ready.in[k].Set(i, edit ? edit(k, x) : x);
    }
  const Outcome outcome = RunKernel(NameOf(p, "reference"), ready.built->node, ready.in, ready.out);
  EXPECT_EQ(outcome.error, "");
  return outcome.results;
}

std::string Selected(const Ready &ready, int threads = 1) {
  const Spec spec(ready.built->node, ready.in, ready.out, threads);
  return dp_kernel_select(&dp_target_cpu, &spec, false)->name;
}

// ---- convolutions ---------------------------------------------------------------------------------------------------

// Half a unit of the result, which is rounded once, and what float32 loses in that many sums. sizes: of the sums of
// magnitudes. Not finite results are the same.
void ExpectRounded(const Tensor &found, const Tensor &exact, const Tensor &sizes, double terms) {
  ASSERT_EQ(found.Count(), exact.Count());
  for (int64_t i = 0; i < found.Count(); i++) {
    const double f = found.Get(i), e = exact.Get(i);
    if (f == e || (std::isnan(f) && std::isnan(e))) continue;
    ASSERT_NEAR(f, e, std::fabs(e) * 0x1p-8 + sizes.Get(i) * 0x1p-24 * (terms + 2)) << "element " << i;
  }
}

// Compares the native kernel, where it takes the convolution, for several threads. Returns whether it does.
bool Check(const Problem &p, const std::function<void(Ready *)> &change = nullptr) {
  SCOPED_TRACE(p.Print());
  Ready ready(p);
  EXPECT_EQ(ready.built->error, "");
  if (change) change(&ready);
  const std::string name = NameOf(p, "bf16");
  if (Selected(ready) != name) return false;
  const Tensor exact = Exact(p, ready.in)[0];
  const Tensor sizes = Exact(p, ready.in, [](size_t, double x) { return std::fabs(x); })[0];
  for (int threads : {1, 2}) {
    const Outcome found = RunKernel(name, ready.built->node, ready.in, ready.out, threads);
    EXPECT_EQ(found.error, "");
    ExpectRounded(found.results[0], exact, sizes, p.longest_sum);
    const Outcome again = RunKernel(name, ready.built->node, ready.in, ready.out, threads);
    EXPECT_EQ(found.results[0].bytes, again.results[0].bytes);
  }
  return true;
}

TEST_F(Bfloat16Kernels, ConvolutionsAreThoseOfFloat64) {
  Random random(1);
  int checked[3] = {};
  for (int i = 0; i < 70; i++) {
    const Convolution v = DrawConvolution(random, "bfloat16", 18);
    const int64_t n = i % 8 == 7 ? 0 : random.Int(1, 5);
    checked[0] += Check({"Conv", "", v.x + ", " + v.w + (i % 2 ? ", " + v.b : ""), v.attrs, n, v.taps + 1});
    checked[1] +=
        Check({"ConvGradInput", "dp", v.w + ", " + v.y, "shape=" + v.x_shape + ", " + v.attrs, n, v.taps * 20});
    checked[2] += Check(
        {"ConvGradWeight", "dp", v.x + ", " + v.y, "shape=" + v.w_shape + ", " + v.attrs, n, v.windows * double(n)});
  }
  EXPECT_GE(checked[0], 10);
  EXPECT_GE(checked[1], 4);
  EXPECT_GE(checked[2], 4);
}

struct Layer {
  std::string x, w, y, attrs;
  int64_t n;
  double taps, windows;
};

// The three problems of a layer: all must be native.
void CheckLayer(const Layer &l, bool with_bias) {
  const std::string channels = l.w.substr(1, l.w.find(',') - 1), bias = ", bfloat16[" + channels + "]";
  const std::string x = "bfloat16" + l.x, w = "bfloat16" + l.w, y = "bfloat16" + l.y;
  EXPECT_TRUE(Check({"Conv", "", x + ", " + w + (with_bias ? bias : ""), l.attrs, l.n, l.taps + 1})) << l.x;
  EXPECT_TRUE(
      Check({"ConvGradInput", "dp", w + ", " + y, "shape=" + l.x + ", " + l.attrs, l.n, l.taps * std::stod(channels)}))
      << l.x;
  EXPECT_TRUE(
      Check({"ConvGradWeight", "dp", x + ", " + y, "shape=" + l.w + ", " + l.attrs, l.n, l.windows * double(l.n) + 1}))
      << l.x;
}

// What networks have: their first layer, strides, kernels of one element, groups, dilation, odd numbers of channels;
// more samples than a chunk, whose gradients of weights add up in float32.
TEST_F(Bfloat16Kernels, LayersAreThoseOfFloat64) {
  CheckLayer({"[N,32,8,8]", "[48,32,3,3]", "[N,48,4,4]", "pads=[1,1,1,1], strides=[2,2]", 5, 288, 16}, false);
  CheckLayer({"[N,64,7,7]", "[33,64,1,1]", "[N,33,4,4]", "strides=[2,2]", 3, 64, 16}, true);
  CheckLayer({"[N,37,5,5]", "[31,37,3,3]", "[N,31,5,5]", "pads=[1,1,1,1]", 3, 333, 25}, true);
  CheckLayer({"[N,32,7,7]", "[32,16,3,3]", "[N,32,7,7]", "group=2, pads=[1,1,1,1]", 3, 144, 49}, false);
  CheckLayer({"[N,16,9,9]", "[16,16,3,3]", "[N,16,5,5]", "dilations=[2,2]", 3, 144, 25}, true);
  CheckLayer({"[N,16,5,5]", "[32,16,3,3]", "[N,32,3,3]", "strides=[1,1]", 199, 144, 9}, true);
  EXPECT_TRUE(Check({"Conv", "", "bfloat16[N,1,1,1], bfloat16[1,1,1,1]", "", 1, 1}));
  EXPECT_TRUE(Check({"Conv", "", "bfloat16[N,3,9,9], bfloat16[32,3,3,3], bfloat16[32]", "pads=[1,1,1,1]", 7, 28}));
  EXPECT_TRUE(Check(
      {"ConvGradWeight", "dp", "bfloat16[N,3,9,9], bfloat16[N,32,9,9]", "shape=[32,3,3,3], pads=[1,1,1,1]", 7, 567}));
}

// A NaN or an infinity reaches the results that see it, and no others.
TEST_F(Bfloat16Kernels, ConvolutionsOfWhatIsNotFinite) {
  const Layer l = {"[N,32,6,6]", "[32,32,3,3]", "[N,32,6,6]", "pads=[1,1,1,1]", 2, 288, 36};
  for (double x : {std::nan(""), kInf, -kInf})
    for (size_t operand : {0u, 1u}) {
      const auto change = [&](Ready *ready) { ready->in[operand].Set(100, x); };
      EXPECT_TRUE(Check({"Conv", "", "bfloat16" + l.x + ", bfloat16" + l.w, l.attrs, l.n, l.taps}, change));
      EXPECT_TRUE(Check(
          {"ConvGradInput", "dp", "bfloat16" + l.w + ", bfloat16" + l.y, "shape=" + l.x + ", " + l.attrs, l.n, l.taps},
          change));
      EXPECT_TRUE(Check({"ConvGradWeight", "dp", "bfloat16" + l.x + ", bfloat16" + l.y, "shape=" + l.w + ", " + l.attrs,
                         l.n, l.windows * 2},
                        change));
    }
}

// As the instruction has it.
TEST_F(Bfloat16Kernels, SubnormalNumbersCountAsNone) {
  const Problem p = {"Conv", "", "bfloat16[N,16,1,1], bfloat16[16,16,1,1]", "", 1, 16};
  const std::pair<double, double> factors[] = {{0x1p-130, 1}, {0x1p-70, 0x1p-70}, {0x1p-130, 0x1p100}};
  for (const auto &[x, w] : factors) {
    Ready ready(p);
    for (int64_t i = 0; i < ready.in[0].Count(); i++) ready.in[0].Set(i, x);
    for (int64_t i = 0; i < ready.in[1].Count(); i++) ready.in[1].Set(i, w);
    ASSERT_EQ(Selected(ready), "cpu.bf16.Conv");
    const Outcome found = RunKernel("cpu.bf16.Conv", ready.built->node, ready.in, ready.out);
    for (int64_t i = 0; i < ready.out[0].Count(); i++) EXPECT_EQ(found.results[0].Get(i), 0) << x;
  }
}

// oneDNN has no kernel with the instruction, or one that errs: such convolutions are converted.
TEST_F(Bfloat16Kernels, OtherConvolutionsAreConverted) {
  for (const char *operands : {"bfloat16[N,16,5,5,5], bfloat16[16,16,3,3,3]", "float16[N,16,5,5], float16[16,16,3,3]"})
    EXPECT_EQ(Selected(Ready({"Conv", "", operands, "", 2, 1})), "cpu.fast_wide") << operands;
  const Problem deep = {"ConvGradWeight",
                        "dp",
                        "bfloat16[N,2,2,2,4], bfloat16[N,16,2,1,2]",
                        "shape=[16,2,2,2,3], strides=[2,2,2], pads=[1,0,0,1,1,2]",
                        5,
                        20};
  EXPECT_EQ(Selected(Ready(deep)), "cpu.fast_wide");
  const Problem narrow = {"ConvGradWeight",
                          "dp",
                          "bfloat16[N,64,18,2], bfloat16[N,16,18,1]",
                          "shape=[16,64,1,2], strides=[1,3], pads=[0,1,0,0]",
                          3,
                          54};
  EXPECT_EQ(Selected(Ready(narrow)), "cpu.fast_wide");
  // These take less time so.
  EXPECT_EQ(Selected(Ready({"ConvGradInput", "dp", "bfloat16[32,7,3,3], bfloat16[N,32,9,9]",
                            "shape=[N,7,9,9], pads=[1,1,1,1]", 2, 1})),
            "cpu.fast_wide");
  EXPECT_EQ(Selected(Ready({"ConvGradWeight", "dp", "bfloat16[N,128,2,4], bfloat16[N,128,2,4]",
                            "shape=[128,128,3,3], pads=[1,1,1,1]", 2, 1})),
            "cpu.fast_wide");
  Ready other({"Conv", "", "bfloat16[N,16,5,5], bfloat16[16,16,3,3]", "", 2, 1});
  Spec spec(other.built->node, other.in, other.out, 1);
  spec.isa = "avx512";
  EXPECT_STREQ(dp_kernel_select(&dp_target_cpu, &spec, false)->name, "cpu.fast_wide");
}

// ---- attention ------------------------------------------------------------------------------------------------------

// A bool mask as a causal one: row i sees keys up to i + `ahead`. Every other operand has its numbers.
void MaskLater(Tensor *mask, int64_t keys, int64_t ahead) {
  for (int64_t i = 0; i < mask->Count(); i++) mask->Set(i, i % keys <= i / keys % mask->local.extents[0] + ahead);
}

double Largest(const Tensor &tensor) {
  double most = 0;
  for (int64_t i = 0; i < tensor.Count(); i++)
    if (std::isfinite(tensor.Get(i))) most = std::max(most, std::fabs(tensor.Get(i)));
  return most;
}

// Half a unit of the result, and of each number that is multiplied again: `sizes` has the sums of what results from
// these; NULL: they are as large as the largest result.
void ExpectNear(const Tensor &found, const Tensor &exact, const Tensor *sizes, const std::string &what) {
  const double largest = Largest(exact);
  ASSERT_EQ(found.Count(), exact.Count());
  for (int64_t i = 0; i < found.Count(); i++) {
    const double f = found.Get(i), e = exact.Get(i), size = sizes ? sizes->Get(i) : 2 * largest;
    if (f == e || (std::isnan(f) && std::isnan(e))) continue;
    ASSERT_NEAR(f, e, 0x1p-8 * (std::fabs(e) + size) + 1e-5) << what << ", element " << i;
  }
}

struct Attention {
  std::string inputs, attrs;
  int64_t n;
  int64_t ahead = 0;  // of a bool mask
};

// What the native kernel gives; with several parts the same bits.
std::vector<Tensor> Run(const Problem &p, const Ready &ready) {
  EXPECT_EQ(Selected(ready), NameOf(p, "bf16"));
  const Outcome whole = RunKernel(NameOf(p, "bf16"), ready.built->node, ready.in, ready.out);
  const Outcome parts = RunKernel(NameOf(p, "bf16"), ready.built->node, ready.in, ready.out, 3);
  EXPECT_EQ(whole.error + parts.error, "");
  for (size_t k = 0; k < whole.results.size(); k++) EXPECT_EQ(whole.results[k].bytes, parts.results[k].bytes);
  return whole.results;
}

// The gradient of a mask is computed by other kernels.
void LeaveOutMask(Ready *ready) {
  ready->built->node->n_outputs = std::min(ready->built->node->n_outputs, 3);
  ready->out.resize(std::min<size_t>(ready->out.size(), 3));
}

Ready Masked(const Problem &p, int64_t ahead) {
  Ready ready(p);
  EXPECT_EQ(ready.built->error, "");
  LeaveOutMask(&ready);
  for (Tensor &x : ready.in)
    if (x.dtype == DP_BOOL) MaskLater(&x, x.local.extents[1], ahead);
  return ready;
}

void ExpectForward(const Attention &a) {
  const Problem p = {"ScaledDotProductAttention", "dp", a.inputs, a.attrs, a.n, 1};
  SCOPED_TRACE(p.Print());
  const Ready ready = Masked(p, a.ahead);
  const std::vector<Tensor> found = Run(p, ready), exact = Exact(p, ready.in);
  const Tensor sizes = Exact(p, ready.in, [](size_t k, double x) { return k == 2 ? std::fabs(x) : x; })[0];
  ExpectNear(found[0], exact[0], &sizes, "Y");
  ASSERT_EQ(found[1].Count(), exact[1].Count());
  for (int64_t i = 0; i < found[1].Count(); i++) {
    const double f = found[1].Get(i), e = exact[1].Get(i);
    if (f != e && !(std::isnan(f) && std::isnan(e))) {
      ASSERT_NEAR(f, e, 2e-5 * (1 + std::fabs(e))) << "LSE " << i;
    }
  }
}

void ExpectGradient(const Attention &a) {
  const Problem p = {"ScaledDotProductAttentionGrad", "dp", a.inputs, a.attrs, a.n, 1};
  SCOPED_TRACE(p.Print());
  const Ready ready = Masked(p, a.ahead);
  const std::vector<Tensor> found = Run(p, ready), exact = Exact(p, ready.in);
  const Tensor sizes = Exact(p, ready.in, [](size_t k, double x) { return k == 0 ? std::fabs(x) : x; })[2];
  ExpectNear(found[0], exact[0], nullptr, "dQ");
  ExpectNear(found[1], exact[1], nullptr, "dK");
  ExpectNear(found[2], exact[2], &sizes, "dV");
}

TEST_F(Bfloat16Kernels, AttentionIsThatOfFloat64) {
  const std::string large = "bfloat16[N,150,4,5], bfloat16[N,600,2,5], bfloat16[N,600,2,3]";
  const std::string even = "bfloat16[N,130,2,32], bfloat16[N,130,2,32], bfloat16[N,130,2,64]";
  for (int64_t n : {0, 1, 2}) ExpectForward({large, "scale=0.5", n});
  ExpectForward({even, "", 2});
  ExpectForward({even, "is_causal=1", 2});
  ExpectForward({large + ", float32[150,600]", "", 1});
  for (const char *attrs : {"", "masked=-1e9", "masked_rows=\"zero\""})
    for (int64_t ahead : {0, -7, 449}) ExpectForward({large + ", bool[150,600]", attrs, 1, ahead});
  ExpectForward({large + ", , int64[], int64[]", "ratio=0.3, key=77", 2});
  ExpectForward({large + ", , int64[], int64[]", "is_causal=1, ratio=0.3, key=77", 2});
  ExpectForward({"bfloat16[N,1,1,1], bfloat16[N,1,1,1], bfloat16[N,1,1,1]", "", 3});
}

TEST_F(Bfloat16Kernels, GradientOfAttentionIsThatOfFloat64) {
  const std::string large =
      "bfloat16[N,150,4,3], bfloat16[N,150,4,5], bfloat16[N,300,2,5], bfloat16[N,300,2,3], bfloat16[N,150,4,3], "
      "float32[N,4,150]";
  const std::string even =
      "bfloat16[N,130,2,64], bfloat16[N,130,2,32], bfloat16[N,130,2,32], bfloat16[N,130,2,64], bfloat16[N,130,2,64], "
      "float32[N,2,130]";
  for (int64_t n : {0, 1, 2}) ExpectGradient({large, "scale=0.1", n});
  ExpectGradient({even, "scale=0.1", 2});
  ExpectGradient({even, "scale=0.1, is_causal=1", 2});
  for (const char *attrs : {"scale=0.1", "scale=0.1, masked=-1e9"})
    for (int64_t ahead : {0, 149}) ExpectGradient({large + ", bool[150,300]", attrs, 1, ahead});
  ExpectGradient({large + ", , int64[], int64[]", "scale=0.1, ratio=0.3, key=77", 2});
  ExpectGradient({large + ", , int64[], int64[]", "scale=0.1, is_causal=1, ratio=0.3, key=77", 2});
  ExpectGradient(
      {"bfloat16[N,1,1,1], bfloat16[N,1,1,1], bfloat16[N,1,1,1], bfloat16[N,1,1,1], bfloat16[N,1,1,1], "
       "float32[N,1,1]",
       "", 3});
  ExpectGradient(
      {"bfloat16[3,N,1,2], bfloat16[3,N,1,4], bfloat16[3,2,1,4], bfloat16[3,2,1,2], bfloat16[3,N,1,2], "
       "float32[3,1,N]",
       "", 0});
  ExpectGradient(
      {"bfloat16[3,2,1,2], bfloat16[3,2,1,4], bfloat16[3,N,1,4], bfloat16[3,N,1,2], bfloat16[3,2,1,2], "
       "float32[3,1,2]",
       "", 0});
}

// A query that is NaN makes its own row NaN; a gradient that is NaN reaches the keys that the row sees.
TEST_F(Bfloat16Kernels, AttentionOfWhatIsNotANumber) {
  Ready ready({"ScaledDotProductAttention", "dp", "bfloat16[N,70,1,16], bfloat16[N,70,1,16], bfloat16[N,70,1,16]",
               "is_causal=1", 1, 1});
  ready.in[0].Set(33 * 16 + 5, std::nan(""));
  const Outcome y = RunKernel("cpu.bf16.dp.ScaledDotProductAttention", ready.built->node, ready.in, ready.out);
  for (int64_t i = 0; i < y.results[0].Count(); i++) EXPECT_EQ(std::isnan(y.results[0].Get(i)), i / 16 == 33) << i;
  Ready back({"ScaledDotProductAttentionGrad", "dp",
              "bfloat16[N,70,1,16], bfloat16[N,70,1,16], bfloat16[N,70,1,16], bfloat16[N,70,1,16], "
              "bfloat16[N,70,1,16], float32[N,1,70]",
              "is_causal=1", 1, 1});
  LeaveOutMask(&back);
  back.in[0].Set(33 * 16 + 5, std::nan(""));
  const Outcome d = RunKernel("cpu.bf16.dp.ScaledDotProductAttentionGrad", back.built->node, back.in, back.out);
  for (int64_t i = 0; i < 70 * 16; i++) {
    EXPECT_EQ(std::isnan(d.results[0].Get(i)), i / 16 == 33) << "dQ " << i;
    EXPECT_EQ(std::isnan(d.results[1].Get(i)), i / 16 <= 33) << "dK " << i;
    // Of hidden keys 0 times NaN, up to the last that the block of 64 rows sees.
    EXPECT_EQ(std::isnan(d.results[2].Get(i)), i % 16 == 5 && i / 16 < 64) << "dV " << i;
  }
}

// ---- scratch --------------------------------------------------------------------------------------------------------

// The scratch declared for the largest number of samples must be enough for every smaller one.
TEST_F(Bfloat16Kernels, ScratchOfTheLargestCountIsEnough) {
  const Problem problems[] = {
      {"Conv", "", "bfloat16[N,3,9,9], bfloat16[17,3,3,3], bfloat16[17]", "pads=[1,1,1,1]", 37, 28},
      {"ConvGradInput", "dp", "bfloat16[17,16,3,3], bfloat16[N,17,9,9]", "shape=[N,16,9,9], pads=[1,1,1,1]", 37, 153},
      {"ConvGradWeight", "dp", "bfloat16[N,16,9,9], bfloat16[N,17,9,9]", "shape=[17,16,3,3], pads=[1,1,1,1]", 37, 37},
      {"ScaledDotProductAttention", "dp", "bfloat16[2,N,2,8], bfloat16[2,N,2,8], bfloat16[2,N,2,8]", "", 300, 1},
      {"ScaledDotProductAttentionGrad", "dp",
       "bfloat16[2,N,2,8], bfloat16[2,N,2,8], bfloat16[2,N,2,8], bfloat16[2,N,2,8], bfloat16[2,N,2,8], float32[2,2,N]",
       "", 300, 1}};
  for (Problem p : problems)
    for (int threads : {1, 2}) {
      SCOPED_TRACE(p.Print());
      Ready largest(p);
      LeaveOutMask(&largest);
      ASSERT_EQ(largest.built->error, "");
      const Spec spec(largest.built->node, largest.in, largest.out, threads);
      const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, NameOf(p, "bf16").c_str());
      ASSERT_TRUE(kernel->match(&spec));
      const uint64_t declared = kernel->scratch_bytes(&spec);
      for (int64_t n : {1, 5, 13, 31, 36}) {
        Problem smaller = p;
        smaller.n = n;
        Ready ready(smaller);
        LeaveOutMask(&ready);
        EXPECT_EQ(RunKernel(NameOf(p, "bf16"), ready.built->node, ready.in, ready.out, threads, declared).error, "")
            << "n " << n << ", threads " << threads;
      }
    }
}

}  // namespace
}  // namespace dp_test
