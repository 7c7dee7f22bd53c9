// N devices compute what one device computes, whatever N, the optimizer and the samples present, fewer than devices or none;
// they end with the same bits in every copy; and every such plan passes the checker (Compile sees to that) and runs on the
// null backend without a hazard.
#include <cmath>
#include <cstring>

#include "tests/end_to_end/models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

const std::vector<int64_t> kBatches = {13, 13, 7, 3, 0, 1, 13, 5};

struct Outcome {
  std::vector<double> losses;
  std::map<std::string, std::vector<double>> state;
};

Outcome Train(const Plan &plan) {
  Training run(plan);
  Outcome outcome;
  outcome.losses = run.TrainAll(kBatches);
  for (int64_t n : {13, 2}) {
    outcome.losses.push_back(run.Evaluate(200, n));
    outcome.losses.push_back(run.Correct());
  }
  for (size_t i = 0; i < plan->n_persistents; i++)
    outcome.state[plan->persistents[i]->name] = run.Numbers(plan->persistents[i]->name);
  EXPECT_EQ(run.Replicas(), "");
  return outcome;
}

double Norm(const std::vector<double> &x) {
  double squares = 0;
  for (double number : x) squares += number * number;
  return std::sqrt(squares);
}

void ExpectSame(const Outcome &found, const Outcome &expected) {
  ExpectClose(found.losses, expected.losses, 1e-9);
  for (const auto &[name, numbers] : expected.state) {
    auto other = found.state.find(name);
    ASSERT_NE(other, found.state.end()) << name;
    ASSERT_EQ(other->second.size(), numbers.size()) << name;
    double most = 1e-9 * Norm(numbers) + 1e-12;
    for (size_t i = 0; i < numbers.size(); i++) ASSERT_NEAR(other->second[i], numbers[i], most) << name << " " << i;
  }
}

void ExpectNoHazard(const Plan &plan) {
  for (int workers : {1, 4}) EXPECT_EQ(RunNull(plan, workers, {13, 0, 1}), "") << workers << " workers";
}

struct Case {
  const char *name, *text, *optimizer;
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.name; }

class Devices : public testing::TestWithParam<Case> {};

TEST_P(Devices, ComputeWhatOneComputes) {
  std::string options = std::string("batch=13 precision=fp64 optimizer=") + GetParam().optimizer;
  Outcome one = Train(Compile(GetParam().text, options));
  for (double loss : one.losses) EXPECT_TRUE(std::isfinite(loss));
  for (int devices : {1, 2, 3, 4, 5, 8}) {
    SCOPED_TRACE(devices);
    Plan plan = Compile(GetParam().text, options + " strategy=data devices=" + std::to_string(devices));
    ExpectSame(Train(plan), one);
    ExpectNoHazard(plan);
  }
}

constexpr char kPlain[] = "sgd(lr=0.1)", kMomentum[] = "sgd(lr=0.05,momentum=0.9)",
               kNesterov[] = "sgd(lr=0.02,momentum=0.8,nesterov=1,weight_decay=1e-2)",
               kDampened[] = "sgd(lr=0.1,momentum=0.7,dampening=0.3,weight_decay=1e-3)",
               kAdam[] = "adam(lr=0.01,clip_norm=0.5)";

INSTANTIATE_TEST_SUITE_P(Networks, Devices,
                         testing::Values(Case{"MlpPlain", kMlp, kPlain}, Case{"MlpMomentum", kMlp, kMomentum},
                                         Case{"CnnPlain", kCnn, kPlain}, Case{"CnnMomentum", kCnn, kMomentum},
                                         Case{"CnnNesterov", kCnn, kNesterov}, Case{"SquaresPlain", kSquares, kPlain},
                                         Case{"SquaresNesterov", kSquares, kNesterov},
                                         Case{"SquaresDampened", kSquares, kDampened},
                                         Case{"PlacesMomentum", kPlaces, kMomentum}, Case{"MlpAdam", kMlp, kAdam},
                                         Case{"SquaresAdam", kSquares, kAdam}),
                         [](const testing::TestParamInfo<Case> &info) { return std::string(info.param.name); });

// Weights split over an axis of their own, next to data.
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
    Outcome one = Train(Compile(c.text, options));
    for (const char *mesh : {"data:2,tensor:2", "data:1,tensor:3", "tensor:2,data:3"}) {
      SCOPED_TRACE(std::string(c.parameter) + " " + c.where + " " + mesh);
      Plan plan = Compile(Split(c.text, c.parameter, c.where), options + " strategy=data mesh=" + mesh);
      ExpectSame(Train(plan), one);
      ExpectNoHazard(plan);
    }
  }
}

TEST(FirstStep, AgreesInSinglePrecision) {
  for (const std::string &text :
       {std::string(kMlp), std::string(kCnn), std::string(kSquares), ReadText("examples/digits_cnn.dpt")}) {
    double one = Training(Compile(text, "batch=29")).Train(0, 29);
    for (int devices : {2, 3, 4, 5, 8}) {
      Plan plan = Compile(text, "batch=29 strategy=data devices=" + std::to_string(devices));
      Training run(plan);
      EXPECT_NEAR(run.Train(0, 29), one, 1e-6 * one) << devices;
      EXPECT_EQ(run.Replicas(), "");
    }
  }
}

}  // namespace
}  // namespace dp_test
