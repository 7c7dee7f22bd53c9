// The kernels of regions whose members work on channels: the plain one has the bits of the reference of regions, the
// fast one those of the members' fast kernels. Drawn regions have batch normalizations, their gradients and pointwise
// members, operands that broadcast, channels that are longer than a chunk, alone, or empty.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cpu/members.h"
#include "backends/cpu/target.h"
#include "tests/backends/region_builder.h"

namespace dp_test {
namespace {

struct DrawnChannels : RegionBuilder {
  dp_dtype dtype, of_statistics;
  std::vector<int64_t> extents, channels;
  int x = 0, saved_mean = -1, saved_invstd = -1;
  std::vector<int> full;  // values of all extents

  // divisor: divides samples and channels, as if the region were a shard. 0: there are three samples of no channels.
  explicit DrawnChannels(uint32_t seed, int64_t divisor = 1) : RegionBuilder(seed) {
    static const dp_dtype types[] = {DP_FLOAT32, DP_FLOAT64, DP_FLOAT32, DP_BFLOAT16, DP_FLOAT16};
    static const std::vector<std::vector<int64_t>> shapes = {{5, 3, 4, 4},    {1, 7, 33}, {64, 5},       {3, 130, 9},
                                                             {2, 40, 20, 60}, {0, 3, 2},  {4, 1, 5},     {70, 2, 1000},
                                                             {9, 200},        {1, 1, 1},  {2, 300, 1, 7}};
    dtype = types[seed % std::size(types)];
    of_statistics = dtype == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32;
    extents = shapes[seed % shapes.size()];
    extents[0] = divisor ? (extents[0] + divisor - 1) / divisor : 3;
    extents[1] = divisor ? (extents[1] + divisor - 1) / divisor : 0;
    channels = {extents[1]};
    full.push_back(x = Operand(dtype, extents));
    const int n_members = 1 + UpTo(7), at = UpTo(size_t(n_members));
    for (int m = 0; m < n_members; m++) {
      const bool result = m + 1 == n_members || !UpTo(3);
      if (m == at || !UpTo(4))
        Normalize(result);
      else
        Pointwise(result);
    }
    Number();
  }

  dp_attr Float(const char *name, double f) {
    dp_attr attr{};
    attr.name = name, attr.kind = DP_ATTR_FLOAT, attr.f = f;
    return attr;
  }
  int Any() { return full[size_t(UpTo(full.size()))]; }
  int Statistic() { return Operand(of_statistics, channels); }

  // Something that is broadcast along some dims.
  int Broadcast() {
    std::vector<int64_t> of = extents;
    for (int64_t &extent : of)
      if (!UpTo(2)) extent = 1;
    if (!UpTo(3)) of.erase(of.begin());
    return Operand(dtype, of);
  }

  void Pointwise(bool result) {
    static const char *const unary[] = {"Relu", "Tanh", "Neg", "Sigmoid", "Abs"};
    static const char *const binary[] = {"Add", "Mul", "Sub", "Max"};
    const int kind = UpTo(3);
    const std::vector<int> in =
        !kind ? std::vector<int>{Any()} : std::vector<int>{Any(), kind == 1 ? Any() : Broadcast()};
    const char *op = kind ? binary[UpTo(std::size(binary))] : unary[UpTo(std::size(unary))];
    full.push_back(Add("", op, in, dtype, extents, result));
  }

