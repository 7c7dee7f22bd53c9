// Plans on several GPUs, on the driver's stand-in: every strategy and hybrid gives the bits of one GPU, however many
// GPUs share the devices, and whether or not they reach each other's memory.
#include <cstdlib>

#include "tests/cuda/steer.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// The last batches are short; one has fewer samples than there are devices.
const std::vector<int64_t> kBatches = {8, 8, 5, 2};

const char *const kModels[] = {kMlp, kCnn, kSquares};
const char *const kStrategies[] = {
    "strategy=data devices=8",
    "strategy=zero zero-stage=1 devices=8",
    "strategy=zero zero-stage=2 devices=8",
    "strategy=zero zero-stage=3 devices=8",
    "strategy=tensor devices=8",
    "mesh=data:2,tensor:4 strategy=tensor",
    "mesh=data:4,pipe:2 strategy=pipeline microbatches=4",
    "mesh=pipe:2,data:2,tensor:2 strategy=pipeline microbatches=2",
};

using State = std::map<std::string, Bytes>;

struct Outcome {
  std::vector<double> losses;
  State state;
};

Outcome Train(const Plan &plan, const char *gpus, const char *map = nullptr) {
  RunOptions options;
  options.units = gpus;
  options.map = map;
  Training training(plan, options);
  Outcome outcome;
  outcome.losses = training.TrainAhead(kBatches);
  outcome.losses.push_back(training.Evaluate(0, 7));
  outcome.state = training.State();
  EXPECT_EQ(training.Replicas(), "");
  return outcome;
}

void ExpectNothingLeft() {
  const dp_standin_counts left = DP_STEER(dp_standin_count)();
  EXPECT_EQ(left.pending, 0);
  EXPECT_EQ(left.device_allocations, 0);
  EXPECT_EQ(left.host_allocations, 0);
  EXPECT_EQ(left.streams, 0);
  EXPECT_EQ(left.events, 0);
}

class CudaSeveral : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  ~CudaSeveral() override { DP_STEER(dp_standin_devices)(1, "all"); }
};

TEST_P(CudaSeveral, GiveTheBitsOfOne) {
  const char *const model = kModels[std::get<0>(GetParam())], *const strategy = kStrategies[std::get<1>(GetParam())];
  SCOPED_TRACE(strategy);
  const Plan plan = Compile(model, std::string("target=cuda batch=8 reproducible=yes ") + strategy);
  DP_STEER(dp_standin_devices)(8, "all");
  DP_STEER(dp_standin_seed)(0);
  const Outcome one = Train(plan, "0");
  const struct {
    const char *gpus, *map, *peers;
    uint64_t seed;
  } cases[] = {
      {"0,1", nullptr, "all", 1},
      {"3,2,1,0", nullptr, "all", 2},
      {nullptr, nullptr, "all", 3},
      {"0,1", nullptr, "none", 4},
      {"0,1,2,3", nullptr, "0-1,2-3", 5},
      {nullptr, nullptr, "none", 6},
      {"0,1,2", "0,1,1,2,2,2,2,0", "all", 7},
      {"0,1,2", "2,0,1,0,0,0,1,0", "0-2", 8},
  };
  // In the usual run half of them, which differ from strategy to strategy.
  int number = std::get<1>(GetParam());
  for (const auto &c : cases) {
    if (number++ % 2 && !getenv("DP_FULL")) continue;
    SCOPED_TRACE(testing::Message() << (c.gpus ? c.gpus : "all") << " map " << (c.map ? c.map : "") << " peers "
                                    << c.peers);
    DP_STEER(dp_standin_devices)(8, c.peers);
    DP_STEER(dp_standin_seed)(c.seed);
    const Outcome several = Train(plan, c.gpus, c.map);
    EXPECT_EQ(several.losses, one.losses);
    EXPECT_TRUE(several.state == one.state);
    ExpectNothingLeft();
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaSeveral,
                         testing::Combine(testing::Range(0, int(std::size(kModels))),
                                          testing::Range(0, int(std::size(kStrategies)))));

}  // namespace
}  // namespace dp_test
