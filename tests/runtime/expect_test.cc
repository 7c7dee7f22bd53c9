// What a plan needs is called for before it is checked: the kernels that it names, and those that do by themselves what
// members of regions do.
#include "runtime/expect.h"

#include <algorithm>

#include "backends/cuda/target.h"
#include "tests/runtime/runtime_helper.h"

namespace dp_test {
namespace {

std::vector<std::string> expected;

void Expect(const dp_kernel *kernel) { expected.emplace_back(kernel->name); }

int Count(const char *kernel) { return int(std::count(expected.begin(), expected.end(), kernel)); }

bool CallsFor(const char *library) {
  return std::any_of(expected.begin(), expected.end(),
                     [library](const std::string &name) { return name.find(library) == 0; });
}

class Expecting : public testing::Test {
 protected:
  Expecting() { expected.clear(); }
  static void Run(const std::string &body, const char *options) {
    const CompiledPlan plan("model m {\n" + body + "}", std::string("target=cuda batch=8 ") + options);
    dp_backend backend = {};
    backend.target = &dp_target_cuda;
    dp_expect(plan.plan, &backend);  // nothing is slow to begin with
    EXPECT_TRUE(expected.empty());
    backend.expect = Expect;
    dp_expect(plan.plan, &backend);
  }
};

constexpr char kAttention[] = R"dpt(
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1)"
  input x: float32[N,3,24]
  parameter w: float32[24] = ones
  qkv = Mul(x, w)
  q, k, v = Split(qkv) {axis=2, split=[8,8,8]}
  q4 = Reshape(q) {shape=[N,3,2,4]}
  k4 = Reshape(k) {shape=[N,3,2,4]}
  v4 = Reshape(v) {shape=[N,3,2,4]}
  y = dp.ScaledDotProductAttention(q4, k4, v4)
  logits = Flatten(y)
  output logits
)dpt";

TEST_F(Expecting, AttentionInRegionsCallsForItsLibrary) {
  Run(kAttention, "");
  EXPECT_GE(Count("cuda.device.dp.Region"), 1);
  EXPECT_EQ(Count("cuda.device.dp.ScaledDotProductAttention"), 0);  // it is in regions alone
  EXPECT_EQ(Count("cuda.cudnn.dp.ScaledDotProductAttention"), 1);
  EXPECT_EQ(Count("cuda.cudnn.dp.ScaledDotProductAttentionGrad"), 1);
  EXPECT_EQ(Count("cuda.cudnn.Conv"), 0);
}

TEST_F(Expecting, OfWhatARunTakesAlone) {
  Run(kAttention, "mode=infer");
  EXPECT_EQ(Count("cuda.cudnn.dp.ScaledDotProductAttention"), 1);
  EXPECT_EQ(Count("cuda.cudnn.dp.ScaledDotProductAttentionGrad"), 0);
}

TEST_F(Expecting, OtherRegionsCallForNoLibrary) {
  Run("  input x: float32[N,3]\n  a = Tanh(x)\n  b = Mul(a, x)\n  c = Sigmoid(b)\n  output c\n", "mode=infer");
  EXPECT_FALSE(expected.empty());
  EXPECT_FALSE(CallsFor("cuda.cudnn."));
  EXPECT_FALSE(CallsFor("cuda.blaslt."));
}

TEST_F(Expecting, ProductsInRegionsCallForTheirs) {
  Run("  input x: float32[N,8]\n  parameter w: float32[8,8] = ones\n  a = MatMul(x, w)\n  b = Tanh(a)\n"
      "  c = Mul(b, x)\n  output c\n",
      "mode=infer");
  EXPECT_TRUE(CallsFor("cuda.blaslt."));
  EXPECT_FALSE(CallsFor("cuda.cudnn."));
}

}  // namespace
}  // namespace dp_test
