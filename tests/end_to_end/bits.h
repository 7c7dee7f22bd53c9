// What training leaves, to compare bit for bit.
#ifndef DP_TESTS_END_TO_END_BITS_H
#define DP_TESTS_END_TO_END_BITS_H

#include "tests/end_to_end/training.h"

namespace dp_test {

struct Bits {
  std::vector<double> losses;
  std::map<std::string, Bytes> state;
};

inline Bits TrainedBits(const Plan &plan, const std::vector<int64_t> &batches, const Feed &feed, int workers) {
  RunOptions options;
  options.workers = workers;
  options.feed = feed;
  Training run(plan, options);
  Bits bits{run.TrainAll(batches), {}};
  bits.losses.push_back(run.Evaluate(0, batches[0]));
  bits.state = run.State();
  EXPECT_EQ(run.Replicas(), "");
  return bits;
}

}  // namespace dp_test

#endif
