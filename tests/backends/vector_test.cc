// Kernels of our own that are compiled for an instruction set (backends/cpu/fast, backends/cpu/vector): the errors of
// their elementary functions against libm in float64; each kernel against the reference of its operator; regions of
// them against the same kernels on whole operands, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <set>

#include "backends/cpu/target.h"
#include "backends/cpu/vector/attention_rows.h"
#include "backends/cpu/vector/unary.h"
#include "ir/base/philox.h"
#include "ir/kernel/member.h"
#include "tests/backends/drawn_region.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {
namespace {

const char *Isa() { return dp_target_cpu.isa(); }

// ---- elementary functions -------------------------------------------------------------------------------------------

constexpr float kInf = std::numeric_limits<float>::infinity(), kLeast = std::numeric_limits<float>::min();

struct Function {
  const char *name;
  dp_vector_row dp_vector_unary::*row;
  float p;
  std::function<double(double)> exact;
  double units;     // allowed error in units in the last place of the result
  double relative;  // allowed besides: this times |x|
};

double Normal(double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }
double ByTanh(double x) { return x * 0.5 * (1 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x))); }
double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

const Function kFunctions[] = {
    {"exp", &dp_vector_unary::exp, 0, [](double x) { return std::exp(x); }, 1.5, 0},
    {"log", &dp_vector_unary::log, 0, [](double x) { return std::log(x); }, 1.5, 0},
    {"tanh", &dp_vector_unary::tanh, 0, [](double x) { return std::tanh(x); }, 2, 0},
    {"erf", &dp_vector_unary::erf, 0, [](double x) { return std::erf(x); }, 2, 0},
    {"sigmoid", &dp_vector_unary::sigmoid, 0, Logistic, 2.5, 0},
    {"gelu", &dp_vector_unary::gelu, 0, [](double x) { return x * Normal(x); }, 1, 0x1p-22},
    {"gelu_tanh", &dp_vector_unary::gelu_tanh, 0, ByTanh, 1, 0x1p-22},
    {"swish", &dp_vector_unary::swish, 2, [](double x) { return x * Logistic(2 * x); }, 4, 0},
    {"sin", &dp_vector_unary::sin, 0, [](double x) { return std::sin(x); }, 1.5, 0},
    {"cos", &dp_vector_unary::cos, 0, [](double x) { return std::cos(x); }, 1.5, 0},
};

const dp_vector_unary &Table() { return std::strcmp(Isa(), "avx512") ? dp_vector_unary_avx2 : dp_vector_unary_avx512; }

double Unit(double x) {
  const float a = std::max(std::fabs(static_cast<float>(x)), kLeast);
  return static_cast<double>(std::nextafterf(a, kInf)) - static_cast<double>(a);
}

// Every 9,973rd float: all exponents, both signs, denormals, infinities, NaNs.
std::vector<float> ManyFloats() {
  std::vector<float> many;
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 9973) {
    const auto word = static_cast<uint32_t>(bits);
    float x;
    std::memcpy(&x, &word, sizeof x);
    many.push_back(x);
  }
  // Multiples of pi / 2, where sines and cosines have their zeros, and what lies between them.
  for (int i = 0; i < 1 << 21; i += 7) many.push_back(static_cast<float>(i * 1.5707963267948966 / 3));
  for (float x : {1048576.0f, 1048576.125f, -1048576.0f, -1048576.125f}) many.push_back(x);
  for (float x : {0.0f, -0.0f, kInf, -kInf, 88.72283f, 88.72284f, -87.5f, -103.9f, 0.625f, 0.921875f})
    many.push_back(x);
  return many;
}

