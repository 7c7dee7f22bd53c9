// Random networks whose weights are split randomly over meshes of up to three axes compute what one device computes.
#include <cmath>
#include <regex>

#include "tests/end_to_end/training.h"
#include "tests/passes/random_network.h"

namespace dp_test {
namespace {

std::vector<double> Losses(const std::string &text, const std::string &options) {
  Training run(Compile(text, "batch=7 threads=1 precision=fp64 " + options));
  std::vector<double> losses = run.TrainAll({7, 3, 7, 1});
  losses.push_back(run.Evaluate(50, 6));
  EXPECT_EQ(run.Replicas(), "");
  return losses;
}

TEST(Random, NetworksOnMeshesComputeWhatOneDeviceComputes) {
  for (uint32_t seed = 1; seed <= 200; seed++) {
    RandomNetwork network(seed, true);
    SCOPED_TRACE(network.Describe());
    std::vector<double> one = Losses(network.text, "");
    for (double loss : one) EXPECT_TRUE(std::isfinite(loss));
    ExpectClose(Losses(network.text, "strategy=data mesh=" + network.mesh), one, 1e-9);
    if (HasFailure()) break;
  }
}

// Whether some parameter is split.
bool IsSplit(const Plan &plan) {
  for (size_t i = 0; i < plan->n_variables; i++)
    for (size_t a = 0; a < plan->variables[i]->n_placements; a++)
      if (plan->variables[i]->placements[a]->kind == 1) return true;
  return false;
}

// The same networks without annotations: dpc chooses what to split.
TEST(Random, NetworksSplitByCostComputeWhatOneDeviceComputes) {
  const char *const kMeshes[] = {"tensor:2", "tensor:3", "data:2,tensor:2", "tensor:5", "tensor:2,data:3", "tensor:8"};
  int split = 0;
  for (uint32_t seed = 1; seed <= 100; seed++) {
    RandomNetwork network(seed, true);
    const std::string text = std::regex_replace(network.text, std::regex(" shard\\([^)]*\\)"), ""),
                      options = std::string("strategy=tensor mesh=") + kMeshes[seed % 6];
    if (!IsSplit(Compile(text, "batch=7 threads=1 precision=fp64 " + options))) continue;
    split++;
    SCOPED_TRACE(options + "\n" + text);
    ExpectClose(Losses(text, options), Losses(text, ""), 1e-9);
    if (HasFailure()) break;
  }
  EXPECT_GE(split, 25);
}

}  // namespace
}  // namespace dp_test
