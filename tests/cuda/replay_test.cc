// Steps that are captured and replayed, on stand-ins for the driver and CUDA's libraries: they compute what steps do
// that are issued one by one, bit for bit, whatever the order in which late streams run; the host makes a fixed number
// of calls for a step; and no more graphs are kept than are of use.
#include "tests/cuda/steer.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

int64_t Calls() { return DP_STEER(dp_standin_count)().calls; }
int64_t Graphs() { return DP_STEER(dp_standin_count)().graphs; }

struct Outcome {
  std::vector<double> numbers;
  std::map<std::string, Bytes> state;
};

void Append(std::vector<double> *to, const std::vector<double> &more) {
  to->insert(to->end(), more.begin(), more.end());
}

// direct: traced, which keeps steps from being captured. Each shape comes often enough in both slots to be replayed,
// with evaluations and inference between.
Outcome Train(const Plan &plan, bool direct, bool ahead) {
  RunOptions options;
  options.trace = direct;
  Training training(plan, options);
  Outcome outcome;
  for (int round = 0; round < 3; round++) {
    const std::vector<int64_t> batches = {8, 8, 8, 8, 8, 3, 3, 1};
    Append(&outcome.numbers, ahead ? training.TrainAhead(batches) : training.TrainAll(batches));
    outcome.numbers.push_back(training.Evaluate(round, 7));
    Append(&outcome.numbers, training.Infer(round, 3));
  }
  EXPECT_EQ(Graphs() == 0, direct);
  outcome.state = training.State();
  return outcome;
}

// ---- the same bits --------------------------------------------------------------------------------------------------

const char *const kStrategies[] = {
    "devices=1 microbatches=2",
    "strategy=data devices=4",
    "strategy=zero zero-stage=3 devices=4",
    "strategy=tensor devices=2",
    "mesh=data:2,pipe:2 strategy=pipeline microbatches=4",
};

class Replay : public testing::TestWithParam<int> {};

// Masks of Dropout and Adam's bias depend on the step, so a number that the capture has frozen shows.
TEST_P(Replay, ChangesNoBit) {
  const std::string options =
      std::string("target=cuda batch=8 precision=fp64 optimizer=adam(lr=0.01) ") + kStrategies[GetParam()];
  for (const char *model : {kMlp, kSquares, kCnn}) {
    if (model == kCnn && GetParam() > 1) continue;
    const Plan plan = Compile(model, options);
    DP_STEER(dp_standin_seed)(0);
    const Outcome direct = Train(plan, true, false);
    for (uint64_t seed = 0; seed < (getenv("DP_FULL") ? 4u : 2u); seed++) {
      SCOPED_TRACE(testing::Message() << kStrategies[GetParam()] << " seed " << seed);
      DP_STEER(dp_standin_seed)(seed);
      const Outcome replayed = Train(plan, false, seed % 2 == 1);
      EXPECT_EQ(replayed.numbers, direct.numbers);
      EXPECT_EQ(replayed.state, direct.state);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, Replay, testing::Range(0, int(std::size(kStrategies))));

// ---- one call -------------------------------------------------------------------------------------------------------

std::string Layers(int n) {
  std::string text =
      "model layers {\n  loss \"mse(y,target)\"\n  optimizer \"sgd(lr=0.01)\"\n  input x: float32[N,16]\n";
  std::string x = "x";
  for (int i = 0; i < n; i++) {
    const std::string k = std::to_string(i), y = i == n - 1 ? "y" : "h" + k;
    text += "  parameter w" + k + ": float32[16," + (i == n - 1 ? "10" : "16") + "] = uniform(-0.05,0.05)\n";
    text += "  g" + k + " = MatMul(" + x + ", w" + k + ")\n  " + y + " = Tanh(g" + k + ")\n";
    x = y;
  }
  return text + "  output y\n}\n";
}

// Calls of the driver and of libraries for the first, second and third step of a slot.
std::vector<int64_t> CallsOfSteps(const Plan &plan) {
  Training training(plan);
  std::vector<int64_t> calls;
  for (int step = 0; step < 6; step++) {
    const int64_t before = Calls();
    training.Train(8 * step, 8);
    if (step % 2 == 0) calls.push_back(Calls() - before);
  }
  return calls;
}

TEST(ReplayCalls, DoNotDependOnTheNetwork) {
  DP_STEER(dp_standin_seed)(0);
  for (const char *strategy : {"devices=1", "strategy=data devices=2"}) {
    SCOPED_TRACE(strategy);
    const std::string options = std::string("target=cuda batch=8 ") + strategy;
    const std::vector<int64_t> few = CallsOfSteps(Compile(Layers(2), options));
    const std::vector<int64_t> many = CallsOfSteps(Compile(Layers(12), options));
    EXPECT_GT(many[0], few[0]);
    EXPECT_EQ(many[2], few[2]);
    EXPECT_LT(many[2], 60);
  }
}

// ---- what is kept ---------------------------------------------------------------------------------------------------

TEST(ReplayGraphs, AreDroppedWhenThereAreMany) {
  DP_STEER(dp_standin_seed)(1);
  const Plan plan = Compile(Layers(2), "target=cuda batch=40");
  RunOptions direct;
  direct.trace = true;
  std::vector<double> expected, found;
  for (bool replayed : {false, true}) {
    Training training(plan, replayed ? RunOptions() : direct);
    for (int round = 0; round < 4; round++)
      for (int64_t n = 1; n <= 40; n++) {
        Append(replayed ? &found : &expected, training.Infer(round, n));
        EXPECT_LE(Graphs(), 32);
      }
    EXPECT_EQ(Graphs(), replayed ? 32 : 0);
  }
  EXPECT_EQ(found, expected);
}

TEST(ReplayGraphs, AreGoneAtTheEnd) {
  const dp_standin_counts left = DP_STEER(dp_standin_count)();
  EXPECT_EQ(left.graphs, 0);
  EXPECT_EQ(left.streams, 0);
  EXPECT_EQ(left.events, 0);
  EXPECT_EQ(left.device_allocations, 0);
  EXPECT_EQ(left.host_allocations, 0);
  EXPECT_EQ(left.pending, 0);
}

}  // namespace
}  // namespace dp_test
