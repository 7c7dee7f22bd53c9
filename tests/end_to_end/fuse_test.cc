// Regions change no bit: networks drawn by seed train as with --no-fuse, under every kind of strategy. Attention whole
// computes the same in another order: to rounding.
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "ir/graph/op.h"
#include "tests/end_to_end/bits.h"
#include "tests/end_to_end/drawn.h"

namespace dp_test {
namespace {

bool WorksOnChannels(const dp_op *op) { return dp_op_is(op, DP_OP_CHANNELS); }
bool WorksOnRows(const dp_op *op) {  // longer than one element
  return !dp_op_is_pointwise(op) && !dp_op_is(op, DP_OP_UPDATE) && !WorksOnChannels(op);
}

// All, or those with such a member.
size_t Regions(const Plan &plan, bool (*is)(const dp_op *op) = nullptr) {
  size_t count = 0;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++)
      for (size_t s = 0; s < plan->roles[r]->programs[p]->n_streams; s++)
        for (size_t i = 0; i < plan->roles[r]->programs[p]->streams[s]->n_instructions; i++) {
          const Dp__Instruction *in = plan->roles[r]->programs[p]->streams[s]->instructions[i];
          bool has = !is && in->n_members > 1;
          for (size_t m = 0; m < in->n_members && is; m++)
            has |= is(dp_op_find(in->members[m]->domain, in->members[m]->op));
          count += has;
        }
  return count;
}

bool IsHalf(const Dp__Program *program, uint32_t tensor) {
  const int32_t value = program->tensors[tensor - 1]->dtype;
  return value == DP_BFLOAT16 || value == DP_FLOAT16;
}

bool HasAttention(const Plan &plan) {
  for (size_t g = 0; g < plan->n_graphs; g++)
    for (size_t i = 0; i < plan->graphs[g]->n_nodes; i++)
      if (std::string(plan->graphs[g]->nodes[i]->op) == "ScaledDotProductAttention") return true;
  return false;
}

// Values of float64; others are equal. Constants of what became whole are needed no more.
void ExpectClose(const std::map<std::string, Bytes> &found, const std::map<std::string, Bytes> &expected) {
  for (const auto &entry : found) ASSERT_TRUE(expected.count(entry.first)) << entry.first;
  for (const auto &entry : expected) {
    if (!found.count(entry.first)) {
      ASSERT_EQ(entry.first.rfind("dp.constant/", 0), 0u) << entry.first;
      continue;
    }
    const Bytes &other = found.at(entry.first);
    ASSERT_EQ(other.size(), entry.second.size());
    if (other == entry.second) continue;
    for (size_t i = 0; i + sizeof(double) <= other.size(); i += sizeof(double)) {
      double a, b;
      memcpy(&a, &other[i], sizeof a);
      memcpy(&b, &entry.second[i], sizeof b);
      ASSERT_NEAR(a, b, 1e-9) << entry.first;
    }
  }
}

TEST(Fuse, ChangesNoBit) {
  const uint32_t seeds = getenv("DP_FULL") ? 60 : 12;
  size_t regions = 0, of_rows = 0, of_channels = 0, whole = 0;
  for (uint32_t seed = 1; seed <= seeds; seed++) {
    const DrawnNetwork network = DrawNetwork(seed);
    Draw draw(seed);
    for (int devices : {1, 2, 4}) {
      const DrawnStrategy strategy =
          devices == 1 ? DrawnStrategy{"one", "", network.text} : DrawStrategy(draw, network, devices);
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + strategy.options);
      const std::string options = network.Options() + " threads=2 " + strategy.options;
      const Plan fused = Compile(strategy.text, options), plain = Compile(strategy.text, options + " no-fuse=yes");
      EXPECT_EQ(Regions(plain), 0u);
      regions += Regions(fused);
      of_rows += Regions(fused, WorksOnRows);
      of_channels += Regions(fused, WorksOnChannels);
      const Bits with = TrainedBits(fused, network.batches, network.feed, 2);
      const Bits without = TrainedBits(plain, network.batches, network.feed, 1);
      EXPECT_FALSE(HasAttention(plain));
      if (HasAttention(fused)) {
        whole++;
        for (size_t i = 0; i < with.losses.size(); i++)
          EXPECT_NEAR(with.losses[i], without.losses[i], 1e-12 * (1 + std::fabs(without.losses[i])));
        ExpectClose(with.state, without.state);
      } else {
        EXPECT_EQ(with.losses, without.losses);
        EXPECT_TRUE(with.state == without.state);
      }
    }
  }
  EXPECT_GT(regions, 100u);
  EXPECT_GT(of_rows, 50u);
  EXPECT_GT(of_channels, 20u);
  EXPECT_GE(whole, 6u);
}

// Regions of 16-bit floats round each member's result where it is rounded without them.
TEST(Fuse, ChangesNoBitIn16Bits) {
  size_t regions = 0, compared = 0;
  for (uint32_t seed = 1; seed <= (getenv("DP_FULL") ? 60u : 16u); seed++) {
    const DrawnNetwork network = DrawNetwork(seed);
    std::string options = network.Options();
    const std::string precision = "precision=fp64";
    const size_t at = options.find(precision);
    ASSERT_NE(at, std::string::npos) << options;
    options.replace(at, precision.size(), seed % 2 ? "precision=bf16" : "precision=fp16");
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + options);
    const Plan fused = Compile(network.text, options + " threads=2"),
               plain = Compile(network.text, options + " threads=2 no-fuse=yes");
    if (HasAttention(fused)) continue;  // computes in another order
    for (const Location &where : Instructions(fused, "train")) {
      const Dp__Instruction *in = At(fused, where);
      bool has_half = false;
      for (size_t i = 0; i < in->n_inputs && in->n_members; i++)
        has_half |= in->inputs[i] && IsHalf(fused->roles[0]->programs[FindProgram(fused, "train")], in->inputs[i]);
      regions += has_half;
    }
    const Bits with = TrainedBits(fused, network.batches, network.feed, 2);
    const Bits without = TrainedBits(plain, network.batches, network.feed, 1);
    EXPECT_EQ(with.losses, without.losses);
    EXPECT_TRUE(with.state == without.state);
    compared++;
  }
  EXPECT_GE(compared, 8u);
  EXPECT_GT(regions, 10u);
}

// No device reads bytes that another writes at the same time, or that were not written: the null backend checks every
// byte.
TEST(Fuse, RacesWithNothing) {
  for (uint32_t seed = 1; seed <= 6; seed++) {
    const DrawnNetwork network = DrawNetwork(seed);
    Draw draw(seed);
    const DrawnStrategy strategy = DrawStrategy(draw, network, 2);
    EXPECT_EQ(RunNull(Compile(strategy.text, network.Options() + " " + strategy.options), 4, network.batches), "");
  }
}

}  // namespace
}  // namespace dp_test
