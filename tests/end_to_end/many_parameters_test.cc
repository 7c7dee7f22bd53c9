// Networks with more parameters than an instruction may have operands: updates and sums of gradients are divided.
#include <algorithm>

#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

constexpr int kParameters = 4200;

// y = x + w0 + w1 + ... with each w from zero.
std::string Sum(const std::string &optimizer) {
  std::string text = "model sum {\n  loss \"mse(y,t)\"\n  optimizer \"" + optimizer +
                     "\"\n  input x: float32[N,1]\n  input t: float32[N,1]\n";
  std::string last = "x";
  for (int i = 0; i < kParameters; i++) {
    const std::string n = std::to_string(i), y = i == kParameters - 1 ? "y" : "h" + n;
    text += "  parameter w" + n + ": float32[1] = zeros\n  " + y + " = Add(" + last + ", w" + n + ")\n";
    last = y;
  }
  return text + "  output y\n}\n";
}

size_t MostOperands(const Plan &plan) {
  size_t most = 0;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (const Location &at : Instructions(plan, "train", r)) most = std::max(most, At(plan, at)->n_inputs);
  return most;
}

// With x = 0 and t = 1, the gradient of every parameter is -2 in the first step.
TEST(ManyParameters, AreAllUpdated) {
  const double lr = 1e-5;
  const struct {
    std::string optimizer;
    std::string options;
    double w;  // after a step
  } cases[] = {{"sgd(lr=1e-5)", "strategy=data devices=2", 2 * lr},
               {"adam(lr=1e-5)", "devices=1", lr * 2 / (2 + 1e-8)}};
  for (const auto &c : cases) {
    SCOPED_TRACE(c.optimizer);
    RunOptions run;
    run.feed = [](const std::string &input, int64_t, int64_t) { return input == "t" ? 1.0 : 0.0; };
    const Plan plan = Compile(Sum(c.optimizer), "batch=4 precision=fp64 " + c.options);
    EXPECT_GT(MostOperands(plan), 1000u);
    Training training(plan, run);
    EXPECT_NEAR(training.Train(0, 4), 1, 1e-15);
    for (int i = 0; i < kParameters; i++) {
      const std::vector<double> w = training.Numbers("w" + std::to_string(i));
      ASSERT_EQ(w.size(), 1u);
      ASSERT_NEAR(w[0], c.w, 1e-18) << i;
    }
  }
}

}  // namespace
}  // namespace dp_test
