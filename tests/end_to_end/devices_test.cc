// N devices compute what one device computes, for any N, network, optimizer and number of samples, even fewer than
// devices or none. At the end all copies have the same bits. Compile passes every plan to the checker, and the null
// backend finds no hazard in it. Prints a table of the largest deviations from one device. DP_FULL adds cases.
#include <cmath>
#include <cstdlib>

#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/table.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

using Numbers = std::vector<double>;

const std::vector<int> kDevices = {1, 2, 3, 4, 5, 8};

double Norm(const Numbers &x) {
  double squares = 0;
  for (double number : x) squares += number * number;
  return std::sqrt(squares);
}

// ---- float64: ten steps ---------------------------------------------------------------------------------------------

struct Outcome {
  Numbers losses, correct;  // of the steps, then of the evaluation
  std::map<std::string, Numbers> state;
};

Outcome Train(const Plan &plan, const std::vector<int64_t> &batches) {
  Training run(plan);
  Outcome outcome;
  outcome.losses = run.TrainAll(batches);
  // The last batch of the evaluation set is short.
  int64_t batch = plan->batch;
  for (int64_t n : {batch, batch, (batch + 2) / 3}) {
    outcome.losses.push_back(run.Evaluate(200 + int64_t(outcome.correct.size()) * batch, n));
    outcome.correct.push_back(run.Correct());
  }
  for (size_t i = 0; i < plan->n_variables; i++)
    outcome.state[plan->variables[i]->name] = run.Numbers(plan->variables[i]->name);
  EXPECT_EQ(run.Replicas(), "");
  return outcome;
}

// The largest difference of any element. Plans for several devices may have additional constants.
double Absolute(const std::map<std::string, Numbers> &found, const std::map<std::string, Numbers> &expected) {
  double most = 0;
  for (const auto &[name, numbers] : expected) {
    const Numbers &other = found.at(name);
    EXPECT_EQ(other.size(), numbers.size()) << name;
    for (size_t i = 0; i < numbers.size(); i++) Raise(&most, std::fabs(other.at(i) - numbers[i]));
  }
  return most;
}

void ExpectSame(const Outcome &found, const Outcome &expected) {
  EXPECT_LE(Relative(found.losses, expected.losses), 1e-9);
  EXPECT_LE(Absolute(found.state, expected.state), 1e-8);
  EXPECT_EQ(found.correct, expected.correct);
}

void ExpectNoHazard(const Plan &plan, int64_t batch) { EXPECT_EQ(RunNull(plan, 4, {batch, 0, 1}), ""); }

struct Case {
  std::string name, text, optimizer;
  std::vector<int64_t> batches;  // the first is the largest
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.name; }

std::string CaseName(const testing::TestParamInfo<Case> &info) { return info.param.name; }

class Devices : public testing::TestWithParam<Case> {
 protected:
  static void TearDownTestSuite() { table.Print(); }
  static Table table;
};

Table Devices::table("float64, ten steps and an evaluation: losses (relative) / weights, buffers and state (absolute)");

TEST_P(Devices, ComputeWhatOneComputes) {
  const Case &c = GetParam();
  std::string options = "precision=fp64 batch=" + std::to_string(c.batches[0]) + " optimizer=" + c.optimizer;
  Outcome one = Train(Compile(c.text, options), c.batches);
  for (double loss : one.losses) EXPECT_TRUE(std::isfinite(loss));
  for (int devices : kDevices) {
    SCOPED_TRACE(devices);
    Plan plan = Compile(c.text, options + " strategy=data devices=" + std::to_string(devices));
    Outcome several = Train(plan, c.batches);
    ExpectSame(several, one);
    ExpectNoHazard(plan, c.batches[0]);
    table.Note(c.name, devices, Relative(several.losses, one.losses), Absolute(several.state, one.state));
  }
}

// Divisible by few of the numbers of devices, with every kind of batch.
const std::vector<int64_t> kMixed = {13, 13, 7, 3, 0, 1, 13, 5, 13, 2};