// Where the exact result is beyond float32, infinity is right, and half a unit below it also the largest number. A
// result of sigmoid and its kin may be 0 where it is denormal.
void Check(const Function &f, float x, float y) {
  const double exact = f.exact(static_cast<double>(x));
  if (std::isnan(exact) || std::isnan(x)) {
    ASSERT_TRUE(std::isnan(y) || (f.relative > 0 && !std::isnan(x))) << f.name << "(" << x << ") = " << y;
    return;
  }
  if (std::isinf(static_cast<float>(exact))) {
    ASSERT_EQ(y, static_cast<float>(exact)) << f.name << "(" << x << ")";
    return;
  }
  const bool vanishes = std::fabs(exact) < static_cast<double>(kLeast) && f.units > 2;
  const double slack = f.relative > 0 ? f.relative * std::fabs(static_cast<double>(x)) : 0;
  const double allowed = (vanishes ? static_cast<double>(kLeast) : f.units * Unit(exact)) + slack;
  ASSERT_LE(std::fabs(static_cast<double>(y) - exact), allowed) << f.name << "(" << x << ") = " << y;
}

TEST(Vector, ElementaryFunctionsAreAsExactAsTheySay) {
  if (!Isa()) GTEST_SKIP() << "this machine has neither AVX2 nor AVX-512";
  const std::vector<float> xs = ManyFloats();
  std::vector<float> ys(xs.size());
  for (const Function &f : kFunctions) {
    (Table().*f.row)(static_cast<int64_t>(xs.size()), xs.data(), ys.data(), f.p);
    for (size_t i = 0; i < xs.size(); i++) {
      // Swish of large negative numbers is -x times what is denormal.
      if (f.row == &dp_vector_unary::swish && xs[i] < -40) continue;
      Check(f, xs[i], ys[i]);
      if (HasFatalFailure()) return;
    }
  }
}

// The same bits wherever an element lies in a row, and when the result replaces the operand.
TEST(Vector, ElementsDoNotDependOnTheirPlace) {
  if (!Isa()) GTEST_SKIP() << "this machine has neither AVX2 nor AVX-512";
  std::mt19937 rng(1);
  std::normal_distribution<float> draw(0, 3);
  std::vector<float> xs(100);
  for (float &x : xs) x = draw(rng);
  for (const Function &f : kFunctions) {
    SCOPED_TRACE(f.name);
    std::vector<float> whole(xs.size()), found(xs.size()), in_place = xs;
    (Table().*f.row)(100, xs.data(), whole.data(), f.p);
    (Table().*f.row)(100, in_place.data(), in_place.data(), f.p);
    EXPECT_EQ(std::memcmp(in_place.data(), whole.data(), 400), 0);
    for (size_t length = 1; length < 20; length++) {
      for (size_t i = 0; i < 100; i += length) {
        const size_t count = std::min(length, 100 - i);
        (Table().*f.row)(static_cast<int64_t>(count), &xs[i], &found[i], f.p);
      }
      EXPECT_EQ(std::memcmp(found.data(), whole.data(), 400), 0) << "rows of " << length;
    }
  }
}

// The random words of ir/base/philox.h one by one, from any element on; an element whose word is at the limit is kept.
TEST(Vector, DropoutKeepsWhatTheWordsSay) {
  if (!Isa()) GTEST_SKIP() << "this machine has neither AVX2 nor AVX-512";
  const dp_attention_rows &rows = std::strcmp(Isa(), "avx512") ? dp_attention_rows_avx2 : dp_attention_rows_avx512;
  const uint64_t seed = 0x123456789abcdef, origin = (uint64_t(1) << 34) - 70;  // the blocks' numbers pass 32 bits
  for (uint64_t first = origin; first < origin + 140; first += 3)
    for (int64_t count : {1, 5, 130, 256}) {
      const uint32_t limit = dp_philox_at(seed, 7, 11, first + 2) >> 8;
      const dp_attention_dropout dropout = {seed, 7, 11, static_cast<int32_t>(limit), 1.25f};
      std::vector<float> factors(static_cast<size_t>(count), -1);
      rows.keep(&dropout, first, count, factors.data());
      for (int64_t i = 0; i < count; i++)
        ASSERT_EQ(factors[static_cast<size_t>(i)],
                  dp_philox_at(seed, 7, 11, first + static_cast<uint64_t>(i)) >> 8 >= limit ? 1.25f : 0)
            << "element " << i << " from " << first << " on";
    }
}

