// The figures of ir/plan/report/stages.h for a plan's stages, compared with numbers worked out by hand.
#include "ir/plan/report/stages.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "passes/pipeline.h"
#include "tests/passes/passes_helper.h"

namespace dp_test {
namespace {

// Layers of 8 x 8 with two nodes each; samples of 8.
std::string Perceptron(int layers) {
  std::string text =
      "model m {\n  loss \"mse(y,t)\"\n  optimizer \"sgd(lr=0.1,momentum=0.9)\"\n  input x: float32[N,8]\n";
  std::string from = "x";
  for (int i = 0; i < layers; i++) {
    std::string k = std::to_string(i), to = i + 1 < layers ? "a" + k : "y";
    text += "  parameter w" + k + ": float32[8,8] = kaiming_uniform()\n";
    text += "  h" + k + " = MatMul(" + from + ", w" + k + ")\n  " + to + " = Tanh(h" + k + ")\n";
    from = to;
  }
  return text + "  output y\n}\n";
}

class Stages : public testing::Test {
 protected:
  dp_plan_stages Measure(const std::string &text, const std::string &words, const char *program = "train") {
    dp_model *model = nullptr;
    EXPECT_EQ(Parse(arena_, text, &model), "");
    options_.emplace_back();
    options_.back().Set(words);
    EXPECT_EQ(Message(dp_pipeline_run(model, &options_.back().options, &plan_)), "") << words;
    dp_plan_stages stages{};
    EXPECT_TRUE(plan_ && dp_plan_stages_measure(arena_, plan_, program, &stages));
    return stages;
  }

  Arena arena_;
  std::list<Options> options_;
  Dp__Plan *plan_ = nullptr;
};

// The share of idle time is (p - 1) / (m + p - 1) under both schedules. Under 1F1B, stage s has at most p - s
// unfinished micro-batches; under GPipe, all of them.
TEST_F(Stages, WaitAsTheFormulaSays) {
  const std::string text = Perceptron(8);
  for (int p : {2, 3, 8})
    for (int m : {2, 5, 8})
      for (const char *schedule : {"1f1b", "gpipe"}) {
        const bool all_forward_first = !strcmp(schedule, "gpipe");
        SCOPED_TRACE(std::string(schedule) + " " + std::to_string(p) + " stages, micro-batches " + std::to_string(m));
        dp_plan_stages s = Measure(text, "batch=26 strategy=pipeline devices=" + std::to_string(p) +
                                             " microbatches=" + std::to_string(m) + " schedule=" + schedule);
        ASSERT_EQ(s.n_stages, p);
        EXPECT_EQ(s.microbatches, m);
        EXPECT_NEAR(s.idle, double(p - 1) / (m + p - 1), 1e-12);
        EXPECT_NEAR(s.formula, double(p - 1) / (m + p - 1), 1e-12);
        for (int i = 0; i < p; i++) {
          EXPECT_EQ(s.stages[i].in_flight, i == p - 1 ? 1 : all_forward_first ? m : std::min(m, p - i)) << i;
          EXPECT_NEAR(s.stages[i].busy, double(m) / (m + p - 1), 1e-12) << i;
        }
      }
}

// With other axes too, whose collectives lie between the steps of a task.
TEST_F(Stages, WaitAsTheFormulaSaysWithOtherAxes) {
  const std::string text = Perceptron(8);
  for (const char *how : {"mesh=data:2,pipe:4 microbatches=6", "mesh=pipe:4,tensor:2 microbatches=6",
                          "strategy=zero zero-stage=3 mesh=data:2,pipe:4 microbatches=6",
                          "strategy=zero zero-stage=2 mesh=pipe:4,data:2 microbatches=6 schedule=gpipe",
                          "strategy=zero zero-stage=3 mesh=data:2,pipe:4,tensor:2 microbatches=6"}) {
    SCOPED_TRACE(how);
    dp_plan_stages s = Measure(text, std::string("batch=24 ") + how);
    EXPECT_NEAR(s.idle, 1.0 / 3, 1e-12);
    for (int i = 0; i < 4; i++) EXPECT_LE(s.stages[i].in_flight, strstr(how, "gpipe") ? 6 : 4 - i);
  }
}

// Two stages of one layer each: 256 bytes of weights and 256 of momentum. 20 samples of 8 float32 values go one way and
// their gradients come back, 640 bytes each. The largest of three micro-batches has 7 samples, and each micro-batch
// counts as 7.
TEST_F(Stages, HoldAndMoveWhatHandsWorkOut) {
  std::string text = Perceptron(2);
  const char *const nodes[] = {"MatMul(x, w0)", "Tanh(h0)", "MatMul(a0, w1)", "Tanh(h1)"};
  for (int i = 0; i < 4; i++) text.insert(text.find(nodes[i]) + strlen(nodes[i]), i < 2 ? " [stage=0]" : " [stage=1]");
  const std::pair<int, uint64_t> bytes[] = {{1, 640}, {3, 3 * 7 * 32}, {4, 640}};
  for (auto [m, moved] : bytes) {
    dp_plan_stages s = Measure(text, "batch=20 strategy=manual microbatches=" + std::to_string(m));
    ASSERT_EQ(s.n_stages, 2);
    EXPECT_EQ(s.idle >= 0, m > 1);
    for (int i = 0; i < 2; i++) {
      EXPECT_EQ(s.stages[i].parameters, 256u) << m;
      EXPECT_EQ(s.stages[i].state, 256u) << m;
      EXPECT_EQ(s.stages[i].collectives, 0) << m;
      EXPECT_EQ(s.stages[i].sent, moved) << m;
      EXPECT_EQ(s.stages[i].received, moved) << m;
    }
  }
}

// Micro-batches without stages: one stage that never waits.
TEST_F(Stages, OneStageIsNeverIdle) {
  dp_plan_stages s = Measure(Perceptron(2), "batch=20 microbatches=4");
  ASSERT_EQ(s.n_stages, 1);
  EXPECT_EQ(s.microbatches, 4);
  EXPECT_NEAR(s.idle, 0, 1e-12);
  EXPECT_EQ(s.stages[0].in_flight, 1);
}

}  // namespace
}  // namespace dp_test
