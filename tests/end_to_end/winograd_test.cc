// Networks train with --fast-math=winograd as without it, to rounding, under every strategy that leaves planes whole
// and for short batches. Plans show which convolutions are computed so, and the same plan gives the same bits.
#include <cmath>
#include <cstring>

#include "tests/end_to_end/bits.h"

namespace dp_test {
namespace {

const char kNetwork[] = R"text(model many {
  batch 9
  loss "softmax_cross_entropy(scores,label)"
  optimizer "sgd(lr=0.05, momentum=0.9)"
  parameter w1: float32[32,3,3,3] = kaiming_uniform()
  parameter w2: float32[48,32,3,3] = kaiming_uniform()
  parameter b2: float32[48] = normal(0, 0.1)
  parameter w3: float32[33,48,3,3] = kaiming_uniform()
  parameter h: float32[33,10] = normal(0, 0.5)
  graph main {
    input x: float32[N,3,8,8]
    input label: int64[N]
    c1 = Conv(x, w1) {pads=[1,1,1,1]} [stage=0]
    r1 = Relu(c1)
    c2 = Conv(r1, w2, b2) {pads=[1,1,1,1]} [stage=1]
    r2 = Tanh(c2)
    c3 = Conv(r2, w3) {pads=[0,0,0,0]}
    p = GlobalAveragePool(c3)
    f = Flatten(p)
    scores = MatMul(f, h)
    output scores
  }
})text";

double Sample(const std::string &input, int64_t sample, int64_t element) {
  uint64_t drawn = uint64_t(sample * 1000 + element + 7) * 0x9e3779b97f4a7c15u;
  drawn = (drawn ^ drawn >> 29) * 0xbf58476d1ce4e5b9u >> 33;
  return input == "label" ? double(drawn % 10) : double(drawn % 2001) / 1000 - 1;
}

const std::vector<int64_t> kBatches = {9, 9, 0, 4, 9};

// The instructions of training that Winograd's kernels compute, by operator.
std::map<std::string, int> Kernels(const Plan &plan) {
  std::map<std::string, int> counts;
  for (size_t role = 0; role < plan->n_roles; role++)
    for (const Location &at : Instructions(plan, "train", role))
      if (strstr(At(plan, at)->kernel, "winograd")) counts[At(plan, at)->op]++;
  return counts;
}

Bits Train(const Plan &plan, int workers = 4) { return TrainedBits(plan, kBatches, Sample, workers); }

const Bits &Expected() {
  static const Bits bits = Train(Compile(kNetwork, "threads=1"), 1);
  return bits;
}

class WinogradUnder : public testing::TestWithParam<const char *> {};

INSTANTIATE_TEST_SUITE_P(Strategies, WinogradUnder,
                         testing::Values("threads=1", "threads=3", "strategy=data devices=2 threads=2",
                                         "strategy=data devices=4", "strategy=zero devices=3",
                                         "strategy=tensor devices=2", "strategy=pipeline devices=2 microbatches=3",
                                         "strategy=data mesh=data:2,tensor:2"));

TEST_P(WinogradUnder, TrainsAsWithoutIt) {
  const Plan plan = Compile(kNetwork, std::string("fast-math=winograd ") + GetParam());
  const Bits found = Train(plan), again = Train(plan, 1);
  ASSERT_EQ(found.losses.size(), Expected().losses.size());
  for (size_t i = 0; i < found.losses.size(); i++) EXPECT_NEAR(found.losses[i], Expected().losses[i], 1e-4) << i;
  EXPECT_EQ(found.losses, again.losses);
  EXPECT_TRUE(found.state == again.state);
  EXPECT_GT(Kernels(plan)["Conv"], 0);
}

TEST(Winograd, ConvolutionsAndGradientsThatCanAre) {
  auto kernels = Kernels(Compile(kNetwork, "fast-math=winograd"));
  EXPECT_EQ(kernels["Conv"], 2) << "the first has 3 channels";
  EXPECT_EQ(kernels["ConvGradInput"], 2);
  EXPECT_EQ(kernels["ConvGradWeight"], 2);
  EXPECT_TRUE(Kernels(Compile(kNetwork, "")).empty());
  EXPECT_NE(Train(Compile(kNetwork, "fast-math=winograd")).losses, Expected().losses);
}

}  // namespace
}  // namespace dp_test