// ---- kernels --------------------------------------------------------------------------------------------------------

bool IsFast(const dp_kernel *kernel) { return !std::strncmp(kernel->name, "cpu.fast.", 9); }

// results: how many are computed; others are left out.
std::vector<Tensor> Compute(const Built &built, const std::vector<Tensor> &in, int results, int parts, bool reference) {
  std::vector<const Tensor *> from;
  std::vector<Tensor> out;
  std::vector<Tensor *> to;
  for (size_t i = 0; i < in.size(); i++) from.push_back(built.operands[i] ? &in[i] : nullptr);
  for (int i = 0; i < built.node->n_outputs; i++)
    out.push_back(i < results ? MakeWhole(*built.node->outputs[i]->type, built.n) : Tensor());
  for (Tensor &y : out) {
    std::fill(y.bytes.begin(), y.bytes.end(), uint8_t(0xff));  // NaN: what is not written shows
    to.push_back(y.dtype == DP_NO_TYPE ? nullptr : &y);
  }
  EXPECT_EQ(RunNode(dp_target_cpu, built.node, from, to, parts, reference), "");
  return out;
}

void ExpectClose(const std::vector<Tensor> &expected, const std::vector<Tensor> &found) {
  for (size_t r = 0; r < expected.size(); r++)
    for (int64_t i = 0; expected[r].dtype != DP_NO_TYPE && i < expected[r].Count(); i++) {
      const double e = expected[r].Get(i), f = found[r].Get(i);
      if (e == f || (std::isnan(e) && std::isnan(f))) continue;
      ASSERT_NEAR(f, e, 2e-6 * (1 + std::fabs(e))) << "result " << r << ", element " << i;
    }
}

// The kernel that would be selected for the node on this machine.
const dp_kernel *Selected(const Built &built, const std::vector<Tensor> &in, int n_results) {
  std::vector<dp_kernel_operand> operands(DP_MAX_OPERANDS), results(DP_MAX_OPERANDS);
  dp_kernel_spec spec{};
  spec.op = built.node->op;
  spec.node = built.node;
  spec.n_inputs = built.node->n_inputs;
  spec.n_outputs = built.node->n_outputs;
  spec.inputs = operands.data();
  spec.outputs = results.data();
  spec.threads = 1;
  for (size_t i = 0; i < in.size(); i++)
    if (built.operands[i]) operands[i] = {in[i].dtype, true, in[i].local, DP_LAYOUT_PLAIN};
  for (int i = 0; i < n_results; i++) {
    const Tensor y = MakeWhole(*built.node->outputs[i]->type, built.n);
    results[static_cast<size_t>(i)] = {y.dtype, true, y.local, DP_LAYOUT_PLAIN};
  }
  return dp_kernel_select(&dp_target_cpu, &spec, false);
}

// Each kernel computes samples of its operator, so that a new one cannot stay untested: all results, and the first
// alone where others may be left out.
TEST(Vector, KernelsEqualTheReference) {
  if (!Isa()) GTEST_SKIP() << "this machine has neither AVX2 nor AVX-512";
  std::set<std::string> computed;
  for (const Case &c : AllCases(true)) {
    const Built built(c);
    if (!built.error.empty() || IsReplaced(c.op)) continue;
    std::vector<Tensor> in;
    for (size_t i = 0; i < built.operands.size(); i++)
      in.push_back(built.operands[i] ? DrawOperand(c, int(i), *built.operands[i]->type, built.n) : Tensor());
    std::set<int> counts = {built.node->n_outputs};
    if (built.node->n_outputs > 1 && c.op->outputs[1].optional) counts.insert(1);
    for (int results : counts) {
      const dp_kernel *kernel = Selected(built, in, results);
      if (!kernel || !IsFast(kernel)) continue;
      SCOPED_TRACE(c.Name());
      computed.insert(kernel->name);
      const std::vector<Tensor> expected = Compute(built, in, results, 1, true);
      for (int parts : {1, 3}) {
        ExpectClose(expected, Compute(built, in, results, parts, false));
        if (HasFatalFailure()) return;
      }
    }
  }
  for (const dp_kernel *const *k = dp_cpu_kernels; *k; k++)
    EXPECT_TRUE(!IsFast(*k) || computed.count((*k)->name)) << (*k)->name << " has no sample";
}

