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
}

}  // namespace
