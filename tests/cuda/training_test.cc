// Training on the backend cuda, with stand-ins for the driver and CUDA's libraries: in float64, losses and weights
// equal the CPU backend's, by every strategy on several devices, whatever the order in which late streams run.
#include <cmath>
#include <cstdlib>

#include "tests/cuda/steer.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// The last batches are short; one has fewer samples than most meshes have devices.
const std::vector<int64_t> kBatches = {8, 8, 8, 5, 2};

const char *const kModels[] = {kMlp, kCnn, kSquares};
const char *const kStrategies[] = {
    "",
    "strategy=data devices=2",
    "strategy=data devices=8",
    "strategy=zero zero-stage=1 devices=2",
    "strategy=zero zero-stage=2 devices=4",
    "strategy=zero zero-stage=3 devices=4",
    "strategy=tensor devices=2",
    "strategy=tensor devices=4",
    "strategy=pipeline devices=2 microbatches=4",
    "strategy=pipeline devices=4 microbatches=4 schedule=gpipe",
    "mesh=data:2,tensor:2 strategy=tensor",
    "mesh=data:2,pipe:2 strategy=pipeline microbatches=4",
    "strategy=tensor devices=8",
    "strategy=pipeline devices=8 microbatches=4",
    "mesh=data:2,tensor:2 strategy=zero zero-stage=2",
    "mesh=data:2,pipe:2 strategy=zero zero-stage=1 microbatches=2",
    "mesh=data:2,pipe:2,tensor:2 strategy=zero zero-stage=3 microbatches=2",
    "mesh=pipe:2,data:2,tensor:2 strategy=pipeline microbatches=2",
};

struct Outcome {
  std::vector<double> losses;
  std::map<std::string, std::vector<double>> variables;
};

Outcome Train(const std::string &model, const std::string &options) {
  Training training(Compile(model, "batch=8 precision=fp64 " + options));
  Outcome outcome;
  outcome.losses = training.TrainAll(kBatches);
  outcome.losses.push_back(training.Evaluate(0, 7));
  outcome.losses.push_back(training.Correct());
  for (const auto &entry : training.State()) outcome.variables[entry.first] = training.Numbers(entry.first);
  EXPECT_EQ(training.Replicas(), "");
  return outcome;
}

void ExpectEqual(const Outcome &found, const Outcome &expected) {
  ExpectClose(found.losses, expected.losses, 1e-12);
  for (const auto &[name, numbers] : expected.variables) {
    double scale = 1e-3;
    for (double number : numbers) scale = std::max(scale, std::fabs(number));
    const std::vector<double> &others = found.variables.at(name);
    ASSERT_EQ(others.size(), numbers.size()) << name;
    for (size_t i = 0; i < numbers.size(); i++) ASSERT_NEAR(others[i], numbers[i], 1e-11 * scale) << name << " " << i;
  }
}

// Numbers of a model and a strategy.
class CudaTraining : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(CudaTraining, EqualsTheCpus) {
  const char *const model = kModels[std::get<0>(GetParam())], *const strategy = kStrategies[std::get<1>(GetParam())];
  SCOPED_TRACE(strategy);
  const Outcome cpu = Train(model, std::string("target=cpu ") + strategy);
  if (!IsStandin()) {
    ExpectEqual(Train(model, std::string("target=cuda ") + strategy), cpu);
    return;
  }
  // In the usual run one seed of three, which differs from one to the next; with DP_FULL all.
  const uint64_t sampled = uint64_t(std::get<0>(GetParam()) + std::get<1>(GetParam())) % 3;
  for (uint64_t seed : {0, 1, 2}) {
    if (seed != sampled && !getenv("DP_FULL")) continue;
    SCOPED_TRACE(seed);
    DP_STEER(dp_standin_seed)(seed);
    ExpectEqual(Train(model, std::string("target=cuda ") + strategy), cpu);
  }
  // Without regions too: what they change is below 1e-12.
  ExpectEqual(Train(model, std::string("target=cuda no-fuse=yes ") + strategy), cpu);
  const dp_standin_counts left = DP_STEER(dp_standin_count)();
  EXPECT_EQ(left.pending, 0);
  EXPECT_EQ(left.device_allocations, 0);
  EXPECT_EQ(left.host_allocations, 0);
  EXPECT_EQ(left.streams, 0);
  EXPECT_EQ(left.events, 0);
}

INSTANTIATE_TEST_SUITE_P(All, CudaTraining,
                         testing::Combine(testing::Range(0, int(std::size(kModels))),
                                          testing::Range(0, int(std::size(kStrategies)))));

}  // namespace
}  // namespace dp_test
