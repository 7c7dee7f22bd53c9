// Runs the handwritten plan (tests/ir/verify/hand_plan.h): softmax regression with momentum on several devices.
// Compares it with the same training written out here, and runs it on the null backend, with and without a race.
#include "tests/ir/verify/hand_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/target.h"
#include "backends/null/backend.h"
#include "tests/runtime/runtime_helper.h"

namespace {

using namespace dp_test;

// scores = x w^T, mean cross entropy, m = 0.9 m + dw, w -= lr m; in double.
class Regression {
 public:
  double w[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}}, m[3][4] = {};

  double Step(const std::vector<float> &x, const std::vector<int64_t> &label, double lr) {
    size_t n = label.size();
    double loss = 0, dw[3][4] = {};
    for (size_t i = 0; i < n; i++) {
      double s[3] = {}, most = -1e300, total = 0;
      for (int c = 0; c < 3; c++) {
        for (int k = 0; k < 4; k++) s[c] += w[c][k] * x[i * 4 + k];
        most = std::max(most, s[c]);
      }
      for (double v : s) total += std::exp(v - most);
      loss += std::log(total) + most - s[label[i]];
      for (int c = 0; c < 3; c++)
        for (int k = 0; k < 4; k++)
          dw[c][k] += (std::exp(s[c] - most) / total - (c == label[i])) * x[i * 4 + k] / double(n);
    }
    for (int c = 0; c < 3; c++)
      for (int k = 0; k < 4; k++) {
        m[c][k] = 0.9 * m[c][k] + dw[c][k];
        w[c][k] -= lr * m[c][k];
      }
    return loss / double(n);
  }
};

const int kBatches[] = {8, 8, 5, 8, 1, 2, 7};

TEST(HandPlan, TrainsAsWrittenOut) {
  for (int64_t devices : {2, 3, 5, 8}) {
    SCOPED_TRACE(devices);
    HandPlan hand(devices);
    Session session(hand.plan);
    ASSERT_EQ(session.error, "");
    Regression regression;
    int step = 0;
    for (int n : kBatches) {
      std::vector<float> x = Samples(n * 4, step);
      std::vector<int64_t> label = Labels(n, 3, step);
      session.Feed("train", "x", x, step % 2);
      session.Feed("train", "label", label, step % 2);
      ASSERT_EQ(session.Run("train", n, step, 0.25, step % 2), "");
      double expected = regression.Step(x, label, 0.25);
      EXPECT_NEAR(session.Number("train", "loss"), expected, 1e-5 * std::fabs(expected) + 1e-5) << "step " << step;
      step++;
    }
    std::vector<float> w = session.Floats("w"), m = session.Floats("m");
    for (int i = 0; i < 12; i++) {
      EXPECT_NEAR(w[i], regression.w[i / 4][i % 4], 2e-5);
      EXPECT_NEAR(m[i], regression.m[i / 4][i % 4], 2e-5);
    }
  }
}

TEST(HandPlan, TheSameBitsWithAnyNumberOfWorkers) {
  std::vector<char> expected;
  for (int workers : {1, 2, 3, 7}) {
    HandPlan hand(3);
    dp_session_options options = {};
    options.workers = workers;
    Session session(hand.plan, options);
    ASSERT_EQ(session.error, "");
    for (int step = 0; step < 40; step++) {
      int n = kBatches[step % 7];
      session.Feed("train", "x", Samples(n * 4, step), step % 2);
      session.Feed("train", "label", Labels(n, 3, step), step % 2);
      ASSERT_EQ(session.Run("train", n, step, 0.1, step % 2), "");
    }
    std::vector<char> bits = session.Everything();
    double loss = session.Number("train", "loss");
    bits.insert(bits.end(), reinterpret_cast<char *>(&loss), reinterpret_cast<char *>(&loss + 1));
    if (expected.empty()) expected = bits;
    EXPECT_EQ(bits, expected) << workers << " workers";
  }
}

// A label that is not a class, on one device of three: the step fails with the reason, and the next one runs.
TEST(HandPlan, AKernelsFailureEndsTheStep) {
  for (int workers : {1, 4}) {
    HandPlan hand(3);
    dp_session_options options = {};
    options.workers = workers;
    Session session(hand.plan, options);
    ASSERT_EQ(session.error, "");
    std::vector<int64_t> label = Labels(8, 3, 0);
    label[6] = 12;
    session.Feed("train", "x", Samples(32, 0));
    session.Feed("train", "label", label);
    std::string message = session.Run("train", 8);
    EXPECT_EQ(message.substr(0, 4), "65: ");
    EXPECT_NE(message.find("SoftmaxCrossEntropyLoss"), std::string::npos) << message;
    EXPECT_NE(message.find("12"), std::string::npos) << message;
    session.Feed("eval", "x", Samples(32, 0));
    session.Feed("eval", "label", Labels(8, 3, 0));
    EXPECT_EQ(session.Run("eval", 8), "");
    EXPECT_TRUE(std::isfinite(session.Number("eval", "loss")));
  }
}

TEST(HandPlan, ACheckedSessionRefusesABrokenPlan) {
  HandPlan hand;
  hand.Step("train", "compute", 0)->n_waits = 0;
  Session session(hand.plan);
  EXPECT_EQ(session.error.substr(0, 4), "65: ");
  EXPECT_NE(session.error.find("rule"), std::string::npos) << session.error;
}

// ---- the null backend -----------------------------------------------------------------------------------------------

// Runs "train" until it fails, at most `runs` times.
std::string RunOnNull(const Dp__Plan *plan, int runs) {
  dp_backend null = dp_backend_null(&dp_target_cpu);
  dp_session_options options = {};
  options.workers = 4;
  options.unchecked = true;
  Session session(plan, options, &null);
  std::string failure = session.error;
  for (int i = 0; i < runs && failure.empty(); i++) failure = session.Run("train", 8, i);
  return failure;
}

TEST(NullBackend, SeesNoRaceInAGoodPlan) {
  for (int64_t devices : {2, 4}) EXPECT_EQ(RunOnNull(HandPlan(devices).plan, 30), "");
}

TEST(NullBackend, SeesARaceThatHappens) {
  HandPlan hand;
  hand.Step("train", "compute", 0)->n_waits = 0;  // the product of samples that are still being scattered
  std::string failure = RunOnNull(hand.plan, 2000);
  EXPECT_EQ(failure.substr(0, 4), "65: ");
  EXPECT_NE(failure.find("race"), std::string::npos) << failure;
}

}  // namespace
