// Each wait of a plan is removed in turn, past the checker, and the rest trained on the driver's stand-in, where
// streams run as late or as early as events allow. If steps that touch the same bytes are no longer ordered, results
// change or a fault is reported under some seed. Other waits are told from the plan alone: the rest imply them, or
// they only pace. Those that keep steps apart from a library's scratch alone show only if the library uses that much,
// and are left out. The checker refuses a plan without a needed wait; of the others it refuses some.
//
// One needed wait in 31 is removed; with DP_FULL one in five, since some take a thousand orders to be noticed.
#include <cstdlib>
#include <cstring>

#include "tests/cuda/steer.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

const struct {
  const char *name, *text, *options;
} kPlans[] = {
    {"One", kCnn, ""},
    {"Data", kMlp, "strategy=data devices=2"},
    {"DataOnEight", kPlaces, "strategy=data devices=8"},
    {"ZeroOne", kSquares, "strategy=zero zero-stage=1 devices=2"},
    {"ZeroTwo", kCnn, "strategy=zero zero-stage=2 devices=4"},
    {"ZeroThree", kMlp, "strategy=zero zero-stage=3 devices=4"},
    {"Tensor", kBlock, "strategy=tensor devices=2"},
    {"Pipeline", kMlp, "strategy=pipeline devices=2 microbatches=2"},
    {"PipelineGpipe", kPlaces, "strategy=pipeline devices=4 microbatches=4 schedule=gpipe"},
    {"DataAndTensor", kMlp, "mesh=data:2,tensor:2 strategy=tensor"},
    {"DataAndPipeline", kMlp, "mesh=data:2,pipe:2 strategy=pipeline microbatches=2"},
};

struct Wait {
  Location at;
  size_t number;  // of the instruction's waits
};

// ---- what is ordered ------------------------------------------------------------------------------------------------

// Steps of a program in all roles, and which of them come before which. A Send and its Recv are one step.
class Order {
 public:
  Order(const Plan &plan, size_t program) : plan_(plan), program_(program) {
    std::map<uint32_t, size_t> channels;
    for (size_t r = 0; r < plan->n_roles; r++) {
      const Dp__Program *p = plan->roles[r]->programs[program];
      for (size_t s = 0; s < p->n_streams; s++)
        for (size_t i = 0; i < p->streams[s]->n_instructions; i++) {
          const Dp__Instruction *in = p->streams[s]->instructions[i];
          size_t step = n_;
          if (!strcmp(in->op, "Send") || !strcmp(in->op, "Recv"))
            step = channels.emplace(in->communication->channel, n_).first->second;
          if (step == n_) n_++;
          steps_[{r, s, i}] = step;
        }
    }
  }

  // before[x][y]: x comes before y. `without`: as if that wait were not there.
  std::vector<std::vector<bool>> Before(const Wait *without) const {
    std::vector<std::vector<size_t>> after(n_);
    for (const auto &[key, step] : steps_) {
      const auto [r, s, i] = key;
      const Dp__Program *p = plan_->roles[r]->programs[program_];
      const Dp__Instruction *in = p->streams[s]->instructions[i];
      if (i) after[steps_.at({r, s, i - 1})].push_back(step);
      for (size_t w = 0; w < in->n_waits; w++) {
        const bool gone = without && without->at.role == r && without->at.stream == s && without->at.instruction == i &&
                          without->number == w;
        if (!gone) after[Signaller(r, in->waits[w])].push_back(step);
      }
    }
    std::vector<std::vector<bool>> before(n_, std::vector<bool>(n_));
    for (size_t x = 0; x < n_; x++) {
      std::vector<size_t> left = after[x];
      while (!left.empty()) {
        const size_t y = left.back();
        left.pop_back();
        if (before[x][y]) continue;
        before[x][y] = true;
        left.insert(left.end(), after[y].begin(), after[y].end());
      }
    }
    return before;
  }

  struct Conflict {
    size_t x, y;
    bool spare;  // on scratch of a library's kernel: a bound, of which the library may use less
  };