// Shapes that take more than one block of a kernel, and what is not a number.
struct Problem {
  const char *op, *domain, *inputs, *attrs;
  int64_t n;
  double low, high;
  std::function<void(std::vector<Tensor> *)> edit;
};

// Makes some scores infinite or NaN, and whole samples -infinity.
void Spoil(std::vector<Tensor> *in) {
  Tensor &scores = (*in)[0];
  const int64_t count = scores.Count(), sample = count / 7;
  for (int64_t i = 0; i < sample; i++) scores.Set(sample + i, -INFINITY);
  for (int64_t i = 0; i < 2 * sample; i += 5) scores.Set(2 * sample + i, -INFINITY);
  scores.Set(4 * sample + 1, INFINITY);
  scores.Set(5 * sample, NAN);
}

void Grow(std::vector<Tensor> *in) {
  for (int64_t i = 0; i < (*in)[0].Count(); i++) (*in)[0].Set(i, (*in)[0].Get(i) * 50);
}

// Every other element, in turn NaN, infinite and -infinite; and many ties.
void Ties(std::vector<Tensor> *in) {
  static const double specials[] = {NAN, INFINITY, -INFINITY, 1, 1, 1, 0, -0.0};
  for (int64_t i = 0; i < (*in)[0].Count(); i += 2) (*in)[0].Set(i, specials[i * 7 / 2 % 8]);
}

