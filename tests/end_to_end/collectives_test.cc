// Every communication of a plan is needed. With the checker off, a plan trains differently if one communication is
// removed, or if each device carries it out alone; where it only says that a step is to be skipped, such a step changes
// something. With the checker on, such a plan is not loaded.
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

const std::vector<int64_t> kBatches = {8, 5, 8};

enum { kWrong = 7 };  // the sample of the batch whose label is no class, in a step that must be skipped

// A difference beyond rounding.
bool Differ(double a, double b) { return !(std::fabs(a - b) <= 1e-9 * std::fabs(b)); }

// The numbers of a run without checks: losses of a few steps, then evaluations, enough for every device to classify
// some digit correctly. The first evaluation has a different number of labels than the step before it.
class Numbers {
 public:
  explicit Numbers(const Plan &plan) : plan_(plan), run_(plan, Unchecked(&wrong_)) {}
  static constexpr int kCount = 3 + 2 * 8;
  double Next() {
    size_t i = at_++;
    if (i < kBatches.size()) return run_.Train(static_cast<int64_t>(8 * i), kBatches[i]);
    i -= kBatches.size();
    return i % 2 ? run_.Correct() : run_.Evaluate(static_cast<int64_t>(100 + 8 * i), i ? 8 : 7);
  }
  // The final variables: equal on all devices, and their values. A last step, with a wrong label, must be skipped.
  std::vector<double> State() {
    wrong_ = true;
    const bool refuses = !run_.TryProgram("train", 0, 8).empty();
    wrong_ = false;
    std::vector<double> state = {run_.Replicas().empty() ? 1.0 : 0.0, refuses ? 1.0 : 0.0};
    for (size_t i = 0; i < plan_->n_variables; i++)
      for (double number : run_.Numbers(plan_->variables[i]->name)) state.push_back(number);
    return state;
  }

 private:
  static RunOptions Unchecked(const bool *wrong) {
    RunOptions options;
    options.unchecked = true;
    options.feed = [wrong, digits = Digits()](const std::string &input, int64_t sample, int64_t element) {
      return *wrong && input == "label" && sample == kWrong ? 10 : digits(input, sample, element);
    };
    return options;
  }
  bool wrong_ = false;
  Plan plan_;
  Training run_;
  size_t at_ = 0;
};

struct Outcome {
  std::vector<double> numbers, state;
};

// Stops at the first number that differs. A step may also refuse what it finds, such as labels that never arrived.
// Wrong parameters on devices that do not use that part show only in the final state.
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

bool MeetsPeers(const Plan &plan, const Location &location) {
  const Dp__Instruction *in = At(plan, location);
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
    for (const Location &location : Communications(plan, program)) {
      SCOPED_TRACE(Describe(plan, location));
      std::vector<Plan> damages = {WithoutInstruction(plan, location)};
      if (MeetsPeers(plan, location)) damages.push_back(WithDevicesAlone(plan, location));
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

// A weight split over its own axis, so that activations are gathered and reduced along it too.
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

// Clipping by the norm of all gradients has its own collective.
TEST(Collectives, Clipping) {
  const std::string options = "batch=8 strategy=data devices=3 precision=fp64 optimizer=adam(lr=0.01,clip_norm=0.5)";
  EXPECT_GE(EachIsNeeded(Compile(kMlp, options)), 8);
}

}  // namespace
}  // namespace dp_test
