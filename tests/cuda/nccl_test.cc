// Training on several GPUs with NCCL's stand-in, which does not add in the order of ranks: in float64, losses and
// weights equal the CPU backend's, by every strategy; with --reproducible, bits are those of one GPU.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tests/cuda/steer.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// The last batches are short; one has fewer samples than most meshes have devices.
const std::vector<int64_t> kBatches = {8, 8, 5, 2};

// From Shard(0) to Shard(1) and back, between what its annotations ask for.
const char kTurned[] = R"dpt(model turned {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1)"
  input x: float32[N,64]
  parameter w1: float32[64,24] = kaiming_uniform()
  parameter w2: float32[24,10] = kaiming_uniform()
  constant most: float32[] = 255
  s = Div(x, most)
  h = MatMul(s, w1) [shard=(tensor=0)]
  t = Tanh(h) [shard=(tensor=1)]
  u = Mul(t, t) [shard=(tensor=0)]
  logits = MatMul(u, w2)
  output logits
})dpt";

const char *const kModels[] = {kMlp, kCnn, kSquares};
const char *const kStrategies[] = {
    "strategy=data devices=2",
    "strategy=data devices=4",
    "strategy=data devices=8",
    "strategy=zero zero-stage=1 devices=2",
    "strategy=zero zero-stage=1 devices=3",
    "strategy=zero zero-stage=1 devices=4",
    "strategy=zero zero-stage=1 devices=8",
    "strategy=zero zero-stage=2 devices=2",
    "strategy=zero zero-stage=2 devices=4",
    "strategy=zero zero-stage=2 devices=8",
    "strategy=zero zero-stage=3 devices=2",
    "strategy=zero zero-stage=3 devices=4",
    "strategy=zero zero-stage=3 devices=8",
    "strategy=tensor devices=2",
    "strategy=tensor devices=4",
    "strategy=tensor devices=8",
    "strategy=pipeline devices=2 microbatches=4",
    "strategy=pipeline devices=4 microbatches=4 schedule=gpipe",
    "strategy=pipeline devices=8 microbatches=4",
    "mesh=data:2,tensor:2 strategy=tensor",
    "mesh=data:2,tensor:4 strategy=tensor",
    "mesh=data:2,pipe:2 strategy=pipeline microbatches=4",
    "mesh=data:4,pipe:2 strategy=pipeline microbatches=4",
    "mesh=pipe:2,data:2,tensor:2 strategy=pipeline microbatches=2",
    "mesh=data:2,tensor:2 strategy=zero zero-stage=2",
    "mesh=data:4,tensor:2 strategy=zero zero-stage=3",
    "mesh=data:2,pipe:2 strategy=zero zero-stage=1 microbatches=2",
    "mesh=data:2,pipe:2,tensor:2 strategy=zero zero-stage=3 microbatches=2",
};

struct Outcome {
  std::vector<double> losses;
  std::map<std::string, std::vector<double>> variables;
};

Outcome Train(const Plan &plan, const char *gpus = nullptr) {
  RunOptions options;
  options.units = gpus;
  Training training(plan, options);
  Outcome outcome;
  outcome.losses = training.TrainAhead(kBatches);
  outcome.losses.push_back(training.Evaluate(0, 7));
  for (const auto &entry : training.State()) outcome.variables[entry.first] = training.Numbers(entry.first);
  EXPECT_EQ(training.Replicas(), "");
  return outcome;
}

void ExpectEqual(const Outcome &found, const Outcome &expected) {
  ExpectClose(found.losses, expected.losses, 1e-12);
  for (const auto &[name, numbers] : expected.variables) {
    double scale = 1e-3;
    for (double number : numbers) scale = std::max(scale, std::fabs(number));
    const std::vector<double> &others = found.variables.at(name);
    ASSERT_EQ(others.size(), numbers.size()) << name;
    for (size_t i = 0; i < numbers.size(); i++) ASSERT_NEAR(others[i], numbers[i], 1e-11 * scale) << name << " " << i;
  }
}

