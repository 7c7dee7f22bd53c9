// Networks with many classes train as with --no-fuse, to rounding, while their scores are computed in chunks: under
// every strategy that leaves classes whole, with micro-batches, with labels that do not count, and for short batches.
// Plans show that there are chunks, and that there are none where classes are split.
#include <cmath>
#include <cstring>

#include "tests/end_to_end/bits.h"

namespace dp_test {
namespace {

constexpr int kClasses = 512;

// In float64 the scores of 64 samples' 4,096 rows take 16 MiB.
const char kNetwork[] = R"text(model many {
  batch 64
  loss "softmax_cross_entropy(scores,label)"
  optimizer "adam(lr=0.01)"
  parameter w: float32[8,8] = normal(0, 0.5)
  parameter b: float32[8] = zeros
  parameter h: float32[8,512] = normal(0, 0.5)
  parameter c: float32[512] = normal(0, 0.5)
  graph main {
    input x: float32[N,64,8]
    input label: int64[N,64]
    u = MatMul(x, w) [stage=0]
    v = Add(u, b)
    y = Tanh(v) [stage=1]
    s = MatMul(y, h)
    scores = Add(s, c)
    output scores
  }
})text";

double Sample(const std::string &input, int64_t sample, int64_t element) {
  uint64_t drawn = uint64_t(sample * 1000 + element + 7) * 0x9e3779b97f4a7c15u;
  drawn = (drawn ^ drawn >> 29) * 0xbf58476d1ce4e5b9u >> 33;
  if (input == "label") return element && drawn % 11 == 0 ? kIgnored : double(drawn % kClasses);
  return double(drawn % 2001) / 1000 - 1;
}

const std::vector<int64_t> kBatches = {64, 0, 37};

// Of all roles.
int Heads(const Plan &plan, const std::string &program) {
  int count = 0;
  for (size_t role = 0; role < plan->n_roles; role++)
    for (const Location &at : Instructions(plan, program, role))
      count += strstr(At(plan, at)->kernel, "head.dp.Region") != nullptr;
  return count;
}

double Deviation(double found, double expected) { return std::fabs(found - expected) / (1 + std::fabs(expected)); }

void ExpectClose(const Bits &found, const Bits &expected) {
  ASSERT_EQ(found.losses.size(), expected.losses.size());
  for (size_t i = 0; i < found.losses.size(); i++) EXPECT_LE(Deviation(found.losses[i], expected.losses[i]), 1e-11);
  for (const auto &entry : expected.state) {
    const Bytes &a = found.state.at(entry.first), &b = entry.second;
    ASSERT_EQ(a.size(), b.size());
    if (a == b) continue;
    double most = 0;
    for (size_t i = 0; i + sizeof(double) <= b.size(); i += sizeof(double)) {
      double x, y;
      memcpy(&x, &a[i], sizeof x);
      memcpy(&y, &b[i], sizeof y);
      most = std::max(most, Deviation(x, y));
    }
    EXPECT_LE(most, 1e-11) << entry.first;
  }
}

const Bits &Expected() {
  static const Bits bits = TrainedBits(Compile(kNetwork, "precision=fp64 threads=1 no-fuse=yes"), kBatches, Sample, 1);
  return bits;
}

TEST(Head, TrainsAsWithoutChunks) {
  const struct {
    const char *options;
    int heads;
  } cases[] = {{"threads=1", 1},
               {"threads=3", 1},
               {"devices=2 strategy=data threads=2", 1},
               {"devices=2 strategy=data zero=3 threads=1", 1},
               {"devices=2 strategy=pipeline microbatches=2 threads=1", 2},
               {"strategy=data devices=1 microbatches=2 threads=2", 2}};
  for (const auto &one : cases) {
    SCOPED_TRACE(one.options);
    const Plan plan = Compile(kNetwork, std::string("precision=fp64 ") + one.options);
    EXPECT_EQ(Heads(plan, "train"), one.heads);
    EXPECT_GE(Heads(plan, "eval"), 1);
    ExpectClose(TrainedBits(plan, kBatches, Sample, 2), Expected());
  }
}

TEST(Head, HasNoChunksWhereClassesAreSplit) {
  const Plan plan = Compile(kNetwork, "precision=fp64 devices=2 strategy=tensor threads=1");
  EXPECT_EQ(Heads(plan, "train"), 0);
  ExpectClose(TrainedBits(plan, kBatches, Sample, 2), Expected());
}

// On the null backend every byte that is read was written before, and by nobody else at the same time.
TEST(Head, RacesWithNothing) {
  for (const char *options : {"devices=2 strategy=data", "devices=2 strategy=pipeline microbatches=2"})
    EXPECT_EQ(RunNull(Compile(kNetwork, std::string("precision=fp64 threads=1 ") + options), 4, kBatches), "");
}

}  // namespace
}  // namespace dp_test
