// The same plan and seed give the same bits in every run, with any number of workers; another seed gives different
// ones.
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

struct Bits {
  std::vector<double> losses;
  std::map<std::string, Bytes> state;
  bool operator==(const Bits &other) const { return losses == other.losses && state == other.state; }
};

Bits Train(const Plan &plan, int workers, uint64_t seed, int64_t slot) {
  RunOptions options;
  options.workers = workers;
  options.seed = seed;
  options.slot = slot;
  Training run(plan, options);
  Bits bits;
  bits.losses = run.TrainAll({24, 24, 11, 24});
  bits.losses.push_back(run.Evaluate(500, 24));
  bits.state = run.State();
  EXPECT_EQ(run.Replicas(), "");
  return bits;
}

// threads: for each instruction.
void ExpectTheSameBits(const std::string &text, const std::string &options) {
  SCOPED_TRACE(options);
  Plan plan = Compile(text, "batch=24 " + options);
  Bits one = Train(plan, 1, 7, 0);
  for (int workers : {1, 2, 4}) EXPECT_TRUE(Train(plan, workers, 7, workers % 2) == one) << workers << " workers";
  EXPECT_FALSE(Train(plan, 2, 8, 0) == one);
}

TEST(Determinism, Digits) {
  for (const char *options : {"threads=2", "threads=1 strategy=data devices=4", "threads=2 strategy=data devices=2"})
    ExpectTheSameBits(ReadText("examples/digits_cnn.dpt"), options);
}

TEST(Determinism, SmallNetworks) {
  for (const char *text : {kMlp, kCnn, kSquares, kPlaces})
    for (const char *options :
         {"threads=2 strategy=data devices=8", "precision=fp64 threads=3 strategy=data devices=3"})
      ExpectTheSameBits(text, options);
}

}  // namespace
}  // namespace dp_test