const Problem kProblems[] = {
    {"LayerNormalization", "", "float32[N,300], float32[300], float32[300]", "", 7, -1, 1, Grow},
    {"LayerNormalization", "", "float32[N,4,17], float32[4,17]", "axis=1", 7, -1, 1, nullptr},
    {"RMSNormalization", "", "float32[N,2,33], float32[33]", "", 5, -1, 1, Grow},
    {"LayerNormalizationGrad", "dp", "float32[N,300], float32[300], float32[N,300]", "", 97, -1, 1, Grow},
    {"LayerNormalizationGrad", "dp", "float32[N,4,17], float32[4,17], float32[N,4,17]", "axis=1", 2100, -1, 1, nullptr},
    {"LayerNormalizationGrad", "dp", "float32[N,40], float32[40], float32[N,40]", "", 70, -1, 1, Ties},
    {"LayerNormalizationGrad", "dp", "float32[N,40], float32[40], float32[N,40]", "", 0, -1, 1, nullptr},
    {"RMSNormalizationGrad", "dp", "float32[N,2,33], float32[33], float32[N,2,33]", "", 65, -1, 1, Grow},
    {"RMSNormalizationGrad", "dp", "float32[N,40], float32[40], float32[N,40]", "", 7, -1, 1, Ties},
    {"Transpose", "", "float32[N,37,131]", "perm=[2,1,0]", 9, -1, 1, Ties},
    {"Transpose", "", "float32[N,133]", "", 70, -1, 1, nullptr},
    {"Transpose", "", "float32[N,1,8,8]", "perm=[3,1,2,0]", 8, -1, 1, nullptr},
    {"Transpose", "", "int32[N,5,3,7,32]", "perm=[2,0,3,1,4]", 3, -9, 9, nullptr},
    {"Transpose", "", "float32[N,40,1]", "perm=[2,0,1]", 3, -1, 1, nullptr},
    {"Transpose", "", "float32[N,40,16]", "perm=[0,2,1]", 3, -1, 1, nullptr},
    {"ReduceSum", "", "float32[N,130,5,7]", "axes=[0,2,3], keepdims=0", 5, -1, 1, nullptr},
    {"ReduceSum", "", "float32[N,3,300]", "axes=[0,1]", 5, -1, 1, nullptr},
    {"ReduceSum", "", "float32[N,3,70]", "axes=[2]", 5, -1, 1, nullptr},
    {"ReduceSum", "", "float32[N,1030]", "keepdims=0", 3, 0, 1, nullptr},
    {"ReduceSum", "", "float32[N,4]", "axes=[0]", 0, -1, 1, nullptr},
    {"ReduceSum", "", "float32[N,40]", "axes=[0]", 70, -1, 1, Ties},
    {"ReduceMean", "", "float32[N,130,5,7]", "axes=[0,2,3], keepdims=0", 5, -1, 1, nullptr},
    {"ReduceMean", "", "float32[N,3,70]", "axes=[2]", 5, -1, 1, Ties},
    {"ReduceMean", "", "float32[N,1030]", "keepdims=0", 3, 0, 1, nullptr},
    {"ReduceMean", "", "float32[N,4]", "axes=[0]", 0, -1, 1, nullptr},
    {"BatchNormalization", "", "float32[N,5,9,9], float32[5], float32[5], float32[5], float32[5]",
     "training_mode=1, unbiased=1", 7, 0.1, 1, nullptr},
    {"BatchNormalization", "", "float32[N,5,1030], float32[5], float32[5], float32[5], float32[5]", "training_mode=1",
     2, 0.1, 1, Grow},
    {"BatchNormalization", "", "float32[N,5], float32[5], float32[5], float32[5], float32[5]",
     "training_mode=1, unbiased=1", 1, 0.1, 1, nullptr},
    {"BatchNormalization", "", "float32[N,5,3], float32[5], float32[5], float32[5], float32[5]", "training_mode=1", 0,
     0.1, 1, nullptr},
    {"BatchNormalization", "", "float32[N,5,33], float32[5], float32[5], float32[5], float32[5]", "", 4, 0.1, 1, Ties},
    {"BatchNormalizationGrad", "dp", "float32[N,5,9,9], float32[5], float32[5], float32[5], float32[N,5,9,9]", "", 7,
     0.1, 1, nullptr},
    {"BatchNormalizationGrad", "dp", "float32[N,5,1030], float32[5], float32[5], float32[5], float32[N,5,1030]", "", 2,
     0.1, 1, nullptr},
    {"BatchNormalizationGrad", "dp", "float32[N,5], float32[5], float32[5], float32[5], float32[N,5]", "", 0, 0.1, 1,
     nullptr},
    {"Softmax", "", "float32[N,1030]", "", 5, -1, 1, Grow},
    {"Softmax", "", "float32[N,30,67]", "axis=1", 7, -1, 1, Spoil},
    {"Softmax", "", "float32[N,30]", "", 7, -1, 1, Spoil},
    {"MaxPool", "", "float32[N,3,28,35]", "kernel_shape=[2,2], strides=[2,2]", 3, -1, 1, Ties},
    {"MaxPool", "", "float32[N,3,9,40]", "kernel_shape=[3,3], strides=[2,1], pads=[1,1,1,1]", 3, -1, 1, Ties},
    {"MaxPool", "", "float32[N,3,41]", "kernel_shape=[3], strides=[3], ceil_mode=1", 3, -1, 1, nullptr},
    {"MaxPoolGrad", "dp", "float32[N,3,28,35], float32[N,3,14,17]", "kernel_shape=[2,2], strides=[2,2]", 3, -1, 1,
     Ties},
    {"MaxPoolGrad", "dp", "float32[N,3,9,40], float32[N,3,5,40]", "kernel_shape=[3,3], strides=[2,1], pads=[1,1,1,1]",
     3, -1, 1, Ties},
    {"MaxPool", "", "float32[N,3,67,17]", "kernel_shape=[2,2], strides=[2,2]", 3, -1, 1, Ties},
    {"MaxPool", "", "float32[N,3,2,2]", "kernel_shape=[2,2], strides=[2,2]", 3, -1, 1, nullptr},
    {"MaxPoolGrad", "dp", "float32[N,3,67,17], float32[N,3,33,8]", "kernel_shape=[2,2], strides=[2,2]", 3, -1, 1, Ties},
    {"MaxPoolGrad", "dp", "float32[N,3,2,2], float32[N,3,1,1]", "kernel_shape=[2,2], strides=[2,2]", 3, -1, 1, nullptr},
    {"MaxPoolGrad", "dp", "float32[N,3,41], float32[N,3,14]", "kernel_shape=[3], strides=[3], ceil_mode=1", 3, -1, 1,
     nullptr},
    {"SoftmaxCrossEntropyLoss", "", "float32[N,4099], int64[N]", "", 5, 0, 3, nullptr},
    {"SoftmaxCrossEntropyLoss", "", "float32[N,257], int64[N]", "reduction=\"none\"", 5, 0, 256, Grow},
    {"SoftmaxCrossEntropyLoss", "", "float32[N,33,131], int64[N,131]", "reduction=\"none\"", 3, 0, 32, nullptr},
    {"SoftmaxCrossEntropyLoss", "", "float32[N,9,64], int32[N,64], float32[9]", "ignore_index=2", 3, 0, 8, nullptr},
    {"SoftmaxCrossEntropyLoss", "", "float32[N,30], int64[N]", "reduction=\"none\"", 7, 0, 29, Spoil},
    {"SoftmaxCrossEntropyLoss", "", "float32[N,3], int64[N]", "", 0, 0, 2, nullptr},
    {"SoftmaxCrossEntropyLossGrad", "dp", "float32[N,4099], int64[N], float32[]", "", 5, 0, 3, nullptr},
    {"SoftmaxCrossEntropyLossGrad", "dp", "float32[N,257], int64[N], float32[N]", "reduction=\"none\"", 5, 0, 256,
     Grow},
    {"SoftmaxCrossEntropyLossGrad", "dp", "float32[N,33,131], int64[N,131], float32[]", "", 3, 0, 32, nullptr},
    {"SoftmaxCrossEntropyLossGrad", "dp", "float32[N,9,64], int32[N,64], float32[], float32[9]", "ignore_index=2", 3, 0,
     8, nullptr},
    {"SoftmaxCrossEntropyLossGrad", "dp", "float32[N,30], int64[N], float32[N]", "reduction=\"none\"", 7, 0, 29, Spoil},
    {"SoftmaxCrossEntropyLossGrad", "dp", "float32[N,30,2], int64[N,2], float32[]", "ignore_index=1", 7, 0, 1, Spoil},
    {"SoftmaxCrossEntropyLossGrad", "dp", "float32[N,3], int64[N], float32[]", "", 0, 0, 2, nullptr},
    {"Add", "", "float32[N,37], float32[N,37]", "", 70, -1, 1, Ties},
    {"Sub", "", "float32[N,5,37], float32[37]", "", 9, -1, 1, Ties},
    {"Mul", "", "float32[N,37], float32[]", "", 70, -1, 1, Ties},
    {"Mul", "", "float32[37], float32[N,1]", "", 70, -1, 1, nullptr},
    {"Div", "", "float32[N,1], float32[N,37]", "", 70, 0.5, 2, Ties},
    {"Div", "", "float32[N,37], float32[N,37]", "", 0, 0.5, 2, nullptr},
    {"ReluGrad", "dp", "float32[N,133], float32[N,133]", "", 9, -1, 1, Ties},
    {"Adam", "dp", "float32[1123], float32[1123], float32[1123], float32[1123], float32[], int64[]", "weight_decay=0.1",
     0, 0.1, 2, nullptr},
};

