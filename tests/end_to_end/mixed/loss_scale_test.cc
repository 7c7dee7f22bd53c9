// --precision=fp16: a step with a gradient that is not finite changes nothing but the scale, on all devices; the scale
// halves then, and doubles after 2,000 steps without one. The numbers are those of PyTorch's GradScaler.
#include <cmath>
#include <limits>

#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

enum { kBatch = 8 };

const char *const kStrategies[] = {
    "strategy=single",
    "strategy=single no-fuse=yes",
    "strategy=single microbatches=4",
    "strategy=data devices=2",
    "strategy=data devices=4",
    "strategy=data devices=2 comm-precision=bf16",
    "strategy=zero devices=2 zero-stage=1",
    "strategy=zero devices=3 zero-stage=2",
    "strategy=zero devices=2 zero-stage=2 microbatches=2",
    "strategy=zero devices=2 zero-stage=3",
    "strategy=tensor devices=2",
    "strategy=pipeline devices=2 microbatches=4",
    "strategy=pipeline mesh=data:2,pipe:2,tensor:2 microbatches=2",
};

// The digits; while `huge` is set, one pixel of one sample is.
struct Fed {
  int64_t sample = 0;
  double huge = 0;
};

Feed FeedOf(const Fed *fed) {
  return [fed, digits = Digits()](const std::string &input, int64_t sample, int64_t element) -> double {
    if (fed->huge != 0 && input == "x" && sample == fed->sample && element == 5) return fed->huge;
    return digits(input, sample, element);
  };
}

RunOptions OptionsOf(const Fed *fed) {
  RunOptions options;
  options.feed = FeedOf(fed);
  options.workers = 2;
  return options;
}

const char kScale[] = "dp.loss_scale", kSteps[] = "dp.loss_scale_steps";

Plan Half(const std::string &text, const std::string &strategy) {
  return Compile(text, "batch=8 precision=fp16 optimizer=adam(lr=0.01,clip_norm=1) " + strategy);
}

// What the step changed but scale and count, by name.
std::string Changed(const std::map<std::string, Bytes> &before, const std::map<std::string, Bytes> &after) {
  std::string changed;
  for (const auto &[name, bytes] : after)
    if (name != kScale && name != kSteps && bytes != before.at(name)) changed += name + " ";
  return changed;
}

TEST(LossScale, AStepThatOverflowsIsSkippedOnAllDevices) {
  for (const char *text : {kMlp, kCnn})
    for (const char *strategy : kStrategies) {
      if (text == kCnn && std::string(strategy).find("micro") != std::string::npos) continue;
      SCOPED_TRACE(std::string(strategy) + (text == kCnn ? " cnn" : " mlp"));
      Fed fed;
      Training run(Half(text, strategy), OptionsOf(&fed));
      EXPECT_TRUE(std::isfinite(run.Train(0, kBatch)));
      EXPECT_EQ(run.Numbers(kScale), std::vector<double>{65536});
      EXPECT_EQ(run.Numbers(kSteps), std::vector<double>{1});
      const std::map<std::string, Bytes> before = run.State();
      double scale = 65536;
      // Of devices and micro-batches, one has the sample.
      for (int64_t sample : {0, 7}) {
        fed = {sample, 1e30};
        run.Train(0, kBatch);
        fed.huge = 0;
        EXPECT_EQ(Changed(before, run.State()), "");
        EXPECT_EQ(run.Numbers(kScale), std::vector<double>{scale /= 2});
        EXPECT_EQ(run.Numbers(kSteps), std::vector<double>{0});
        EXPECT_EQ(run.Replicas(), "");
      }
      EXPECT_TRUE(std::isfinite(run.Train(0, kBatch)));
      EXPECT_NE(Changed(before, run.State()), "");
      EXPECT_EQ(run.Numbers(kScale), std::vector<double>{scale});
      EXPECT_EQ(run.Numbers(kSteps), std::vector<double>{1});
    }
}

