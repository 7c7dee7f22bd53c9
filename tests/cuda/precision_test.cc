// Training in 16 bits (--precision=bf16, fp16) on the backend cuda: losses and weights are the CPU backend's, by every
// strategy, but for sums that float32 takes in another order, and so does each order in which late streams run.
#include <cstring>

#include "tests/cuda/precision.h"
#include "tests/end_to_end/digit_models.h"

namespace dp_test {
namespace {

// The network of convolutions without the one bias that a convolution adds: a normalisation takes it out again anyway.
std::string WithoutBias() {
  std::string text = kCnn;
  for (const char *part : {"  parameter c1.b: float32[4] = kaiming_uniform(9)\n", ", c1.b"}) {
    const size_t at = text.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    if (at != std::string::npos) text.erase(at, std::strlen(part));
  }
  return text;
}

const std::string kModels[] = {kMlp, WithoutBias(), kCnn};
enum { BIASED = 2 };
const char *const kStrategies[] = {
    "",
    "strategy=data devices=2",
    "strategy=data devices=4 comm-precision=bf16",
    "strategy=zero zero-stage=3 devices=4",
    "strategy=tensor devices=2",
    "strategy=pipeline devices=2 microbatches=4",
};

class CudaPrecision : public testing::TestWithParam<std::tuple<int, int, const char *>> {};

// Rounding to 16 bits moves losses and weights; where the backends round differently they are as far from each other.
// So they are with a convolution's bias, which is added to what cuDNN has rounded.
TEST_P(CudaPrecision, RoundsAsTheCpu) {
  const std::string model = kModels[std::get<0>(GetParam())];
  const std::string strategy = kStrategies[std::get<1>(GetParam())], precision = std::get<2>(GetParam());
  const std::string options = " " + strategy + " precision=" + precision;
  SCOPED_TRACE(options);
  const bool has_communication = strategy.find("comm-") != std::string::npos;
  const Trained cpu = Train(model, "target=cpu" + options);
  const Trained wide =
      Train(model, "target=cpu " + (has_communication ? std::string("strategy=data devices=4") : strategy));
  if (IsStandin()) DP_STEER(dp_standin_seed)(1);
  const Trained cuda = Train(model, "target=cuda" + options);
  std::printf("%s: losses %.1e apart, %.1e from float32; weights %.1e, %.1e\n", options.c_str(),
              LossDistance(cuda, cpu), LossDistance(wide, cpu), Distance(cuda, cpu), Distance(wide, cpu));
  EXPECT_EQ(cuda.variables.size(), cpu.variables.size());
  EXPECT_GT(LossDistance(wide, cpu), 0);
  const bool biased = std::get<0>(GetParam()) == BIASED;
  // A single element that falls on the other side of a half shows in a loss; where a GPU's libraries sum, in weights
  // too.
  EXPECT_LT(LossDistance(cuda, cpu), biased ? 1e-3 : 0.2 * LossDistance(wide, cpu) + 2e-5);
  EXPECT_LT(Distance(cuda, cpu), biased ? 1e-2 : 0.2 * Distance(wide, cpu) + (IsStandin() ? 0 : 2e-5));
  if (!IsStandin()) return;
  DP_STEER(dp_standin_seed)(2);
  const Trained again = Train(model, "target=cuda" + options);
  EXPECT_EQ(again.losses, cuda.losses);
  EXPECT_EQ(again.variables, cuda.variables);
}

INSTANTIATE_TEST_SUITE_P(All, CudaPrecision,
                         testing::Combine(testing::Range(0, int(std::size(kModels))),
                                          testing::Range(0, int(std::size(kStrategies))),
                                          testing::Values("bf16", "fp16")));

}  // namespace
}  // namespace dp_test
