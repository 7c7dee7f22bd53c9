// Random networks whose weights are split at random over meshes of up to three axes compute what one device computes.
#include <cmath>

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

}  // namespace
}  // namespace dp_test