TEST(Vector, LargerShapesEqualTheReference) {
  if (!Isa()) GTEST_SKIP() << "this machine has neither AVX2 nor AVX-512";
  for (const Problem &p : kProblems) {
    SCOPED_TRACE(std::string(p.op) + " " + p.inputs + " {" + p.attrs + "}");
    const dp_sample sample = {p.inputs, p.attrs, p.n, p.low, p.high, false};
    const Case c = {dp_op_find(p.domain, p.op), &sample, 0, false};
    const Built built(c);
    ASSERT_EQ(built.error, "");
    std::vector<Tensor> in;
    for (size_t i = 0; i < built.operands.size(); i++)
      in.push_back(built.operands[i] ? DrawOperand(c, int(i), *built.operands[i]->type, p.n) : Tensor());
    if (p.edit) p.edit(&in);
    const int results = p.op == std::string("MaxPool") ? 1 : built.node->n_outputs;
    ASSERT_TRUE(IsFast(Selected(built, in, results)));
    const std::vector<Tensor> expected = Compute(built, in, results, 1, true);
    for (int parts : {1, 3}) {
      ExpectClose(expected, Compute(built, in, results, parts, false));
      if (HasFatalFailure()) return;
    }
  }
}

// ---- regions --------------------------------------------------------------------------------------------------------