void ExpectNothingLeft() {
  const dp_standin_counts left = DP_STEER(dp_standin_count)();
  EXPECT_EQ(left.pending, 0);
  EXPECT_EQ(left.device_allocations, 0);
  EXPECT_EQ(left.streams, 0);
  EXPECT_EQ(left.events, 0);
  EXPECT_EQ(left.handles, 0);  // communicators and windows
}

class EightGpus : public testing::Test {
 protected:
  EightGpus() { DP_STEER(dp_standin_devices)(8, "all"); }
  ~EightGpus() override { DP_STEER(dp_standin_devices)(1, "all"); }
};

// Numbers of a model and a strategy.
class CudaNccl : public EightGpus, public testing::WithParamInterface<std::tuple<int, int>> {};

// Losses and weights on GPUs of their own are the CPU's, under each of the seeds.
Plan ExpectTheCpus(const char *model, const std::string &strategy, const std::vector<uint64_t> &seeds) {
  const std::string options = "batch=8 precision=fp64 " + strategy;
  const Outcome cpu = Train(Compile(model, "target=cpu " + options));
  Plan plan = Compile(model, "target=cuda " + options);
  for (uint64_t seed : seeds) {
    SCOPED_TRACE(seed);
    DP_STEER(dp_standin_devices)(8, seed % 2 ? "none" : "all");  // NCCL finds its way without
    DP_STEER(dp_standin_seed)(seed);
    ExpectEqual(Train(plan), cpu);
    ExpectNothingLeft();
  }
  return plan;
}

// Every model by every strategy; in the usual run under one of three seeds, with DP_FULL under all.
TEST_P(CudaNccl, EqualsTheCpus) {
  const auto [model, strategy] = GetParam();
  SCOPED_TRACE(kStrategies[strategy]);
  const std::vector<uint64_t> all = {0, 1, 2};
  ExpectTheCpus(kModels[model], kStrategies[strategy],
                getenv("DP_FULL") ? all : std::vector<uint64_t>{all[size_t(model + strategy) % all.size()]});
}

int CountOf(const Plan &plan, const std::string &op) {
  int count = 0;
  for (size_t r = 0; r < plan->n_roles; r++) {
    const Dp__Program *train = plan->roles[r]->programs[FindProgram(plan, "train")];
    for (size_t s = 0; s < train->n_streams; s++)
      for (size_t i = 0; i < train->streams[s]->n_instructions; i++)
        count += train->streams[s]->instructions[i]->op == op;
  }
  return count;
}

