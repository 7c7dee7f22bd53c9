// Computing again changes no bit: networks drawn by seed, under every kind of strategy, train as they do when
// everything is kept.
#include <cstdlib>

#include "tests/end_to_end/bits.h"
#include "tests/end_to_end/drawn.h"

namespace dp_test {
namespace {

// How many nodes a device computes, members of regions too.
size_t Computed(const Plan &plan) {
  size_t count = 0;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++)
      for (size_t s = 0; s < plan->roles[r]->programs[p]->n_streams; s++)
        for (size_t i = 0; i < plan->roles[r]->programs[p]->streams[s]->n_instructions; i++) {
          const Dp__Instruction *in = plan->roles[r]->programs[p]->streams[s]->instructions[i];
          count += in->n_members ? in->n_members : 1;
        }
  return count;
}

TEST(Recompute, ChangesNoBit) {
  const uint32_t seeds = getenv("DP_FULL") ? 60 : 12;
  size_t repeated = 0;
  for (uint32_t seed = 101; seed <= 100 + seeds; seed++) {
    const DrawnNetwork network = DrawNetwork(seed);
    Draw draw(seed);
    for (int devices : {1, 2, 4}) {
      const DrawnStrategy strategy =
          devices == 1 ? DrawnStrategy{"one", "", network.text} : DrawStrategy(draw, network, devices);
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + strategy.options);
      const std::string options = network.Options() + " threads=2 " + strategy.options;
      const Plan again = Compile(strategy.text, options + " recompute=*"), kept = Compile(strategy.text, options);
      repeated += Computed(again) - Computed(kept);
      const Bits with = TrainedBits(again, network.batches, network.feed, 2);
      const Bits without = TrainedBits(kept, network.batches, network.feed, 1);
      EXPECT_EQ(with.losses, without.losses);
      EXPECT_TRUE(with.state == without.state);
    }
  }
  EXPECT_GT(repeated, 100u);
}

}  // namespace
}  // namespace dp_test
