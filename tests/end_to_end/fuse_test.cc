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

void ExpectSame(const Bits &with, const Bits &without) {
  EXPECT_EQ(with.losses, without.losses);
  EXPECT_TRUE(with.state == without.state);
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
        ExpectSame(with, without);
      }
    }
  }
  EXPECT_GT(regions, 100u);
  EXPECT_GT(of_rows, 50u);
  EXPECT_GT(of_channels, 20u);
  EXPECT_GE(whole, 6u);
}

size_t RegionsOfHalves(const Plan &plan) {
  size_t regions = 0;
  for (const Location &where : Instructions(plan, "train")) {
    const Dp__Instruction *in = At(plan, where);
    bool has_half = false;
    for (size_t i = 0; i < in->n_inputs && in->n_members; i++)
      has_half |= in->inputs[i] && IsHalf(plan->roles[0]->programs[FindProgram(plan, "train")], in->inputs[i]);
    regions += has_half;
  }
  return regions;
}

// Regions of 16-bit floats round each member's result where it is rounded without them; those of float32 have the
// members' fast kernels.
TEST(Fuse, ChangesNoBitInShorterTypes) {
  size_t of_halves = 0, of_float32 = 0, compared = 0;
  for (uint32_t seed = 1; seed <= (getenv("DP_FULL") ? 60u : 16u); seed++) {
    const DrawnNetwork network = DrawNetwork(seed);
    const std::string precision = "precision=fp64";
    const size_t at = network.Options().find(precision);
    ASSERT_NE(at, std::string::npos) << network.Options();
    for (const char *type : {seed % 2 ? "precision=bf16" : "precision=fp16", "precision=fp32"}) {
      std::string options = network.Options();
      options.replace(at, precision.size(), type);
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + options);
      const Plan fused = Compile(network.text, options + " threads=2"),
                 plain = Compile(network.text, options + " threads=2 no-fuse=yes");
      if (HasAttention(fused)) continue;  // computes in another order
      const bool is_float32 = std::string(type) == "precision=fp32";
      (is_float32 ? of_float32 : of_halves) += is_float32 ? Regions(fused) : RegionsOfHalves(fused);
      ExpectSame(TrainedBits(fused, network.batches, network.feed, 2),
                 TrainedBits(plain, network.batches, network.feed, 1));
      compared++;
    }
  }
  EXPECT_GE(compared, 16u);
  EXPECT_GT(of_halves, 10u);
  EXPECT_GT(of_float32, 10u);
}

// A block of a transformer. `attention`: the nodes from q4, k4, v4 to y4, [N,5,4,3].
std::string Block(const std::string &attention) {
  return R"text(model block {
  loss "mse(out,target)"
  optimizer "adam(lr=0.01)"
  input x: float32[N,5,12]
  parameter n.w: float32[12] = ones
  parameter n.b: float32[12] = zeros
  parameter q.w: float32[12,12] = kaiming_uniform()
  parameter k.w: float32[12,12] = kaiming_uniform()
  parameter v.w: float32[12,12] = kaiming_uniform()
  parameter v.b: float32[12] = zeros
  parameter o.w: float32[12,12] = kaiming_uniform()
  parameter m.w: float32[12] = ones
  parameter up.w: float32[12,40] = kaiming_uniform()
  parameter up.b: float32[40] = zeros
  parameter down.w: float32[40,12] = kaiming_uniform()
  n = LayerNormalization(x, n.w, n.b)
  q = MatMul(n, q.w)
  k = MatMul(n, k.w)
  v1 = MatMul(n, v.w)
  v = Add(v1, v.b)
  q4 = Reshape(q) {shape=[N,5,4,3]}
  k4 = Reshape(k) {shape=[N,5,4,3]}
  v4 = Reshape(v) {shape=[N,5,4,3]}
)text" + attention +
         R"text(
  y = Reshape(y4) {shape=[N,5,12]}
  o = MatMul(y, o.w)
  h = Add(x, o)
  m = RMSNormalization(h, m.w)
  u1 = MatMul(m, up.w)
  u = Add(u1, up.b)
  g = Gelu(u)
  d = MatMul(g, down.w)
  out = Add(h, d)
  output out
})text";
}

const char kAttention[] = "  y4 = dp.ScaledDotProductAttention(q4, k4, v4)";
const char kWrittenOut[] = R"text(
  qh = Transpose(q4) {perm=[0,2,1,3]}
  kt = Transpose(k4) {perm=[0,2,3,1]}
  vh = Transpose(v4) {perm=[0,2,1,3]}
  scores = MatMul(qh, kt)
  p = Softmax(scores)
  t = MatMul(p, vh)
  y4 = Transpose(t) {perm=[0,2,1,3]}
)text";

// --no-fuse leaves attention that is written out as it is: then losses are the same to rounding. Where the network has
// the operator itself, both plans compute it, and regions around it change no bit. What is found is that operator.
TEST(Fuse, OfATransformerChangesNoBitButAttentions) {
  const std::vector<int64_t> batches = {7, 7, 3, 7};
  const Feed feed = [](const std::string &input, int64_t sample, int64_t element) {
    return std::sin(double(sample) * 13.7 + double(element) * (input == "x" ? 0.91 : 2.3));
  };
  const struct {
    const char *precision;
    double off;
  } cases[] = {{"fp64", 1e-14}, {"fp32", 2e-6}, {"fp16", 3e-4}, {"bf16", 4e-3}};
  for (const auto &one : cases)
    for (const char *threads : {"1", "2"}) {
      const std::string options = std::string("batch=7 precision=") + one.precision + " threads=" + threads;
      SCOPED_TRACE(options);
      const Plan fused = Compile(Block(kAttention), options),
                 plain = Compile(Block(kAttention), options + " no-fuse=yes"),
                 found = Compile(Block(kWrittenOut), options),
                 apart = Compile(Block(kWrittenOut), options + " no-fuse=yes");
      EXPECT_TRUE(HasAttention(fused) && HasAttention(plain) && HasAttention(found));
      EXPECT_FALSE(HasAttention(apart));
      EXPECT_GE(Regions(fused, WorksOnRows), 2u);
      EXPECT_EQ(Regions(plain), 0u);
      const Bits with = TrainedBits(fused, batches, feed, 2);
      ExpectSame(with, TrainedBits(plain, batches, feed, 1));
      EXPECT_EQ(with.losses, TrainedBits(found, batches, feed, 2).losses);
      const std::vector<double> losses = TrainedBits(apart, batches, feed, 1).losses;
      ASSERT_EQ(with.losses.size(), losses.size());
      for (size_t i = 0; i < losses.size(); i++) EXPECT_NEAR(with.losses[i], losses[i], one.off);
    }
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