TEST_F(EightGpus, AllToAllEqualsTheCpus) {
  for (const char *strategy : {"strategy=manual mesh=tensor:2", "strategy=manual mesh=tensor:4",
                               "strategy=manual mesh=tensor:8", "strategy=data mesh=data:2,tensor:4"}) {
    SCOPED_TRACE(strategy);
    EXPECT_GT(CountOf(ExpectTheCpus(kTurned, strategy, {0, 1, 2}), "AllToAll"), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaNccl,
                         testing::Combine(testing::Range(0, int(std::size(kModels))),
                                          testing::Range(0, int(std::size(kStrategies)))));

// ---- bits -----------------------------------------------------------------------------------------------------------

using State = std::map<std::string, Bytes>;

struct Bits {
  std::vector<double> losses;
  State state;
  bool operator==(const Bits &other) const { return losses == other.losses && state == other.state; }
};

Bits TrainBits(const Plan &plan, const char *gpus) {
  RunOptions options;
  options.units = gpus;
  Training training(plan, options);
  Bits bits;
  bits.losses = training.TrainAhead(kBatches);
  bits.state = training.State();
  return bits;
}

class CudaNcclBits : public EightGpus {
 protected:
  Plan Made(const std::string &options) { return Compile(kCnn, "target=cuda batch=8 " + options); }
};

const char *const kGpus[] = {"0", "0,1", "0,1,2,3", nullptr};

// Eight devices on 1, 2, 4 and 8 GPUs.
TEST_F(CudaNcclBits, ReproducibleOnAnyNumberOfGpus) {
  for (const char *strategy :
       {"strategy=data devices=8", "strategy=zero zero-stage=2 devices=8", "mesh=data:2,tensor:4 strategy=tensor"}) {
    SCOPED_TRACE(strategy);
    const Plan plan = Made(std::string("reproducible=yes ") + strategy);
    const Bits one = TrainBits(plan, kGpus[0]);
    for (const char *gpus : kGpus) {
      DP_STEER(dp_standin_seed)(gpus ? 1 : 2);
      EXPECT_TRUE(TrainBits(plan, gpus) == one) << (gpus ? gpus : "all");
    }
  }
}

// Without it NCCL adds, in another order: the test above could fail.
TEST_F(CudaNcclBits, NcclAddsInAnotherOrderAndAlwaysInTheSame) {
  const Plan plan = Made("strategy=data devices=8");
  const Bits one = TrainBits(plan, "0"), all = TrainBits(plan, nullptr);
  EXPECT_FALSE(all == one);
  for (uint64_t seed : {3, 4}) {
    DP_STEER(dp_standin_seed)(seed);
    EXPECT_TRUE(TrainBits(plan, nullptr) == all) << seed;
  }
}

// A copy of an instruction. The plan that gets it frees it.
Dp__Instruction *CopyOf(const Dp__Instruction *in) {
  std::vector<uint8_t> bytes(dp__instruction__get_packed_size(in));
  dp__instruction__pack(in, bytes.data());
  return dp__instruction__unpack(nullptr, bytes.size(), bytes.data());
}

// Puts an all-reduce of each operand in the place of those of several. Returns how many there were.
int Unbundle(Dp__Stream *stream) {
  int found = 0;
  std::vector<Dp__Instruction *> all;
  for (size_t i = 0; i < stream->n_instructions; i++) {
    Dp__Instruction *in = stream->instructions[i];
    const size_t n = strcmp(in->op, "AllReduce") ? 1 : in->n_inputs;
    found += n > 1;
    for (size_t k = 0; k + 1 < n; k++) {
      Dp__Instruction *one = CopyOf(in);
      one->inputs[0] = in->inputs[k];
      one->outputs[0] = in->outputs[k];
      one->n_inputs = one->n_outputs = 1;
      one->signal = 0;
      if (k) one->n_waits = 0;
      all.push_back(one);
    }
    if (n > 1) {
      in->inputs[0] = in->inputs[n - 1];
      in->outputs[0] = in->outputs[n - 1];
      in->n_inputs = in->n_outputs = 1;
      in->n_waits = 0;
    }
    all.push_back(in);
  }
  stream->instructions =
      static_cast<Dp__Instruction **>(realloc(stream->instructions, all.size() * sizeof(Dp__Instruction *)));
  std::copy(all.begin(), all.end(), stream->instructions);
  stream->n_instructions = all.size();
  return found;
}

TEST_F(CudaNcclBits, ABucketGivesTheBitsOfItsMembers) {
  for (const char *reproducible : {"reproducible=yes ", ""}) {
    const Plan plan = Made(std::string(reproducible) + "strategy=data devices=8"), apart = Copy(plan);
    int found = 0;
    for (size_t p = 0; p < apart->roles[0]->n_programs; p++)
      for (size_t s = 0; s < apart->roles[0]->programs[p]->n_streams; s++)
        found += Unbundle(apart->roles[0]->programs[p]->streams[s]);
    EXPECT_GT(found, 0);
    EXPECT_EQ(Verify(apart), "");
    // Where NCCL adds, its order goes by the place within a call.
    EXPECT_EQ(TrainBits(apart, nullptr) == TrainBits(plan, nullptr), *reproducible != 0) << reproducible;
  }
}

}  // namespace
}  // namespace dp_test
