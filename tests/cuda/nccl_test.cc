// Training on several GPUs with NCCL's stand-in, which does not add in the order of ranks: in float64, losses and
// weights equal the CPU backend's, by every strategy; with --reproducible, bits are those of one GPU.
#include <cmath>

#include "tests/cuda/steer.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// The last batches are short; one has fewer samples than most meshes have devices.
const std::vector<int64_t> kBatches = {8, 8, 5, 2};

const char *const kModels[] = {kMlp, kCnn, kSquares};
const char *const kStrategies[] = {
    "strategy=data devices=2",
    "strategy=data devices=8",
    "strategy=zero zero-stage=1 devices=3",
    "strategy=zero zero-stage=2 devices=4",
    "strategy=zero zero-stage=3 devices=4",
    "strategy=zero zero-stage=3 devices=8",
    "strategy=tensor devices=2",
    "strategy=tensor devices=4",
    "strategy=tensor devices=8",
    "strategy=pipeline devices=2 microbatches=4",
    "strategy=pipeline devices=4 microbatches=4 schedule=gpipe",
    "mesh=data:2,tensor:2 strategy=tensor",
    "mesh=data:2,tensor:4 strategy=tensor",
    "mesh=data:4,pipe:2 strategy=pipeline microbatches=4",
    "mesh=pipe:2,data:2,tensor:2 strategy=pipeline microbatches=2",
};

struct Outcome {
  std::vector<double> losses;
  std::map<std::string, std::vector<double>> variables;
};

Outcome Train(const Plan &plan, const char *gpus = nullptr) {
  RunOptions options;
  options.units = gpus;
  Training training(plan, options);
  Outcome outcome;
  outcome.losses = training.TrainAhead(kBatches);
  outcome.losses.push_back(training.Evaluate(0, 7));
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

void ExpectNothingLeft() {
  const dp_standin_counts left = DP_STEER(dp_standin_count)();
  EXPECT_EQ(left.pending, 0);
  EXPECT_EQ(left.device_allocations, 0);
  EXPECT_EQ(left.streams, 0);
  EXPECT_EQ(left.events, 0);
}

// Numbers of a model and a strategy.
class CudaNccl : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  CudaNccl() { DP_STEER(dp_standin_devices)(8, "all"); }
  ~CudaNccl() override { DP_STEER(dp_standin_devices)(1, "all"); }
};

TEST_P(CudaNccl, EqualsTheCpus) {
  const char *const model = kModels[std::get<0>(GetParam())], *const strategy = kStrategies[std::get<1>(GetParam())];
  SCOPED_TRACE(strategy);
  const std::string options = std::string("batch=8 precision=fp64 ") + strategy;
  const Outcome cpu = Train(Compile(model, "target=cpu " + options));
  const Plan plan = Compile(model, "target=cuda " + options);
  for (const char *peers : {"all", "none"})
    for (uint64_t seed : {0, 1, 2}) {
      SCOPED_TRACE(seed);
      DP_STEER(dp_standin_devices)(8, peers);
      DP_STEER(dp_standin_seed)(seed);
      ExpectEqual(Train(plan), cpu);
      ExpectNothingLeft();
    }
}

INSTANTIATE_TEST_SUITE_P(All, CudaNccl,
                         testing::Combine(testing::Range(0, int(std::size(kModels))),
                                          testing::Range(0, int(std::size(kStrategies)))));

}  // namespace
}  // namespace dp_test