  void Normalize(bool result) {
    const int kind = UpTo(3), of = Any();
    if (kind == 2) {
      const int scale = Statistic(), mean = saved_mean < 0 || UpTo(2) ? Statistic() : saved_mean,
                invstd = mean == saved_mean ? saved_invstd : Statistic();
      full.push_back(Add("dp", "BatchNormalizationGrad", {of, scale, mean, invstd, Any()}, dtype, extents, result));
      AddResult(of_statistics, channels, UpTo(2));
      AddResult(of_statistics, channels, UpTo(2));
      return;
    }
    const int scale = Statistic(), bias = Statistic(), mean = Statistic(), variance = Statistic();
    full.push_back(Add("", "BatchNormalization", {of, scale, bias, mean, variance}, dtype, extents, result,
                       {Int("training_mode", kind), Int("unbiased", UpTo(2)), Float("epsilon", 2.5)}));
    if (!kind) return;
    AddResult(of_statistics, channels, UpTo(2));
    AddResult(of_statistics, channels, UpTo(2));
    saved_mean = AddResult(of_statistics, channels, UpTo(2));
    saved_invstd = AddResult(of_statistics, channels, UpTo(2));
  }
};

constexpr size_t kGuard = 64;

// replaced: the operand that the last result overwrites, or -1.
std::vector<std::vector<uint8_t>> Compute(const char *name, DrawnChannels *drawn, std::vector<Tensor> in, int threads,
                                          int replaced = -1) {
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, name);
  EXPECT_NE(kernel, nullptr) << name;
  drawn->spec.threads = threads;
  EXPECT_TRUE(dp_kernel_takes(kernel, &drawn->spec) && kernel->match(&drawn->spec)) << name;
  const size_t bytes = kernel->scratch_bytes(&drawn->spec);
  std::vector<uint8_t> room(bytes + kGuard + 64, 0xa5);
  auto *scratch = reinterpret_cast<uint8_t *>(dp_align_up(reinterpret_cast<uintptr_t>(room.data()), 64));
  std::vector<Tensor> out = drawn->Tensors(drawn->n_inputs, drawn->n_outputs);
  std::vector<const void *> from;
  std::vector<void *> to;
  for (Tensor &tensor : in) from.push_back(tensor.bytes.data());
  for (Tensor &tensor : out) {
    std::fill(tensor.bytes.begin(), tensor.bytes.end(), 0xff);
    to.push_back(tensor.bytes.data());
  }
  if (replaced >= 0) to.back() = in[size_t(replaced)].bytes.data();
  void *state = nullptr;
  EXPECT_EQ(kernel->prepare(&drawn->spec, &state), nullptr);
  const int parts = kernel->parts ? threads : 1;
  for (int part = parts; part-- > 0;)
    EXPECT_EQ(kernel->run(&drawn->spec, state, from.data(), to.data(), scratch, part, parts), nullptr);
  kernel->release(state);
  for (size_t i = 0; i < kGuard; i++) EXPECT_EQ(scratch[bytes + i], 0xa5) << "behind its scratch";
  std::vector<std::vector<uint8_t>> results;
  for (const Tensor &tensor : out) results.push_back(tensor.bytes);
  if (replaced >= 0) results.back() = in[size_t(replaced)].bytes;
  return results;
}

TEST(Channels, AreTheReferenceBitForBit) {
  int several = 0;
  for (uint32_t seed = 0; seed < 300; seed++) {
    SCOPED_TRACE(seed);
    DrawnChannels drawn(seed, seed % 20 == 19 ? 0 : 1);
    const std::vector<Tensor> in = drawn.Tensors(0, drawn.n_inputs);
    const auto expected = Compute("cpu.reference.dp.Region", &drawn, in, 1);
    for (int threads : {1, 2, 5, 64}) EXPECT_EQ(Compute("cpu.channels.dp.Region", &drawn, in, threads), expected);
    several += drawn.members.size() > 1;
  }
  EXPECT_GT(several, 200);
}

// The members' fast kernels one after another, each on whole operands.
const dp_kernel *Fast(const dp_member_spec *member) { return dp_kernel_select(&dp_target_cpu, &member->spec, false); }

TEST(Channels, FastOnesAreTheirMembersBitForBit) {
  if (!dp_target_cpu.isa()) GTEST_SKIP() << "this machine has neither AVX2 nor AVX-512";
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, "cpu.fast_channels.dp.Region");
  int computed = 0;
  for (uint32_t seed = 0; seed < 300; seed++) {
    SCOPED_TRACE(seed);
    DrawnChannels drawn(seed);
    if (drawn.dtype != DP_FLOAT32) continue;
    ASSERT_TRUE(kernel->match(&drawn.spec));
    const std::vector<Tensor> in = drawn.Tensors(0, drawn.n_inputs);
    std::vector<Tensor> out = drawn.Tensors(drawn.n_inputs, drawn.n_outputs);
    std::vector<const void *> from;
    std::vector<void *> to;
    for (const Tensor &tensor : in) from.push_back(tensor.bytes.data());
    for (Tensor &tensor : out) to.push_back(tensor.bytes.data());
    std::vector<uint64_t> scratch(dp_members_scratch_bytes(&drawn.spec, Fast) / 8 + 8);
    void *state = nullptr;
    ASSERT_EQ(dp_members_prepare(&drawn.spec, Fast, &state), DP_OK);
    ASSERT_EQ(dp_members_run(&drawn.spec, state, from.data(), to.data(), scratch.data()), DP_OK);
    dp_members_release(state);
    std::vector<std::vector<uint8_t>> expected;
    for (const Tensor &tensor : out) expected.push_back(tensor.bytes);
    for (int threads : {1, 2, 5}) EXPECT_EQ(Compute("cpu.fast_channels.dp.Region", &drawn, in, threads), expected);
    computed++;
  }
  EXPECT_GT(computed, 80);
}

