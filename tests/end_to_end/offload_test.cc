// What is offloaded changes no bit: networks drawn by seed, under every kind of strategy, train as they do when state
// and activations stay on the device. The target is the CPU as if its devices had memory of their own.
#include <cstdlib>
#include <cstring>

#include "ir/plan/form.h"
#include "tests/end_to_end/bits.h"
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/drawn.h"

namespace dp_test {
namespace {

const char *const kOffloads[] = {"optimizer", "activations", "optimizer,activations"};

struct Moves {
  size_t fetches = 0, offloads = 0, state = 0;  // state: variables that are stored on the host
};

Moves Count(const Plan &plan) {
  Moves moves;
  for (size_t i = 0; i < plan->n_variables; i++) moves.state += plan->variables[i]->offloaded;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++)
      for (size_t s = 0; s < plan->roles[r]->programs[p]->n_streams; s++)
        for (size_t i = 0; i < plan->roles[r]->programs[p]->streams[s]->n_instructions; i++) {
          const char *op = plan->roles[r]->programs[p]->streams[s]->instructions[i]->op;
          moves.fetches += !strcmp(op, "Fetch");
          moves.offloads += !strcmp(op, "Offload");
        }
  return moves;
}

uint64_t ArenaBytes(const Plan &plan, Dp__Space space) {
  const Dp__Arena *arena = dp_plan_form_arena(plan->roles[0], space);
  return arena ? arena->bytes : 0;
}

TEST(Offload, ChangesNoBit) {
  const uint32_t seeds = getenv("DP_FULL") ? 60 : 4;
  Moves all;
  for (uint32_t seed = 301; seed <= 300 + seeds; seed++) {
    const DrawnNetwork network = DrawNetwork(seed);
    Draw draw(seed);
    for (int devices : {1, 2, 4}) {
      const DrawnStrategy strategy =
          devices == 1 ? DrawnStrategy{"one", "", network.text} : DrawStrategy(draw, network, devices);
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + strategy.options);
      const std::string options = network.Options() + " threads=2 offload-bytes=1 " + strategy.options;
      const Plan kept = Compile(strategy.text, options);
      const Bits without = TrainedBits(kept, network.batches, network.feed, 1);
      for (const char *offload : kOffloads) {
        SCOPED_TRACE(offload);
        const Plan plan = Compile(strategy.text, options + " offload=" + offload);
        const Bits with = TrainedBits(plan, network.batches, network.feed, 2);
        EXPECT_EQ(with.losses, without.losses);
        EXPECT_TRUE(with.state == without.state);
        const Moves moves = Count(plan);
        all.fetches += moves.fetches;
        all.offloads += moves.offloads;
        all.state += moves.state;
      }
    }
  }
  EXPECT_GT(all.fetches, 50u);
  EXPECT_GT(all.offloads, 50u);
  EXPECT_GT(all.state, 20u);
}

const char *const kStrategies[] = {
    "devices=1",
    "strategy=data devices=3",
    "strategy=zero devices=2",
    "strategy=zero zero-stage=3 devices=2",
    "mesh=data:2,pipe:2 strategy=pipeline microbatches=3",
    "strategy=data devices=2 microbatches=2 recompute=g",
};

// Also with 16 bits, whose updates have the operand `skip`. In the usual run one combination of three, else all.
TEST(Offload, WithEveryStrategyAndPrecision) {
  size_t number = 0;
  for (const char *strategy : kStrategies)
    for (const char *precision : {"fp64", "fp32", "fp16"})
      for (const char *offload : kOffloads) {
        const size_t at = number++;
        if ((at + at / 3 + at / 9) % 3 && !getenv("DP_FULL")) continue;  // each with each once
        SCOPED_TRACE(std::string(strategy) + " " + precision + " " + offload);
        const std::string options = std::string("batch=6 offload-bytes=1 ") + strategy + " precision=" + precision;
        RunOptions workers;
        workers.workers = 2;
        Training kept(Compile(kBlock, options)), away(Compile(kBlock, options + " offload=" + offload), workers);
        const std::vector<int64_t> batches = {6, 5, 6, 1, 2, 6};
        EXPECT_EQ(away.TrainAll(batches), kept.TrainAll(batches));
        EXPECT_EQ(away.Evaluate(0, 5), kept.Evaluate(0, 5));
        EXPECT_EQ(away.Infer(3, 4), kept.Infer(3, 4));
        EXPECT_EQ(away.State(), kept.State());
      }
}

