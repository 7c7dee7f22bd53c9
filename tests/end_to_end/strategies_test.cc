// No strategy changes what is computed. Random networks are trained for ten steps on one device and, under random
// strategies, on 2, 4 and 8 devices. Losses, evaluation, predictions, weights, buffers and state are equal, and copies
// have the same bits. The checker (in Compile) accepts each plan, and one in three also runs on the null backend.
// Prints the largest deviations by strategy, network and number of devices.
//
// The seeds are 1 to 50, or 1 to 500 with DP_FULL; DP_SEEDS=FIRST..LAST selects others.
#include <cmath>
#include <cstdlib>

#include "tests/end_to_end/drawn.h"
#include "tests/end_to_end/table.h"

namespace dp_test {
namespace {

using State = std::map<std::string, std::vector<double>>;

struct Outcome {
  std::vector<double> losses;  // of ten steps and two evaluations
  State state;
  std::vector<double> correct, inferred;
};

Outcome Train(const Plan &plan, const DrawnNetwork &network, int workers) {
  RunOptions options;
  options.workers = workers;
  options.feed = network.feed;
  Training run(plan, options);
  Outcome outcome = {run.TrainAll(network.batches), {}, {}, {}};
  for (int64_t n : {network.batches[0], network.batches.back()}) {
    outcome.losses.push_back(run.Evaluate(300, n));
    if (plan->classes) outcome.correct.push_back(run.Correct());
  }
  outcome.inferred = run.Infer(400, network.batches.back());
  for (size_t i = 0; i < plan->n_variables; i++)
    outcome.state[plan->variables[i]->name] = run.Numbers(plan->variables[i]->name);
  EXPECT_EQ(run.Replicas(), "");
  return outcome;
}

// The largest difference of any two numbers, relative if they are large.
double Distance(const std::vector<double> &found, const std::vector<double> &expected) {
  double most = found.size() == expected.size() ? 0 : INFINITY;
  for (size_t i = 0; i < expected.size() && i < found.size(); i++)
    Raise(&most, std::fabs(found[i] - expected[i]) / (1 + std::fabs(expected[i])));
  return most;
}

// The largest difference of any element. Plans for several devices may have additional constants.
double Absolute(const State &found, const State &expected) {
  double most = 0;
  for (const auto &[name, numbers] : expected) {
    const std::vector<double> &other = found.at(name);
    EXPECT_EQ(other.size(), numbers.size()) << name;
    for (size_t i = 0; i < numbers.size(); i++) Raise(&most, std::fabs(other.at(i) - numbers[i]));
  }
  return most;
}

std::pair<uint32_t, uint32_t> Seeds() {
  unsigned first = 1, last = std::getenv("DP_FULL") ? 500 : 50;
  const char *asked = std::getenv("DP_SEEDS");
  if (asked && sscanf(asked, "%u..%u", &first, &last) != 2) ADD_FAILURE() << "DP_SEEDS=" << asked;
  return {first, last};
}

TEST(Strategies, ComputeWhatOneDeviceComputes) {
  Table table("float64, ten steps and evaluations: losses (relative) / weights, buffers and state (absolute)", true);
  const auto [first, last] = Seeds();
  int configurations = 0;
  for (uint32_t seed = first; seed <= last; seed++) {
    const DrawnNetwork network = DrawNetwork(seed);
    const Outcome one = Train(Compile(network.text, network.Options()), network, 1);
    for (double loss : one.losses) EXPECT_TRUE(std::isfinite(loss)) << "seed " << seed << "\n" << network.text;
    Draw draw(seed);
    for (int devices : {2, 4, 8}) {
      const DrawnStrategy drawn = DrawStrategy(draw, network, devices);
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + network.Options() + " " + drawn.options + "\n" + drawn.text);
      const Plan plan = Compile(drawn.text, network.Options() + " " + drawn.options);
      const Outcome several = Train(plan, network, seed % 4 ? 1 : 3);
      const double losses = Relative(several.losses, one.losses), state = Absolute(several.state, one.state);
      EXPECT_LE(losses, 1e-9);
      EXPECT_LE(state, 1e-8);
      EXPECT_EQ(several.correct, one.correct);
      EXPECT_LE(Distance(several.inferred, one.inferred), 1e-8);
      EXPECT_EQ(draw.OneIn(3) ? RunNull(plan, 4, {network.batches[0], 1}) : "", "");
      table.Note(drawn.name + ", " + network.kind, devices, losses, state);
      configurations++;
    }
    if (HasFailure() && !std::getenv("DP_FULL")) break;
  }
  table.Print();
  printf("%u networks, %d strategies that they were put under\n", last - first + 1, configurations);
}

}  // namespace
}  // namespace dp_test
