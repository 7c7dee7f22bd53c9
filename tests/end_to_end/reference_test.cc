// Six steps of a small network in float64, from the same weights as in PyTorch, on one device and on several. Losses,
// evaluation, weights, running statistics and momentum equal PyTorch's (make_reference.py).
#include <cmath>

#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

struct Reference {
  std::vector<double> losses, evaluations;  // evaluations: loss, correct digits
  std::map<std::string, std::vector<double>> state;
};

Reference ReadReference() {
  Reference reference;
  for (const auto &[name, numbers] : ReadNumbers("tests/end_to_end/reference.txt")) {
    if (name == "loss")
      reference.losses.push_back(numbers.at(0));
    else if (name == "eval")
      reference.evaluations.insert(reference.evaluations.end(), numbers.begin(), numbers.end());
    else
      reference.state[name] = numbers;
  }
  return reference;
}

TEST(Reference, SixStepsAsInPyTorch) {
  const Reference reference = ReadReference();
  ASSERT_EQ(reference.losses.size(), 6u);
  ASSERT_EQ(reference.evaluations.size(), 8u);
  ASSERT_EQ(reference.state.size(), 13u + 9u);
  const std::string text = ReadText("tests/end_to_end/reference.dpt");
  for (int devices : {1, 2, 3, 8}) {
    SCOPED_TRACE(devices);
    Plan plan = Compile(text, "batch=16 precision=fp64 strategy=data devices=" + std::to_string(devices));
    Training training(plan);
    ExpectClose(training.TrainAll({16, 16, 16, 16, 16, 7}), reference.losses, 1e-9);
    std::vector<double> evaluations;
    for (int64_t k = 0; k < 50; k += 16) {
      evaluations.push_back(training.Evaluate(87 + k, k + 16 < 50 ? 16 : 50 - k));
      evaluations.push_back(training.Correct());
    }
    ExpectClose(evaluations, reference.evaluations, 1e-9);
    for (const auto &[name, expected] : reference.state) {
      std::vector<double> found = training.Numbers(name);
      ASSERT_EQ(found.size(), expected.size()) << name;
      for (size_t i = 0; i < found.size(); i++)
        EXPECT_NEAR(found[i], expected[i], 1e-9 * (std::fabs(expected[i]) + 1e-3)) << name << " " << i;
    }
    EXPECT_EQ(training.Replicas(), "");
  }
}

}  // namespace
}  // namespace dp_test