// A gradient may be too large only because of the scale.
TEST(LossScale, AScaleThatIsTooLargeComesDown) {
  Fed fed;
  Training run(Half(kMlp, "strategy=data devices=2"), OptionsOf(&fed));
  run.SetNumbers(kScale, {0x1p30});
  const std::map<std::string, Bytes> before = run.State();
  int skipped = 0;
  while (Changed(before, run.State()).empty() && skipped < 40) {
    EXPECT_TRUE(std::isfinite(run.Train(0, kBatch)));
    skipped++;
  }
  skipped--;  // the last was a step
  EXPECT_GT(skipped, 3);
  EXPECT_LT(skipped, 30);
  EXPECT_EQ(run.Numbers(kScale), std::vector<double>{std::ldexp(1, 30 - skipped)});
}

TEST(LossScale, GrowsAfterTheInterval) {
  Fed fed;
  for (const char *strategy : kStrategies) {
    SCOPED_TRACE(strategy);
    Training run(Half(kMlp, strategy), OptionsOf(&fed));
    run.SetNumbers(kSteps, {1998});
    run.Train(0, kBatch);
    EXPECT_EQ(run.Numbers(kScale), std::vector<double>{65536});
    EXPECT_EQ(run.Numbers(kSteps), std::vector<double>{1999});
    run.Train(kBatch, kBatch);
    EXPECT_EQ(run.Numbers(kScale), std::vector<double>{131072});
    EXPECT_EQ(run.Numbers(kSteps), std::vector<double>{0});
    // Not to infinity.
    run.SetNumbers(kSteps, {1999});
    run.SetNumbers(kScale, {0x1p127});
    fed.huge = 0;
    run.Train(0, kBatch);
    EXPECT_EQ(run.Numbers(kScale), std::vector<double>{0x1p126});  // it was too large
    // Nor to where its inverse is infinite.
    run.SetNumbers(kScale, {0x1p-126});
    fed = {0, 1e30};
    run.Train(0, kBatch);
    fed.huge = 0;
    EXPECT_EQ(run.Numbers(kScale), std::vector<double>{0x1p-126});
  }
}

// The scale cancels: with any that is neither too large nor too small, the same steps.
TEST(LossScale, LeavesLossAndGradientsAsTheyAre) {
  Fed fed;
  const Plan plan = Half(kMlp, "strategy=data devices=2");
  Training one(plan, OptionsOf(&fed)), other(plan, OptionsOf(&fed));
  other.SetNumbers(kScale, {16384});
  for (int64_t step = 0; step < 5; step++)
    EXPECT_NEAR(one.Train(step * kBatch, kBatch), other.Train(step * kBatch, kBatch), 1e-4);
}

// Data that is refused leaves even the scale as it was.
TEST(LossScale, RefusedDataChangesNothing) {
  for (const char *strategy : kStrategies) {
    SCOPED_TRACE(strategy);
    bool wrong = false;
    RunOptions options;
    options.feed = [&wrong, digits = Digits()](const std::string &input, int64_t sample, int64_t element) -> double {
      return wrong && input == "label" && sample == 3 ? 99 : digits(input, sample, element);
    };
    Training run(Half(kMlp, strategy), options);
    run.Train(0, kBatch);
    const std::map<std::string, Bytes> before = run.State();
    wrong = true;
    EXPECT_EQ(run.TryProgram("train", 0, kBatch).substr(0, 3), "65:");
    EXPECT_EQ(run.State(), before);
  }
}

// All strategies take the same steps, up to the rounding of sums in another order.
TEST(LossScale, IsTheSameOnAnyDevices) {
  Fed fed;
  const std::vector<int64_t> batches(6, kBatch);
  Training single(Half(kMlp, "strategy=single"), OptionsOf(&fed));
  const std::vector<double> expected = single.TrainAll(batches);
  for (const char *strategy : kStrategies) {
    SCOPED_TRACE(strategy);
    Training run(Half(kMlp, strategy), OptionsOf(&fed));
    ExpectClose(run.TrainAll(batches), expected, 5e-3);
    EXPECT_EQ(run.Numbers(kSteps), single.Numbers(kSteps));
  }
}

}  // namespace
}  // namespace dp_test
