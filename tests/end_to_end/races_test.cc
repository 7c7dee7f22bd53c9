// Waits are needed: the checker refuses a plan that lacks one, and the null backend sees the race when it happens.
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

std::vector<Plan> WithoutEachWait(const Plan &plan, const std::string &program, std::vector<std::string> *names) {
  std::vector<Plan> damaged;
  for (const Location &location : Instructions(plan, program))
    for (size_t i = 0; i < At(plan, location)->n_waits; i++) {
      damaged.push_back(WithoutWait(plan, location, i));
      names->push_back(Describe(plan, location) + " wait " + std::to_string(i));
    }
  return damaged;
}

TEST(Races, TheCheckerNeedsEveryWait) {
  for (const char *text : {kMlp, kCnn, kSquares, kPlaces}) {
    Plan plan = Compile(text, "batch=8 strategy=data devices=2");
    for (const char *program : {"init", "train", "eval"}) {
      std::vector<std::string> names;
      std::vector<Plan> damaged = WithoutEachWait(plan, program, &names);
      for (size_t i = 0; i < damaged.size(); i++) EXPECT_EQ(Verify(damaged[i]).substr(0, 3), "65:") << names[i];
    }
  }
}

// A race shows only if both steps run at once, which is up to the scheduler. Among many plans with a race, some show
// it.
TEST(Races, TheNullBackendSeesSome) {
  Plan plan = Compile(kCnn, "batch=8 strategy=data devices=4");
  std::vector<std::string> names;
  std::vector<Plan> damaged = WithoutEachWait(plan, "train", &names);
  ASSERT_GE(damaged.size(), 10u);
  int seen = 0;
  for (int round = 0; round < 100 && seen < 3; round++)
    for (size_t i = 0; i < damaged.size() && seen < 3; i++)
      if (RunNull(damaged[i], 4, {8, 8, 5}).find("race") != std::string::npos) seen++;
  EXPECT_EQ(seen, 3);
}

}  // namespace
}  // namespace dp_test
