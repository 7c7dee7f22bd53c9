// Operands that kernels keep packed between runs: no bit changes by it, and no run reads the form of other weights than
// those of now, whatever a session is used for.
#include <cstdlib>
#include <cstring>

#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// The weights of every window are split over axis `tensor`, unevenly: 7 channels.
const char kSplitChannels[] = R"dpt(model split_channels {
  input x: float32[N,1,8,8]
  parameter a.w: float32[7,1,3,3] = kaiming_uniform() shard(tensor=0)
  parameter b.w: float32[9,7,3,3] = kaiming_uniform() shard(tensor=1)
  parameter c.w: float32[9,1,3,3] = kaiming_uniform()
  a = Conv(x, a.w) {pads=[1,1,1,1]}
  b = Conv(a, b.w)
  y = Conv(b, c.w) {group=9}
  output y
})dpt";

// Products whose weights are padded; those of the second one are split.
const char kProducts[] = R"dpt(model products {
  input x: float32[N,1,8,8]
  parameter a: float32[64,256] = kaiming_uniform()
  parameter b: float32[256,512] = kaiming_uniform()
  x1 = Flatten(x)
  h = MatMul(x1, a)
  r = Relu(h)
  y = MatMul(r, b)
  output y
})dpt";

const struct {
  const char *model, *options;
} kCases[] = {
    {kProducts, "threads=2"},
    {kProducts, "mesh=tensor:2 strategy=tensor"},
    {kCnn, ""},
    {kCnn, "strategy=data devices=3"},
    {kResidual, "threads=2"},
    {kCnn, "threads=4"},
    {kSplitChannels, "mesh=tensor:2 strategy=manual threads=3"},
    {kResidual, "mesh=pipe:2 strategy=pipeline microbatches=1"},
    {kSplitChannels, "mesh=tensor:3 strategy=manual"},
    {kSplitChannels, "mesh=data:2,tensor:2 strategy=manual"},
};

Plan Make(const char *model, const std::string &options, bool packed) {
  return Compile(model, "batch=6 mode=infer " + options + (packed ? "" : " plain-weights=yes"));
}

size_t CountPacked(const Plan &plan, const std::string &program = "infer") {
  size_t count = 0;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (const Location &at : Instructions(plan, program, r)) count += At(plan, at)->packed != nullptr;
  return count;
}

TEST(Packed, ChangesNoBit) {
  for (const auto &c : kCases)
    for (int workers : {1, 3}) {
      SCOPED_TRACE(std::string(c.options) + " " + std::to_string(workers));
      RunOptions options;
      options.workers = workers;
      const Plan packed = Make(c.model, c.options, true), plain = Make(c.model, c.options, false);
      EXPECT_GT(CountPacked(packed), 0u);
      EXPECT_EQ(CountPacked(plain), 0u);
      Training a(packed, options), b(plain, options);
      for (int64_t n : {6, 1, 5, 6, 2, 3, 1}) EXPECT_EQ(a.Infer(n, n), b.Infer(n, n)) << n;
      EXPECT_EQ(a.State(), b.State());
    }
}

TEST(Packed, FollowsTheWeights) {
  for (const char *strategy : {"", "strategy=data devices=2"}) {
    Training a(Make(kCnn, strategy, true)), b(Make(kCnn, strategy, false));
    const std::vector<double> first = a.Infer(0, 6);
    for (const char *name : {"c2.w", "c1.w", "c2.w"}) {
      std::vector<double> numbers = a.Numbers(name);
      for (double &x : numbers) x = 0.5 - x;
      const std::vector<double> before = a.Infer(0, 5);
      for (Training *one : {&a, &b}) one->SetNumbers(name, numbers);
      EXPECT_NE(a.Infer(0, 5), before);
      for (int64_t n : {5, 6, 1, 5}) EXPECT_EQ(a.Infer(0, n), b.Infer(0, n)) << name << " " << n;
    }
    const std::vector<double> zeros(a.Numbers("c2.w").size());
    for (Training *one : {&a, &b}) one->SetNumbers("c2.w", zeros);
    EXPECT_EQ(a.Infer(0, 6), b.Infer(0, 6));
    EXPECT_NE(a.Infer(0, 6), first);
  }
}

// What spoils the form shows until a variable is written, any of them.
TEST(Packed, TheFormIsMadeOnce) {
  const Plan plan = Make(kCnn, "", true);
  Training training(plan);
  const std::vector<double> good = training.Infer(0, 6);
  for (const Location &at : Instructions(plan, "infer"))
    if (const Dp__Packed *packed = At(plan, at)->packed)
      memset(training.Persistent(0) + packed->offset, 0, packed->bytes);
  const std::vector<double> spoilt = training.Infer(0, 6);
  EXPECT_NE(spoilt, good);
  EXPECT_EQ(training.Infer(0, 6), spoilt);
  training.SetNumbers("fc.b", training.Numbers("fc.b"));
  EXPECT_EQ(training.Infer(0, 6), good);
}

