// Every communication of a plan is needed: with the checker off, a plan from which one of them is removed, or in which each
// device does it for itself alone, trains otherwise; with the checker on, no such plan is loaded.
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

const std::vector<int64_t> kBatches = {8, 5, 8};

// By more than rounding.
bool Differ(double a, double b) { return !(std::fabs(a - b) <= 1e-9 * std::fabs(b)); }

// A run without checks, number by number: losses of a few steps, then evaluations, enough of them that every device finds
// some digit right; the first of them over another count of labels than the step before it.
class Numbers {
 public:
  explicit Numbers(const Plan &plan) : plan_(plan), run_(plan, Unchecked()) {}
  static constexpr int kCount = 3 + 2 * 8;
  double Next() {
    size_t i = at_++;
    if (i < kBatches.size()) return run_.Train(static_cast<int64_t>(8 * i), kBatches[i]);
    i -= kBatches.size();
    return i % 2 ? run_.Correct() : run_.Evaluate(static_cast<int64_t>(100 + 8 * i), i ? 8 : 7);
  }
  // What the devices hold at the end: the same on all, and the values.
  std::vector<double> State() const {
    std::vector<double> state = {run_.Replicas().empty() ? 1.0 : 0.0};
    for (size_t i = 0; i < plan_->n_variables; i++)
      for (double number : run_.Numbers(plan_->variables[i]->name)) state.push_back(number);
    return state;
  }

 private:
  static RunOptions Unchecked() {
    RunOptions options;
    options.unchecked = true;
    return options;
  }
  Plan plan_;
  Training run_;
  size_t at_ = 0;
};

struct Outcome {
  std::vector<double> numbers, state;
};

// Ends with the first number that differs. A step may also refuse what it finds, as labels that never came. Parameters that
// are wrong on devices that do not use that part of them show only in the state.
bool TrainsOtherwise(const Plan &damaged, const Outcome &whole) {
  Numbers numbers(damaged);
  try {
    for (double expected : whole.numbers)
      if (Differ(numbers.Next(), expected)) return true;
  } catch (const std::runtime_error &) {
    return true;
  }
  std::vector<double> state = numbers.State();
  for (size_t i = 0; i < state.size(); i++)
    if (Differ(state[i], whole.state[i])) return true;
  return false;
}

bool MeetsPeers(const Plan &plan, const Place &place) {
  const Dp__Instruction *in = At(plan, place);
  return in->communication->n_axes && strcmp(in->op, "Slice");
}

// Damages every communication of every program in turn. Returns how many there were.
int EachIsNeeded(const Plan &plan) {
  Numbers numbers(plan);
  Outcome whole;
  for (int i = 0; i < Numbers::kCount; i++) whole.numbers.push_back(numbers.Next());
  whole.state = numbers.State();
  EXPECT_EQ(whole.state[0], 1) << "replicas differ";
  int count = 0;
  for (const char *program : {"init", "train", "eval"})
    for (const Place &place : Communications(plan, program)) {
      SCOPED_TRACE(Describe(plan, place));
      std::vector<Plan> damages = {WithoutInstruction(plan, place)};
      if (MeetsPeers(plan, place)) damages.push_back(WithDevicesAlone(plan, place));
      for (size_t k = 0; k < damages.size(); k++) {
        SCOPED_TRACE(k ? "devices alone" : "removed");
        EXPECT_TRUE(TrainsOtherwise(damages[k], whole));
        EXPECT_EQ(TryLoad(damages[k]).substr(0, 3), "65:");
      }
      count++;
    }
  return count;
}

TEST(Collectives, DigitsOnTwoDevices) {
  Plan plan = Compile(ReadText("examples/digits_cnn.dpt"), "batch=8 strategy=data devices=2 precision=fp64");
  EXPECT_GE(EachIsNeeded(plan), 20);
}

TEST(Collectives, DigitsOnFourDevices) {
  Plan plan = Compile(ReadText("examples/digits_cnn.dpt"), "batch=8 strategy=data devices=4 precision=fp64");
  EXPECT_GE(EachIsNeeded(plan), 20);
}

// A weight split over an axis of its own: gathers and reductions of activations on that axis, too.
TEST(Collectives, AMeshOfDataAndTensor) {
  std::string text = ReadText("examples/mlp.dpt");
  for (const char *weight :
       {"hidden.weight: float32[64,64] = kaiming_uniform()", "output.weight: float32[10,64] = kaiming_uniform()"}) {
    ASSERT_NE(text.find(weight), std::string::npos);
    std::string split = text;
    split.insert(split.find(weight) + strlen(weight), " shard(tensor=0)");
    EXPECT_GE(EachIsNeeded(Compile(split, "batch=8 strategy=data mesh=data:2,tensor:2 precision=fp64")), 8);
  }
}

TEST(Collectives, SmallNetworks) {
  for (const char *text : {kMlp, kCnn, kSquares, kPlaces})
    EXPECT_GE(EachIsNeeded(Compile(text, "batch=8 strategy=data devices=3 precision=fp64")), 5);
}

// Clipping by the norm of all gradients has a collective of its own.
TEST(Collectives, Clipping) {
  const std::string options = "batch=8 strategy=data devices=3 precision=fp64 optimizer=adam(lr=0.01,clip_norm=0.5)";
  EXPECT_GE(EachIsNeeded(Compile(kMlp, options)), 8);
}

}  // namespace
}  // namespace dp_test