  // Pairs of steps that touch the same bytes, one of them writing.
  std::vector<Conflict> Conflicts() const {
    std::vector<Access> all;
    for (const auto &[key, step] : steps_) Add(std::get<0>(key), std::get<1>(key), std::get<2>(key), step, &all);
    std::vector<Conflict> conflicts;
    for (const Access &a : all)
      for (const Access &b : all)
        if (a.step != b.step && a.memory == b.memory && a.writes && a.begin < b.end && b.begin < a.end) {
          conflicts.push_back({a.step, b.step, a.spare || b.spare});
          conflicts.push_back({b.step, a.step, a.spare || b.spare});
        }
    return conflicts;
  }

  size_t Step(const Location &at) const { return steps_.at({at.role, at.stream, at.instruction}); }

  size_t Signaller(size_t role, uint32_t event) const {
    const Dp__Program *p = plan_->roles[role]->programs[program_];
    for (size_t s = 0; s < p->n_streams; s++)
      for (size_t i = 0; i < p->streams[s]->n_instructions; i++)
        if (p->streams[s]->instructions[i]->signal == event + 1) return steps_.at({role, s, i});
    throw std::runtime_error("an event is not signalled");
  }

 private:
  struct Access {
    size_t step;
    std::pair<int, size_t> memory;  // kind, role; the host's is that of all roles
    uint64_t begin, end;
    bool writes, spare;
  };

  void Add(size_t r, size_t s, size_t i, size_t step, std::vector<Access> *all) const {
    const Dp__Program *p = plan_->roles[r]->programs[program_];
    const Dp__Instruction *in = p->streams[s]->instructions[i];
    const auto add = [&](int space, uint64_t begin, uint64_t bytes, bool writes, bool spare) {
      const bool host = space == DP__SPACE__HOST_INPUT || space == DP__SPACE__HOST_OUTPUT;
      if (bytes) all->push_back({step, {space, host ? 0 : r}, begin, begin + bytes, writes, spare});
    };
    const bool reads = strcmp(in->op, "Size") != 0;  // looks at its operand's shape alone
    for (bool writes : {false, true})
      for (size_t k = 0; (reads || writes) && k < (writes ? in->n_outputs : in->n_inputs); k++) {
        const uint32_t tensor = (writes ? in->outputs : in->inputs)[k];
        if (!tensor) continue;
        const Dp__DeviceTensor *t = p->tensors[tensor - 1];
        add(t->space, t->offset, t->bytes, writes, false);
      }
    const std::string kernel = in->kernel;
    const bool library = kernel.rfind("cuda.blaslt.", 0) == 0 || kernel.rfind("cuda.cudnn.", 0) == 0;
    if (in->scratch) add(DP__SPACE__TRANSIENT, in->scratch->offset, in->scratch->bytes, true, library);
  }

  Plan plan_;
  size_t program_, n_ = 0;
  std::map<std::tuple<size_t, size_t, size_t>, size_t> steps_;  // role, stream, instruction
};

enum Kind { kNeeded, kSpare, kImplied, kPaces };

Kind Judge(const Order &order, const Wait &wait, const std::vector<std::vector<bool>> &before,
           const std::vector<Order::Conflict> &conflicts, const Plan &plan) {
  const std::vector<std::vector<bool>> left = order.Before(&wait);
  if (left[order.Signaller(wait.at.role, At(plan, wait.at)->waits[wait.number])][order.Step(wait.at)]) return kImplied;
  Kind kind = kPaces;
  for (const Order::Conflict &c : conflicts) {
    if (!before[c.x][c.y] || left[c.x][c.y]) continue;
    if (!c.spare) return kNeeded;
    kind = kSpare;
  }
  return kind;
}

// ---- what is noticed ------------------------------------------------------------------------------------------------

// Losses and variables, bit by bit; what was reported instead, if anything was.
struct Outcome {
  std::vector<Bytes> bytes;
  std::string failure;
  bool operator==(const Outcome &other) const { return bytes == other.bytes && failure == other.failure; }
};

const int64_t kWrong = 1003;  // the sample whose label is no class