const std::pair<const char *, const char *> kOptimizers[] = {
    {"Plain", "sgd(lr=0.1)"},
    {"Momentum", "sgd(lr=0.05,momentum=0.9)"},
    {"Decay", "sgd(lr=0.05,weight_decay=1e-2)"},
    {"Nesterov", "sgd(lr=0.02,momentum=0.8,nesterov=1,weight_decay=1e-2)"},
    {"Dampening", "sgd(lr=0.1,momentum=0.7,dampening=0.3,weight_decay=1e-3)"},
    {"Adam", "adam(lr=0.01)"},
    {"AdamDecay", "adam(lr=0.01,beta1=0.8,weight_decay=1e-2)"},
    {"Adamw", "adamw(lr=0.01,beta2=0.99)"},
    {"Clipping", "sgd(lr=0.1,momentum=0.9,clip_norm=0.5)"},
    {"AdamClipping", "adam(lr=0.01,clip_norm=0.5)"},
    {"Cosine", "sgd(lr=0.1,schedule=cosine,warmup=3,total=9,min_lr=1e-3)"},
    {"Steps", "adamw(lr=0.01,schedule=step,warmup=2,step_size=3,gamma=0.5)"},
};

const std::pair<const char *, const char *> kNetworks[] = {
    {"Mlp", kMlp},       {"Cnn", kCnn},     {"Squares", kSquares}, {"Places", kPlaces},
    {"Smooth", kSmooth}, {"Block", kBlock}, {"Drawn", kDrawn}};

// Removes the nodes whose lines contain `word`; their first operand takes the place of their result.
std::string Without(std::string text, const std::string &word) {
  for (size_t at; (at = text.find(word + "(")) != std::string::npos;) {
    size_t open = at + word.size(), close = text.find(')', open), end = text.find('\n', close);
    text.replace(at, end - at, "Identity" + text.substr(open, close + 1 - open));
  }
  return text;
}

std::vector<Case> Cases() {
  const std::string momentum = kOptimizers[1].second;
  std::vector<Case> cases = {
      {"BatchThatDoesNotDivide", kCnn, momentum, std::vector<int64_t>(10, 13)},
      {"FewerSamplesThanDevices", kCnn, momentum, {3, 3, 2, 3, 3, 1, 3, 3, 2, 3}},
      {"ShortLastBatch", kCnn, momentum, {13, 13, 13, 13, 5, 13, 13, 13, 13, 5}},
      {"DroppedLastBatch", kCnn, momentum, std::vector<int64_t>(10, 16)},
      {"WholeBatchNormalization", Without(kCnn, "Dropout"), momentum, kMixed},
      {"Dropout", kBlock, momentum, kMixed},
      {"TransformerBlock", Without(kBlock, "Dropout"), "adamw(lr=0.003)", kMixed},
  };
  for (const auto &[name, spec] : kOptimizers) cases.push_back({std::string("Cnn") + name, kCnn, spec, kMixed});
  // Tests one in seven pairs of network and optimizer, or all of them.
  int each = std::getenv("DP_FULL") ? 1 : 7, pair = 0;
  for (const auto &[network, text] : kNetworks)
    for (const auto &[name, spec] : kOptimizers)
      if (text != kCnn && pair++ % each == 0) cases.push_back({std::string(network) + name, text, spec, kMixed});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Networks, Devices, testing::ValuesIn(Cases()), CaseName);

// Weights split over their own axis, beside data.
std::string Split(std::string text, const std::string &parameter, const char *where) {
  size_t at = text.find("parameter " + parameter + ":");
  EXPECT_NE(at, std::string::npos) << parameter;
  return text.insert(text.find('\n', at), std::string(" shard(tensor=") + where + ")");
}

