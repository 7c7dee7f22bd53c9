// Training in 16 bits (--precision=bf16, fp16) on the backend cuda: losses and weights are the CPU backend's, by every
// strategy, but for sums that float32 takes in another order, and so does each order in which late streams run.
#include <cmath>

#include "tests/cuda/steer.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// The last batches are short.
const std::vector<int64_t> kBatches = {8, 8, 8, 5, 8, 8};

const char *const kModels[] = {kMlp, kCnn};
const char *const kStrategies[] = {
    "",
    "strategy=data devices=2",
    "strategy=data devices=4 comm-precision=bf16",
    "strategy=zero zero-stage=3 devices=4",
    "strategy=tensor devices=2",
    "strategy=pipeline devices=2 microbatches=4",
};

struct Outcome {
  std::vector<double> losses;
  std::map<std::string, std::vector<double>> variables;
};

Outcome Train(const std::string &model, const std::string &options) {
  Training training(Compile(model, "batch=8 " + options));
  Outcome outcome;
  outcome.losses = training.TrainAll(kBatches);
  outcome.losses.push_back(training.Evaluate(0, 7));
  for (const auto &entry : training.State()) outcome.variables[entry.first] = training.Numbers(entry.first);
  EXPECT_EQ(training.Replicas(), "");
  return outcome;
}

// The root of the mean square difference of the variables that both have (not the scale of the loss), relative to that
// of `b` itself.
double Distance(const Outcome &a, const Outcome &b) {
  double difference = 0, whole = 0;
  for (const auto &[name, numbers] : b.variables) {
    const auto other = a.variables.find(name);
    if (other == a.variables.end() || name.find("loss_scale") != std::string::npos) continue;
    for (size_t i = 0; i < numbers.size(); i++) {
      difference += std::pow(other->second[i] - numbers[i], 2);
      whole += numbers[i] * numbers[i];
    }
  }
  return std::sqrt(difference / whole);
}

double LossDistance(const Outcome &a, const Outcome &b) {
  double most = 0;
  for (size_t i = 0; i < b.losses.size(); i++) most = std::max(most, std::fabs(a.losses[i] / b.losses[i] - 1));
  return most;
}

class CudaPrecision : public testing::TestWithParam<std::tuple<int, int, const char *>> {};

// Rounding to 16 bits moves the losses; where the backends round differently they would be as far from each other.
TEST_P(CudaPrecision, RoundsAsTheCpu) {
  const char *const model = kModels[std::get<0>(GetParam())];
  const std::string strategy = kStrategies[std::get<1>(GetParam())], precision = std::get<2>(GetParam());
  const std::string options = " " + strategy + " precision=" + precision;
  SCOPED_TRACE(options);
  const bool has_communication = strategy.find("comm-") != std::string::npos;
  const Outcome cpu = Train(model, "target=cpu" + options);
  const Outcome wide =
      Train(model, "target=cpu " + (has_communication ? std::string("strategy=data devices=4") : strategy));
  if (IsStandin()) DP_STEER(dp_standin_seed)(1);
  const Outcome cuda = Train(model, "target=cuda" + options);
  std::printf("%s: losses %.1e apart, %.1e from float32; weights %.1e, %.1e\n", options.c_str(),
              LossDistance(cuda, cpu), LossDistance(wide, cpu), Distance(cuda, cpu), Distance(wide, cpu));
  EXPECT_EQ(cuda.variables.size(), cpu.variables.size());
  EXPECT_GT(LossDistance(wide, cpu), 0);
  EXPECT_LT(LossDistance(cuda, cpu), 0.1 * LossDistance(wide, cpu));
  EXPECT_LT(Distance(cuda, cpu), 0.1 * Distance(wide, cpu));
  if (!IsStandin()) return;
  DP_STEER(dp_standin_seed)(2);
  const Outcome again = Train(model, "target=cuda" + options);
  EXPECT_EQ(again.losses, cuda.losses);
  EXPECT_EQ(again.variables, cuda.variables);
}

INSTANTIATE_TEST_SUITE_P(All, CudaPrecision,
                         testing::Combine(testing::Range(0, int(std::size(kModels))),
                                          testing::Range(0, int(std::size(kStrategies))),
                                          testing::Values("bf16", "fp16")));

}  // namespace
}  // namespace dp_test