// What a checkpoint reads from one, another goes on from.
TEST(Offload, StateGoesFromOneToAnother) {
  const std::string options = "batch=6 offload-bytes=1 strategy=zero devices=2 precision=fp64";
  Training before(Compile(kSmooth, options + " offload=optimizer"));
  before.TrainAll({6, 6, 5});
  Training kept(Compile(kSmooth, options)), away(Compile(kSmooth, options + " offload=optimizer,activations"));
  for (const auto &variable : before.State()) {
    kept.SetNumbers(variable.first, before.Numbers(variable.first));
    away.SetNumbers(variable.first, before.Numbers(variable.first));
  }
  EXPECT_EQ(away.State(), before.State());
  EXPECT_EQ(away.TrainAll({6, 4, 6}), kept.TrainAll({6, 4, 6}));
  EXPECT_EQ(away.State(), kept.State());
}

TEST(Offload, NullBackendFindsNoRace) {
  for (const char *strategy : kStrategies)
    for (const char *offload : kOffloads)
      EXPECT_EQ(RunNull(Compile(kBlock, std::string("batch=6 offload-bytes=1 ") + strategy + " offload=" + offload), 4,
                        std::vector<int64_t>{6, 6, 5, 1}),
                "")
          << strategy << " " << offload;
}

// A device has what a step needs at a time, the host has the rest.
TEST(Offload, TakesLessOfADevice) {
  const std::string options = "batch=8 threads=1 offload-bytes=1 devices=1 optimizer=adamw(lr=0.003)";
  std::string deep = "model deep {\n  loss \"softmax_cross_entropy(logits,label)\"\n  input x: float32[N,64]\n";
  std::string nodes, last = "x";
  for (int i = 0; i < 12; i++) {
    const std::string n = std::to_string(i);
    deep += "  parameter w" + n + ": float32[64,64] = kaiming_uniform()\n";
    nodes += "  h" + n + " = MatMul(" + last + ", w" + n + ")\n  a" + n + " = Tanh(h" + n + ")\n";
    last = "a" + n;
  }
  deep += "  parameter out: float32[64,10] = kaiming_uniform()\n" + nodes + "  logits = MatMul(" + last +
          ", out)\n  output logits\n}";
  const Plan kept = Compile(deep, options), state = Compile(deep, options + " offload=optimizer"),
             values = Compile(
                 deep, "batch=512 threads=1 offload-bytes=1 devices=1 optimizer=sgd(lr=0.1) offload=activations"),
             held = Compile(deep, "batch=512 threads=1 offload-bytes=1 devices=1 optimizer=sgd(lr=0.1)");
  const uint64_t weight = 64 * 64 * 4, activation = 512 * 64 * 4;
  // Both moments of twelve weights are on the host; those of a few of them at a time are on the device.
  EXPECT_EQ(ArenaBytes(kept, DP__SPACE__OFFLOAD), 0u);
  EXPECT_GE(ArenaBytes(state, DP__SPACE__OFFLOAD), 24 * weight);
  EXPECT_LE(ArenaBytes(state, DP__SPACE__PERSISTENT) + 24 * weight, ArenaBytes(kept, DP__SPACE__PERSISTENT));
  EXPECT_LE(ArenaBytes(state, DP__SPACE__TRANSIENT), ArenaBytes(kept, DP__SPACE__TRANSIENT) + 10 * weight);
  // Of twelve activations, six are on the device at most.
  EXPECT_GE(ArenaBytes(held, DP__SPACE__TRANSIENT), 12 * activation);
  EXPECT_LE(ArenaBytes(values, DP__SPACE__TRANSIENT), 8 * activation);
  EXPECT_GE(ArenaBytes(values, DP__SPACE__OFFLOAD), 9 * activation);
}

}  // namespace
}  // namespace dp_test