TEST(Meshes, ComputeWhatOneDeviceComputes) {
  const struct {
    const char *text, *parameter, *where;
  } cases[] = {{kMlp, "w1", "0"}, {kMlp, "w1", "1"},   {kMlp, "w2", "0"},     {kMlp, "w2", "1"},
               {kMlp, "b1", "0"}, {kCnn, "fc.w", "0"}, {kSquares, "w1", "1"}, {kPlaces, "w", "1"}};
  const std::string options = "batch=13 precision=fp64 optimizer=sgd(lr=0.05,momentum=0.9)";
  for (const auto &c : cases) {
    Outcome one = Train(Compile(c.text, options), kMixed);
    for (const char *mesh : {"data:2,tensor:2", "data:1,tensor:3", "tensor:2,data:3"}) {
      SCOPED_TRACE(std::string(c.parameter) + " " + c.where + " " + mesh);
      Plan plan = Compile(Split(c.text, c.parameter, c.where), options + " strategy=data mesh=" + mesh);
      ExpectSame(Train(plan, kMixed), one);
      ExpectNoHazard(plan, 13);
    }
  }
}

// ---- float32: one step ----------------------------------------------------------------------------------------------

struct Step {
  double loss;
  std::map<std::string, Numbers> gradients;  // by parameter
};

// In the first step the momentum equals the gradient.
Step FirstStep(const Plan &plan, int64_t n) {
  Training run(plan);
  Step step = {run.Train(0, n), {}};
  const std::string state = "dp.momentum/";
  for (size_t i = 0; i < plan->n_variables; i++) {
    const std::string name = plan->variables[i]->name;
    if (name.rfind(state, 0) == 0) step.gradients[name.substr(state.size())] = run.Numbers(name);
  }
  EXPECT_FALSE(step.gradients.empty());
  EXPECT_EQ(run.Replicas(), "");
  return step;
}

class SinglePrecision : public testing::TestWithParam<Case> {
 protected:
  static void TearDownTestSuite() { table.Print(); }
  static Table table;
};

Table SinglePrecision::table("float32, the first step: loss (relative) / gradients (of each tensor's norm)");

TEST_P(SinglePrecision, TheFirstStepAgrees) {
  const Case &c = GetParam();
  const std::string options = "batch=" + std::to_string(c.batches[0]) + " optimizer=" + c.optimizer;
  Step one = FirstStep(Compile(c.text, options), c.batches[1]),
       exact = FirstStep(Compile(c.text, options + " precision=fp64"), c.batches[1]);
  for (int devices : kDevices) {
    SCOPED_TRACE(devices);
    Step several =
        FirstStep(Compile(c.text, options + " strategy=data devices=" + std::to_string(devices)), c.batches[1]);
    double most = 0, loss = Relative({several.loss}, {one.loss});
    size_t compared = 0;
    for (const auto &[name, gradient] : one.gradients) {
      // A bias before a normalization has no gradient, only rounding errors.
      if (Norm(exact.gradients.at(name)) < 1e-12) continue;
      Numbers difference = several.gradients.at(name);
      for (size_t i = 0; i < gradient.size(); i++) difference.at(i) -= gradient[i];
      double part = Norm(difference) / Norm(gradient);
      EXPECT_LE(part, 3e-5) << name;
      Raise(&most, part);
      compared++;
    }
    EXPECT_GE(compared, 2u);
    EXPECT_LE(loss, 1e-6);
    table.Note(c.name, devices, loss, most);
  }
}

std::vector<Case> SmoothCases() {
  std::vector<Case> cases;
  const std::string momentum = "sgd(lr=0.01,momentum=0.9)";
  for (const auto &[name, text] : kNetworks) {
    if (text == kCnn) continue;  // kinks and ties
    for (int64_t n : {29, 24, 13, 3}) cases.push_back({name + std::to_string(n) + "Samples", text, momentum, {29, n}});
  }
  cases.push_back({"SmoothWithoutDropout", Without(kSmooth, "Dropout"), momentum, {29, 29}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Networks, SinglePrecision, testing::ValuesIn(SmoothCases()), CaseName);

}  // namespace
}  // namespace dp_test