// Runs the members one after another, each on whole operands.
std::vector<std::vector<uint8_t>> ByMembers(Drawn *drawn, const std::vector<std::vector<uint8_t>> &operands) {
  std::vector<std::vector<uint8_t>> values = operands;
  std::vector<void *> at;
  for (size_t v = values.size(); v < drawn->values.size(); v++) values.emplace_back(drawn->Bytes(v), 0xff);
  for (auto &value : values) at.push_back(value.data());
  for (int m = 0; m < drawn->region.n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(&drawn->region, m, drawn->values.data(), &member);
    const dp_kernel *kernel = dp_kernel_select(&dp_target_cpu, &member.spec, false);
    const void *from[DP_MAX_OPERANDS] = {};
    void *to[DP_MAX_OPERANDS] = {}, *state = nullptr;
    dp_member_operands(&drawn->region.members[m], at.data(), from, to);
    EXPECT_EQ(kernel->prepare ? kernel->prepare(&member.spec, &state) : DP_OK, DP_OK);
    EXPECT_EQ(kernel->run(&member.spec, state, from, to, nullptr, 0, 1), DP_OK);
  }
  return {values.begin() + drawn->n_inputs, values.begin() + drawn->n_inputs + drawn->n_outputs};
}

TEST(Vector, RegionsAreTheirMembersBitForBit) {
  if (!Isa()) GTEST_SKIP() << "this machine has neither AVX2 nor AVX-512";
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, "cpu.fast_rows.dp.Region");
  ASSERT_NE(kernel, nullptr);
  int computed = 0;
  for (uint32_t seed = 0; seed < 400; seed++) {
    SCOPED_TRACE(seed);
    Drawn drawn(seed);
    if (!kernel->match(&drawn.spec)) continue;
    EXPECT_EQ(drawn.dtype, DP_FLOAT32);
    const auto operands = drawn.Operands();
    const auto expected = ByMembers(&drawn, operands);
    for (int threads : {1, 2, 5}) {
      drawn.spec.threads = threads;
      std::vector<uint64_t> scratch(kernel->scratch_bytes(&drawn.spec) / 8 + 1);
      std::vector<std::vector<uint8_t>> found;
      std::vector<const void *> in;
      std::vector<void *> out;
      for (auto &operand : operands) in.push_back(operand.data());
      for (const auto &result : expected) found.emplace_back(result.size(), 0xff);
      for (auto &result : found) out.push_back(result.data());
      void *state = nullptr;
      ASSERT_EQ(kernel->prepare(&drawn.spec, &state), DP_OK);
      for (int part = threads; part-- > 0;)
        EXPECT_EQ(kernel->run(&drawn.spec, state, in.data(), out.data(), scratch.data(), part, threads), DP_OK);
      kernel->release(state);
      EXPECT_EQ(found, expected) << threads;
    }
    computed++;
  }
  EXPECT_GT(computed, 50);
}

}  // namespace
}  // namespace dp_test
