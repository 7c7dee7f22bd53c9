// Inputs that are uploaded ahead, on the CPU: a run's uploads beside the run before, by workers and by the null
// backend, which finds a plan in which the two share bytes.
#include <cstring>

#include "ir/verify/verify.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"
#include "tests/ir/text/text_helper.h"

namespace dp_test {
namespace {

const std::vector<int64_t> kBatches = {6, 6, 5, 6, 2, 1, 6};

const char *const kStrategies[] = {
    "devices=1",
    "strategy=data devices=3",
    "strategy=zero zero-stage=3 devices=2",
    "mesh=data:2,pipe:2 strategy=pipeline microbatches=3",
};

Plan Make(const std::string &model, const std::string &strategy, bool uploads) {
  return Compile(model, "batch=6 precision=fp64 " + strategy + (uploads ? " uploads=yes" : ""));
}

TEST(Uploads, ChangeNoBit) {
  for (const char *model : {kMlp, kCnn})
    for (const char *strategy : kStrategies)
      for (int workers : {1, 3}) {
        SCOPED_TRACE(std::string(strategy) + " " + std::to_string(workers));
        RunOptions options;
        options.workers = workers;
        Training plain(Make(model, strategy, false), options), ahead(Make(model, strategy, true), options);
        EXPECT_EQ(ahead.TrainAhead(kBatches), plain.TrainAll(kBatches));
        EXPECT_EQ(ahead.Evaluate(0, 5), plain.Evaluate(0, 5));
        EXPECT_EQ(ahead.TrainAhead({1}), plain.TrainAll({1}));
        EXPECT_EQ(ahead.Infer(3, 4), plain.Infer(3, 4));
        EXPECT_EQ(ahead.State(), plain.State());
      }
}

TEST(Uploads, TakeTwoCopies) {
  const Plan plan = Make(kMlp, "strategy=data devices=3", true);
  Training training(plan);
  uint64_t inputs = 0, outputs = 0;
  for (size_t i = 0; i < plan->roles[0]->n_arenas; i++) {
    const Dp__Arena *arena = plan->roles[0]->arenas[i];
    if (arena->space == DP__SPACE__DEVICE_INPUT) inputs = arena->bytes;
    if (arena->space == DP__SPACE__HOST_OUTPUT) outputs = arena->bytes;
  }
  EXPECT_GT(inputs, 0u);
  EXPECT_EQ(training.Allocated(DP__SPACE__DEVICE_INPUT), 3 * 2 * inputs);
  EXPECT_EQ(training.Allocated(DP__SPACE__HOST_OUTPUT), 2 * outputs);
}

TEST(Uploads, NullBackendFindsNoRace) {
  for (const char *strategy : kStrategies)
    for (int workers : {2, 4}) EXPECT_EQ(RunNull(Make(kMlp, strategy, true), workers, kBatches), "") << strategy;
}

// An upload to bytes that the run before uses: nothing in the program's own order shows it.
TEST(Uploads, NullBackendFindsSharedBytes) {
  const Plan plan = Make(kMlp, "strategy=data devices=3", true);
  uint64_t transient = 0;
  for (size_t i = 0; i < plan->roles[0]->n_arenas; i++)
    if (plan->roles[0]->arenas[i]->space == DP__SPACE__TRANSIENT) {
      transient = plan->roles[0]->arenas[i]->bytes;
      plan->roles[0]->arenas[i]->bytes += 1 << 16;
    }
  for (size_t p = 0; p < plan->roles[0]->n_programs; p++) {
    uint64_t at = transient;
    for (size_t t = 0; t < plan->roles[0]->programs[p]->n_tensors; t++) {
      Dp__DeviceTensor *tensor = plan->roles[0]->programs[p]->tensors[t];
      if (tensor->space != DP__SPACE__DEVICE_INPUT) continue;
      tensor->space = DP__SPACE__TRANSIENT;
      tensor->offset = at;
      at += (tensor->bytes + 63) / 64 * 64;
    }
  }
  EXPECT_NE(Message(dp_verify_plan(plan.get(), nullptr)).find("ORDER.AHEAD"), std::string::npos);
  std::string found;
  for (int tries = 0; tries < 20 && found.empty(); tries++) found = RunNull(plan, 4, std::vector<int64_t>(20, 6));
  EXPECT_NE(found.find("the plan has a race"), std::string::npos) << found;
}

// Neither it nor the step after it, which has been begun, changes anything.
TEST(Uploads, WrongDataIsOfItsStep) {
  for (int64_t wrong : {0, 1, 3}) {
    RunOptions options;
    options.workers = 2;
    const Feed digits = Digits();
    options.feed = [&](const std::string &input, int64_t sample, int64_t element) {
      return input == "label" && sample == wrong * 6 + 2 ? 11.0 : digits(input, sample, element);
    };
    Training training(Make(kMlp, "strategy=data devices=3", true), options);
    std::vector<double> losses;
    const std::string failure = training.TryAhead({6, 6, 6, 6}, &losses);
    EXPECT_EQ(failure.substr(0, 6), std::to_string(wrong) + ": 65:") << failure;
    EXPECT_EQ(losses.size(), static_cast<size_t>(wrong));
    Training before(Make(kMlp, "strategy=data devices=3", true), options);
    before.TrainAll(std::vector<int64_t>(static_cast<size_t>(wrong), 6));
    EXPECT_EQ(training.State(), before.State());
  }
}

}  // namespace
}  // namespace dp_test