// The last result may overwrite operand 0 if the pointwise member that makes it is the last to read that, as its first
// operand, or if none reads it any more.
TEST(Channels, ResultsMayLieOnOperands) {
  int checked = 0;
  for (uint32_t seed = 0; seed < 1500; seed++) {
    DrawnChannels drawn(seed);
    const size_t last = drawn.members.size() - 1;
    if (drawn.given.back()[0] != drawn.n_inputs + drawn.n_outputs - 1) continue;
    bool reads = false;
    for (size_t i = 0; i < drawn.taken[last].size(); i++) reads |= drawn.taken[last][i] == 0 && i > 0;
    if (reads || (drawn.taken[last][0] == 0 && !dp_op_is_pointwise(drawn.members[last].op))) continue;
    SCOPED_TRACE(seed);
    const std::vector<Tensor> in = drawn.Tensors(0, drawn.n_inputs);
    const auto expected = Compute("cpu.reference.dp.Region", &drawn, in, 1);
    for (const char *name : {"cpu.reference.dp.Region", "cpu.channels.dp.Region"})
      for (int threads : {1, 3}) EXPECT_EQ(Compute(name, &drawn, in, threads, 0), expected) << name;
    checked++;
  }
  EXPECT_GT(checked, 100);
}

// A plan reserves what the largest shard needs, and its kernel takes every smaller one.
TEST(Channels, NoShardNeedsMoreScratchThanALargerOne) {
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, "cpu.channels.dp.Region");
  for (uint32_t seed = 0; seed < 200; seed++) {
    uint64_t smaller = 0;
    const auto bytes = [&](int64_t divisor, int64_t *samples) {
      DrawnChannels drawn(seed, divisor);
      drawn.spec.threads = 3;
      EXPECT_TRUE(kernel->match(&drawn.spec)) << seed;
      *samples = drawn.extents[0];
      return kernel->scratch_bytes(&drawn.spec);
    };
    int64_t samples, of_none;
    for (int64_t divisor : {4000, 7, 3, 2, 1}) {
      const uint64_t larger = bytes(divisor, &samples);
      EXPECT_GE(larger, smaller) << "seed " << seed << ", divisor " << divisor;
      smaller = larger;
    }
    const uint64_t none = bytes(0, &of_none);
    if (samples >= of_none) {
      EXPECT_GE(smaller, none) << "seed " << seed << ", no channels";
    }
  }
}

TEST(Channels, RefuseOthers) {
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, "cpu.channels.dp.Region");
  const std::vector<int64_t> x = {4, 3, 5, 5}, c = {3};
  const auto region = [&](const char *op, const std::vector<int64_t> &second, const std::vector<int64_t> &made) {
    RegionBuilder b(1);
    const int in = b.Operand(DP_FLOAT32, x);
    const int y = b.Add(
        "", "BatchNormalization",
        {in, b.Operand(DP_FLOAT32, c), b.Operand(DP_FLOAT32, c), b.Operand(DP_FLOAT32, c), b.Operand(DP_FLOAT32, c)},
        DP_FLOAT32, x, true);
    b.Add("", op, {second.empty() ? y : b.Operand(DP_FLOAT32, second), y}, DP_FLOAT32, made, true);
    b.Number();
    return kernel->match(&b.spec);
  };
  EXPECT_TRUE(region("Add", {}, x));
  EXPECT_TRUE(region("Add", {3, 1, 1}, x));
  EXPECT_TRUE(region("Add", {4, 1, 5, 5}, x));
  EXPECT_FALSE(region("Softmax", {}, x));                         // works on rows
  EXPECT_FALSE(region("Reshape", {}, x));                         // on neither
  EXPECT_FALSE(region("Add", {2, 4, 3, 5, 5}, {2, 4, 3, 5, 5}));  // more dims
  RegionBuilder same(1);  // statistics that a pointwise member takes along another dim
  const int in = same.Operand(DP_FLOAT32, {4, 3, 5, 3}), s = same.Operand(DP_FLOAT32, c);
  const int y = same.Add("", "BatchNormalization", {in, s, s, s, s}, DP_FLOAT32, {4, 3, 5, 3}, false);
  same.Add("", "Add", {y, s}, DP_FLOAT32, {4, 3, 5, 3}, true);
  same.Number();
  EXPECT_FALSE(kernel->match(&same.spec));
}

}  // namespace
}  // namespace dp_test
