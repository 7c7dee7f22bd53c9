// What is offloaded, on stand-ins for the driver and CUDA's libraries: state and activations in the host's memory
// between two uses change no bit, whatever the order in which late streams run.
#include <cstdlib>

#include "tests/cuda/steer.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

const std::vector<int64_t> kBatches = {8, 8, 5, 8, 2, 1};

struct Outcome {
  std::vector<double> losses;
  std::map<std::string, Bytes> state;
};

Outcome Train(const char *model, const std::string &options) {
  Training training(Compile(model, "target=cuda offload-bytes=1 batch=8 " + options));
  Outcome outcome;
  outcome.losses = training.TrainAhead(kBatches);
  outcome.losses.push_back(training.Evaluate(0, 7));
  outcome.state = training.State();
  EXPECT_EQ(training.Replicas(), "");
  return outcome;
}

TEST(Offload, ChangesNoBit) {
  for (const char *model : {kCnn, kSquares})
    for (const char *strategy :
         {"devices=1", "strategy=zero zero-stage=2 devices=2", "mesh=data:2,pipe:2 strategy=pipeline microbatches=2"}) {
      SCOPED_TRACE(strategy);
      const std::string options = std::string("precision=fp64 ") + strategy;
      const Outcome kept = Train(model, options);
      for (const char *offload : {"optimizer", "activations", "optimizer,activations"})
        for (uint64_t seed : {0, 1}) {
          if (seed && !getenv("DP_FULL")) continue;
          SCOPED_TRACE(offload);
          if (IsStandin()) DP_STEER(dp_standin_seed)(seed);
          const Outcome away = Train(model, options + " offload=" + offload);
          EXPECT_EQ(away.losses, kept.losses);
          EXPECT_TRUE(away.state == kept.state);
        }
    }
}

// What one step has the device do.
int64_t Operations(const std::string &options) {
  std::string model = "model wide {\n  loss \"mse(y,t)\"\n  optimizer \"sgd(lr=0.1,momentum=0.9)\"\n";
  model += "  input x: float32[N,512]\n  parameter w: float32[512,256] = uniform(-0.05,0.05)\n";
  model += "  y = MatMul(x, w)\n  output y\n}";
  Training training(Compile(model, "target=cuda batch=2 " + options));
  training.TrainAll({2, 2});
  const int64_t before = DP_STEER(dp_standin_count)().operations;
  training.TrainAll({2});
  return DP_STEER(dp_standin_count)().operations - before;
}

// However many parts the runtime divides a copy into, it is one command. Values of 64 KiB or more are offloaded.
TEST(Offload, CopiesAValueAtOnce) {
  if (!IsStandin()) GTEST_SKIP() << "counted by the stand-in";
  const int64_t kept = Operations(""), away = Operations("offload=optimizer");
  EXPECT_GT(away, kept);
  EXPECT_LE(away, kept + 6);  // a Fetch, an Offload, and events
}

}  // namespace
}  // namespace dp_test
