// The samples of every device and micro-batch count: NaN in any sample makes the loss and all parameters NaN, and
// another sample in its place changes the loss.
#include <cmath>
#include <limits>

#include "ir/graph/placement.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// The digits, with different pixels in one sample.
Feed WithPixels(int64_t changed, double pixels) {
  return [changed, pixels, digits = Digits()](const std::string &input, int64_t sample, int64_t element) {
    return input == "x" && sample == changed ? pixels : digits(input, sample, element);
  };
}

Feed WithLabel(int64_t changed) {
  return [changed, digits = Digits()](const std::string &input, int64_t sample, int64_t element) {
    double number = digits(input, sample, element);
    return input == "label" && sample == changed ? std::fmod(number + 1, 10) : number;
  };
}

RunOptions With(const Feed &feed) {
  RunOptions options;
  options.feed = feed;
  return options;
}

// The first sample of device d's share of n samples.
int64_t FirstOf(int64_t d, int64_t devices, int64_t n) { return d * n / devices; }

TEST(Shards, NanInOneMakesAllNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char *text : {kMlp, kCnn, kPlaces})
    for (int64_t devices : {2, 3, 8}) {
      Plan plan = Compile(text, "batch=9 precision=fp64 strategy=data devices=" + std::to_string(devices));
      for (int64_t d = 0; d < devices; d++) {
        SCOPED_TRACE(std::to_string(d) + " of " + std::to_string(devices));
        Training run(plan, With(WithPixels(FirstOf(d, devices, 9), nan)));
        EXPECT_TRUE(std::isnan(run.Train(0, 9)));
        EXPECT_TRUE(std::isnan(run.Train(9, 9))) << "the update did not reach all parameters";
        EXPECT_TRUE(std::isnan(run.Evaluate(9, 9)));
      }
    }
}

// The same for every micro-batch and every stage, whichever sample it is.
TEST(Shards, NanInOneMicroBatchMakesAllNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char *text : {kMlp, kPlaces})
    for (const char *options : {"strategy=data devices=2 microbatches=3", "strategy=pipeline devices=3 microbatches=4",
                                "strategy=pipeline devices=2 microbatches=12 schedule=gpipe",
                                "strategy=zero zero-stage=3 mesh=data:2,pipe:2 microbatches=2"}) {
      Plan plan = Compile(text, std::string("batch=9 precision=fp64 ") + options);
      double loss = Training(plan).Train(0, 9);
      for (int64_t sample = 0; sample < 9; sample++) {
        SCOPED_TRACE(std::to_string(sample) + " " + options);
        Training run(plan, With(WithPixels(sample, nan)));
        EXPECT_TRUE(std::isnan(run.Train(0, 9)));
        EXPECT_TRUE(std::isnan(run.Train(9, 9))) << "the update did not reach all parameters";
        EXPECT_TRUE(std::isnan(run.Evaluate(9, 9)));
        EXPECT_GT(std::fabs(Training(plan, With(WithPixels(sample, 99))).Train(0, 9) - loss), 1e-9);
      }
    }
}

TEST(Shards, AnotherSampleChangesTheLoss) {
  for (const char *text : {kMlp, kCnn, kPlaces})
    for (int64_t devices : {2, 5, 8}) {
      Plan plan = Compile(text, "batch=9 precision=fp64 strategy=data devices=" + std::to_string(devices));
      double loss = Training(plan).Train(0, 9), evaluated = Training(plan).Evaluate(0, 9);
      for (int64_t sample = 0; sample < 9; sample++) {
        SCOPED_TRACE(std::to_string(sample) + " on " + std::to_string(devices) + " devices");
        EXPECT_GT(std::fabs(Training(plan, With(WithPixels(sample, 99))).Train(0, 9) - loss), 1e-9);
        EXPECT_GT(std::fabs(Training(plan, With(WithPixels(sample, 99))).Evaluate(0, 9) - evaluated), 1e-9);
        if (text == kPlaces) continue;
        EXPECT_GT(std::fabs(Training(plan, With(WithLabel(sample))).Train(0, 9) - loss), 1e-9);
      }
    }
}

// Samples that are not present do not count, whatever an earlier, fuller batch left in memory.
TEST(Shards, WhatIsNotPresentDoesNotCount) {
  for (const char *text : {kMlp, kCnn, kSquares}) {
    for (int devices : {1, 3, 8}) {
      Plan plan =
          Compile(text, "batch=9 precision=fp64 optimizer=sgd(lr=0) strategy=data devices=" + std::to_string(devices));
      double fresh = Training(plan).Evaluate(0, 2);
      Training run(plan);
      run.Evaluate(100, 9);
      run.Evaluate(100, 9);
      EXPECT_EQ(run.Evaluate(0, 2), fresh);
    }
  }
}

}  // namespace
}  // namespace dp_test
