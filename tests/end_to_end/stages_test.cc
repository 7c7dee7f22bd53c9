// Stages that users write: `device`, as with .to('cuda:1'), and `stage`. They go back and forth, have gaps, and stand
// beside other axes and strategies that assign the other nodes. Losses and weights equal those of one device.
#include <cmath>

#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// PyTorch's tutorial on model parallelism: net1 on one device, net2 on the next. %1, %2 and %3 stand for annotations.
std::string Toy(const std::string &first, const std::string &second, const std::string &third) {
  return R"dpt(model toy {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "adam(lr=1e-2)"
  input x: float32[N,64]
  parameter net1.weight: float32[20,64] = kaiming_uniform()
  parameter net1.bias: float32[20] = kaiming_uniform(64)
  parameter mid.weight: float32[20,20] = kaiming_uniform()
  parameter net2.weight: float32[10,20] = kaiming_uniform()
  parameter net2.bias: float32[10] = kaiming_uniform(20)
  constant scale: float32[] = 255
  s = Div(x, scale)
  h = Gemm(s, net1.weight, net1.bias) {transB=1})dpt" +
         first + R"dpt(
  r = Tanh(h)
  m = Gemm(r, mid.weight) {transB=1})dpt" +
         second + R"dpt(
  t = Tanh(m)
  skip = Add(t, r)
  d = Dropout(skip) {ratio=0.2, training_mode=1}
  logits = Gemm(d, net2.weight, net2.bias) {transB=1})dpt" +
         third + R"dpt(
  output logits
})dpt";
}

const std::vector<int64_t> kBatches = {13, 13, 13, 13, 13, 13, 13, 13, 7, 2};

// Compares with one device, and checks the number of roles in the plan.
size_t ExpectSame(const std::string &text, const std::string &options) {
  SCOPED_TRACE(options);
  Plan plan = Compile(text, "batch=13 precision=fp64 " + options);
  ExpectLikeOneDevice(plan, Compile(Toy("", "", ""), "batch=13 precision=fp64"), kBatches);
  return plan->n_roles;
}

// The stages that have a parameter.
std::vector<int> StagesOf(const Plan &plan, const std::string &parameter) {
  for (size_t i = 0; i < plan->n_variables; i++)
    if (plan->variables[i]->name == parameter)
      return {plan->variables[i]->stages, plan->variables[i]->stages + plan->variables[i]->n_stages};
  return {};
}

TEST(Stages, AsWithToCuda1) {
  const std::string toy = Toy(" [device=0]", "", " [device=1]");
  EXPECT_EQ(ExpectSame(toy, "strategy=manual microbatches=1"), 2u);
  EXPECT_EQ(ExpectSame(toy, "strategy=manual microbatches=4"), 2u);
  EXPECT_EQ(ExpectSame(toy, "strategy=manual microbatches=4 schedule=gpipe"), 2u);
  Plan plan = Compile(toy, "batch=13 strategy=manual");
  EXPECT_EQ(StagesOf(plan, "net1.weight"), std::vector<int>{0});
  EXPECT_EQ(StagesOf(plan, "mid.weight"), std::vector<int>{0});
  EXPECT_EQ(StagesOf(plan, "net2.weight"), std::vector<int>{1});
}

TEST(Stages, ForthAndBack) {
  const std::string toy = Toy(" [device=0]", " [device=1]", " [device=0]");
  EXPECT_EQ(ExpectSame(toy, "strategy=manual"), 2u);
  EXPECT_EQ(ExpectSame(toy, "strategy=manual microbatches=1"), 2u);
  EXPECT_EQ(ExpectSame(Toy(" [device=1]", " [device=0]", " [device=2]"), "strategy=manual"), 3u);
}

// A stage without nodes has nothing to do.
TEST(Stages, WithGaps) {
  const std::string toy = Toy(" [device=0]", "", " [device=2]");
  EXPECT_EQ(ExpectSame(toy, "strategy=manual"), 3u);
  EXPECT_EQ(ExpectSame(toy, "strategy=manual mesh=pipe:4 microbatches=3"), 4u);
}

TEST(Stages, BesideOtherAxes) {
  const std::string toy = Toy(" [stage=0]", " [stage=1]", "");
  EXPECT_EQ(ExpectSame(toy, "strategy=manual mesh=data:2,pipe:2"), 2u);
  EXPECT_EQ(ExpectSame(toy, "strategy=manual mesh=data:2,pipe:2 split=x:0 microbatches=2"), 2u);
  EXPECT_EQ(ExpectSame(toy, "strategy=zero zero-stage=3 mesh=data:2,pipe:2 microbatches=3"), 2u);
}

// Other strategies keep the stages that are written and assign the others.
TEST(Stages, HoldUnderEveryStrategy) {
  const std::string toy = Toy("", "", " [stage=1]");
  EXPECT_EQ(ExpectSame(toy, "strategy=pipeline devices=2"), 2u);
  EXPECT_EQ(ExpectSame(toy, "strategy=pipeline devices=3"), 3u);
  EXPECT_EQ(ExpectSame(toy, "strategy=pipeline mesh=data:2,pipe:2,tensor:2"), 2u);
  EXPECT_EQ(StagesOf(Compile(toy, "batch=13 strategy=pipeline devices=3"), "net2.weight"), std::vector<int>{1});
  EXPECT_EQ(ExpectSame(toy, "strategy=data devices=2"), 1u) << "without an axis of stages they do not apply";
}

}  // namespace
}  // namespace dp_test
