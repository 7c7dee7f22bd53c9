// Learning rates computed by hand, and the limits of the formulas. optimizers_test compares with PyTorch's schedulers.
#include "runtime/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

Dp__Schedule Make(const char *kind) {
  Dp__Schedule s = DP__SCHEDULE__INIT;
  s.kind = const_cast<char *>(kind);
  s.lr = 0.5;
  return s;
}

TEST(Schedule, NoneGivesNothing) {
  EXPECT_EQ(dp_learning_rate(nullptr, 3), 0);
  Dp__Schedule s = Make("");
  EXPECT_EQ(dp_learning_rate(&s, 3), 0);
}

TEST(Schedule, WarmUpEndsWithAllOfTheRate) {
  Dp__Schedule s = Make("constant");
  s.warmup = 4;
  const double expected[] = {0.125, 0.25, 0.375, 0.5, 0.5, 0.5};
  for (int step = 0; step < 6; step++) EXPECT_EQ(dp_learning_rate(&s, step), expected[step]) << step;
  EXPECT_EQ(dp_learning_rate(&s, INT64_MAX), 0.5);
}

TEST(Schedule, StepsCountFromTheEndOfTheWarmUpDownToTheLeast) {
  Dp__Schedule s = Make("step");
  s.warmup = 1;
  s.step_size = 2;
  s.gamma = 0.5;
  s.min_lr = 0.1;
  const double expected[] = {0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.1, 0.1};
  for (int step = 0; step < 9; step++) EXPECT_DOUBLE_EQ(dp_learning_rate(&s, step), expected[step]) << step;
  EXPECT_EQ(dp_learning_rate(&s, INT64_MAX), 0.1);
}

TEST(Schedule, CosineEndsAtTheLeastAndStaysThere) {
  Dp__Schedule s = Make("cosine");
  s.warmup = 2;
  s.total = 6;
  s.min_lr = 0.1;
  const double half = std::sqrt(0.5), expected[] = {0.25, 0.5, 0.5, 0.3 + 0.2 * half, 0.3, 0.3 - 0.2 * half, 0.1, 0.1};
  for (int step = 0; step < 8; step++) EXPECT_NEAR(dp_learning_rate(&s, step), expected[step], 1e-15) << step;
  EXPECT_EQ(dp_learning_rate(&s, INT64_MAX), 0.1);
}

TEST(Schedule, MilestonesCountFromTheEndOfTheWarmUp) {
  uint64_t milestones[] = {1, 3};
  Dp__Schedule s = Make("multistep");
  s.warmup = 1;
  s.gamma = 0.5;
  s.n_milestones = 2;
  s.milestones = milestones;
  const double expected[] = {0.5, 0.5, 0.25, 0.25, 0.125, 0.125};
  for (int step = 0; step < 6; step++) EXPECT_EQ(dp_learning_rate(&s, step), expected[step]) << step;
}

TEST(Schedule, LinesEndAtTheTotalAndStayThere) {
  Dp__Schedule s = Make("linear");
  s.start_factor = 0.2;
  s.end_factor = 1;
  s.total = 4;
  const double linear[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.5};
  for (int step = 0; step < 6; step++) EXPECT_DOUBLE_EQ(dp_learning_rate(&s, step), linear[step]) << step;
  s.kind = const_cast<char *>("polynomial");
  s.power = 2;
  const double polynomial[] = {0.5, 0.28125, 0.125, 0.03125, 0, 0};
  for (int step = 0; step < 6; step++) EXPECT_DOUBLE_EQ(dp_learning_rate(&s, step), polynomial[step]) << step;
  s.kind = const_cast<char *>("wsd");
  s.decay = 2;
  s.min_lr = 0.1;
  const double stable[] = {0.5, 0.5, 0.5, 0.3, 0.1, 0.1};
  for (int step = 0; step < 6; step++) EXPECT_DOUBLE_EQ(dp_learning_rate(&s, step), stable[step]) << step;
}

TEST(Schedule, OneCycleRisesFallsAndStaysAtItsEnd) {
  Dp__Schedule s = Make("one_cycle");
  s.total = 7;
  s.pct_start = 3.0 / 7;
  s.div_factor = 5;
  s.final_div_factor = 10;
  const double half = std::sqrt(0.5),
               expected[] = {0.1, 0.3, 0.5, 0.255 + 0.245 * half, 0.255, 0.255 - 0.245 * half, 0.01, 0.01};
  for (int step = 0; step < 8; step++) EXPECT_NEAR(dp_learning_rate(&s, step), expected[step], 1e-15) << step;
  EXPECT_DOUBLE_EQ(dp_learning_rate(&s, INT64_MAX), 0.01);
}

TEST(Schedule, RestartsComeEachPeriodWhichGrows) {
  Dp__Schedule s = Make("warm_restarts");
  s.period = 2;
  s.period_factor = 2;
  const double half = std::sqrt(0.5), expected[] = {0.5, 0.25, 0.5, 0.25 + 0.25 * half, 0.25, 0.25 - 0.25 * half, 0.5};
  for (int step = 0; step < 7; step++) EXPECT_NEAR(dp_learning_rate(&s, step), expected[step], 1e-15) << step;
  s.period_factor = 1;
  for (int step = 0; step < 6; step++) EXPECT_NEAR(dp_learning_rate(&s, step), step % 2 ? 0.25 : 0.5, 1e-15) << step;
}

// Rates that dpc would not write.
TEST(Schedule, NothingIsDividedByNothing) {
  Dp__Schedule s = Make("cosine");
  s.warmup = UINT64_MAX;
  EXPECT_TRUE(std::isfinite(dp_learning_rate(&s, INT64_MAX)));
  s.warmup = 0;
  EXPECT_EQ(dp_learning_rate(&s, 0), 0);
  s.kind = const_cast<char *>("step");
  EXPECT_EQ(dp_learning_rate(&s, 5), 0.5);
  EXPECT_EQ(dp_learning_rate(&s, -5), 0.5);
  for (const char *kind : {"linear", "polynomial", "wsd", "warm_restarts", "multistep", "exponential"}) {
    s = Make(kind);
    EXPECT_TRUE(std::isfinite(dp_learning_rate(&s, 0))) << kind;
    EXPECT_TRUE(std::isfinite(dp_learning_rate(&s, INT64_MAX))) << kind;
  }
  s = Make("warm_restarts");
  s.period = 1;
  for (uint64_t factor : {uint64_t(0), uint64_t(2), UINT64_MAX}) {
    s.period_factor = factor;
    EXPECT_TRUE(std::isfinite(dp_learning_rate(&s, INT64_MAX)));
  }
}

}  // namespace