Outcome Train(const Plan &plan, uint64_t seed) {
  DP_STEER(dp_standin_reset)();
  DP_STEER(dp_standin_seed)(seed);
  RunOptions options;
  options.unchecked = true;
  // What a step leaves for the next must differ, or nobody sees it used. Even what always predicts the same class is
  // right for some samples of every device; labels are ignored here and there, so that their count varies; one label is
  // none, so that the count of what is refused is not always 0.
  options.feed = [digits = Digits()](const std::string &input, int64_t sample, int64_t element) {
    if (input != "label") return digits(input, sample, element);
    if (sample == kWrong) return 11.0;
    return sample % 10 == 1 || sample % 10 == 5 ? kIgnored : static_cast<double>(sample % 10);
  };
  Outcome outcome;
  const auto note = [&](double number) {
    outcome.bytes.emplace_back(sizeof number);
    memcpy(outcome.bytes.back().data(), &number, sizeof number);
  };
  try {
    Training training(plan, options);
    for (double loss : training.TrainAll({8, 8, 5})) note(loss);
    for (int64_t first : {kWrong - 1, kWrong - 6}) {  // in the first and in the last micro-batch
      const std::string refused = training.TryProgram("train", first, 8);
      outcome.bytes.emplace_back(refused.begin(), refused.end());
    }
    for (int64_t first : {20, 43, 66, 89}) {
      note(training.Evaluate(first, 7));
      note(training.Correct());
    }
    for (const auto &entry : training.State()) outcome.bytes.push_back(entry.second);
  } catch (const std::exception &failure) {
    outcome.failure = failure.what();
  }
  return outcome;
}

// Where a plan has many streams, only few orders are the wrong ones.
const int kSeeds = 1000;

class CudaWaits : public testing::TestWithParam<int> {};

TEST_P(CudaWaits, AreNeededImpliedOrPace) {
  const auto &c = kPlans[GetParam()];
  const Plan plan = Compile(c.text, std::string("target=cuda batch=8 ") + c.options);
  const Outcome whole = Train(plan, 0);
  ASSERT_EQ(whole.failure, "");
  for (uint64_t seed = 1; seed <= 8; seed++) ASSERT_TRUE(Train(plan, seed) == whole) << "seed " << seed;
  const int stride = getenv("DP_FULL") ? 5 : 31;
  int counts[4] = {}, tried = 0, noticed = 0, latest = 0;
  for (size_t p = 0; p < plan->roles[0]->n_programs; p++) {
    if (!strcmp(plan->roles[0]->programs[p]->name, "infer")) continue;
    const Order order(plan, p);
    const auto before = order.Before(nullptr);
    const auto conflicts = order.Conflicts();
    for (size_t r = 0; r < plan->n_roles; r++)
      for (const Location &at : Instructions(plan, plan->roles[0]->programs[p]->name, r))
        for (size_t w = 0; w < At(plan, at)->n_waits; w++) {
          SCOPED_TRACE(Describe(plan, at) + " of role " + std::to_string(r) + ", wait " + std::to_string(w));
          const Kind kind = Judge(order, {at, w}, before, conflicts, plan);
          const Plan less = WithoutWait(plan, at, w);
          if (kind == kNeeded || kind == kSpare) {
            EXPECT_EQ(Verify(less).substr(0, 3), "65:");
          }
          if (counts[kind]++ % stride || kind == kSpare) continue;
          int seed = 0;
          if (kind != kNeeded) {
            for (; seed < 8; seed++) EXPECT_TRUE(Train(less, static_cast<uint64_t>(seed)) == whole) << "seed " << seed;
            continue;
          }
          tried++;
          while (seed < kSeeds && Train(less, static_cast<uint64_t>(seed)) == whole) seed++;
          EXPECT_LT(seed, kSeeds) << "nobody noticed";
          noticed += seed < kSeeds;
          latest = std::max(latest, seed);
        }
  }
  printf("%s: %d needed, %d of %d noticed, by seed %d at the latest; %d for scratch, %d implied, %d only pace\n",
         c.name, counts[kNeeded], noticed, tried, latest, counts[kSpare], counts[kImplied], counts[kPaces]);
  EXPECT_GT(tried, 0);
}

INSTANTIATE_TEST_SUITE_P(Plans, CudaWaits, testing::Range(0, int(std::size(kPlans))),
                         [](const auto &info) { return kPlans[info.param].name; });

}  // namespace
}  // namespace dp_test