TEST(Packed, SessionsOfOnePlanAreApart) {
  const Plan plan = Make(kCnn, "", true);
  RunOptions other;
  other.seed = 2;
  Training a(plan), b(plan, other), c(Make(kCnn, "", false)), d(Make(kCnn, "", false), other);
  EXPECT_NE(a.Infer(0, 6), b.Infer(0, 6));
  for (int64_t n : {3, 6}) {
    EXPECT_EQ(a.Infer(0, n), c.Infer(0, n));
    EXPECT_EQ(b.Infer(0, n), d.Infer(0, n));
  }
}

// dpc packs nothing in a plan that trains. In one by somebody else, a run of train changes what later runs pack.
Plan PackByHand(const std::string &program) {
  const Plan plan = Compile(kCnn, "batch=6");
  Dp__Arena *arena = nullptr;
  for (size_t i = 0; i < plan->roles[0]->n_arenas; i++)
    if (plan->roles[0]->arenas[i]->space == DP__SPACE__PERSISTENT) arena = plan->roles[0]->arenas[i];
  const Dp__Program *p = plan->roles[0]->programs[FindProgram(plan, program)];
  for (const Location &at : Instructions(plan, program)) {
    Dp__Instruction *in = At(plan, at);
    if (std::string(in->op) != "Conv" || p->tensors[in->inputs[1] - 1]->space != DP__SPACE__PERSISTENT) continue;
    in->packed = static_cast<Dp__Packed *>(malloc(sizeof *in->packed));  // the plan frees it
    dp__packed__init(in->packed);
    in->packed->operand = 1;
    in->packed->offset = arena->bytes;
    arena->bytes += in->packed->bytes = 1 << 14;
  }
  return plan;
}

TEST(Packed, FollowsTraining) {
  const Plan plan = PackByHand("eval");
  EXPECT_EQ(CountPacked(plan, "eval"), 2u);
  EXPECT_EQ(Verify(plan), "");
  Training a(plan), b(Compile(kCnn, "batch=6"));
  for (int step = 0; step < 3; step++) {
    for (int64_t n : {6, 4}) EXPECT_EQ(a.Evaluate(0, n), b.Evaluate(0, n));
    EXPECT_EQ(a.Train(6 * step, 6), b.Train(6 * step, 6));
    EXPECT_EQ(a.Evaluate(0, 6), b.Evaluate(0, 6));
    EXPECT_EQ(a.Infer(0, 6), b.Infer(0, 6));
  }
}

// What the checker does not know of kernels.
TEST(Packed, KernelsRefuseWhatTheyCannotTake) {
  const struct {
    const char *message;
    void (*damage)(Dp__Packed *);
  } cases[] = {
      {"bytes on this machine, but the plan reserves 64: compile the "
       "model for it",
       [](Dp__Packed *p) { p->bytes = 64; }},
      {"65: program infer: stream compute, instruction 1 (Conv): kernel cpu.onednn.Conv cannot take operand 2 packed",
       [](Dp__Packed *p) { p->operand = 2; }},
  };
  for (const auto &c : cases) {
    const Plan plan = Make(kCnn, "", true);
    for (const Location &at : Instructions(plan, "infer"))
      if (At(plan, at)->packed && At(plan, at)->n_inputs > 2) c.damage(At(plan, at)->packed);
    RunOptions options;
    options.unchecked = true;
    Training training(plan, options);
    const std::string failure = training.TryProgram("infer", 0, 6);
    EXPECT_NE(failure.find(c.message), std::string::npos) << failure;
  }
}

TEST(Packed, NothingIsPackedWhereItWouldNotHold) {
  for (const char *options : {"uploads=yes", "precision=fp64", "mesh=pipe:2 strategy=pipeline microbatches=3"})
    EXPECT_EQ(CountPacked(Make(kCnn, options, true)), 0u) << options;
  EXPECT_EQ(CountPacked(Compile(kCnn, "batch=6")), 0u);
}

// Two convolutions with the same weights would each have a copy.
TEST(Packed, WeightsThatSeveralReadAreNot) {
  const char kShared[] = R"dpt(model shared {
  input x: float32[N,1,8,8]
  parameter w: float32[1,1,3,3] = kaiming_uniform()
  parameter v: float32[8,1,3,3] = kaiming_uniform()
  a = Conv(x, w)
  b = Conv(a, w)
  y = Conv(b, v)
  output y
})dpt";
  const Plan plan = Make(kShared, "", true);
  EXPECT_EQ(CountPacked(plan), 1u);
  EXPECT_EQ(Training(plan).Infer(0, 6), Training(Make(kShared, "", false)).Infer(0, 6));
}

}  // namespace
}  // namespace dp_test
