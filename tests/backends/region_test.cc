// Compares the kernel of rows with the reference of regions, bit for bit. Operands broadcast; extents are divisible by
// chunks or not, or empty; the kernel runs in one part or several; results overwrite operands. The scratch must be as
// large as declared.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cpu/target.h"
#include "tests/backends/region_builder.h"

namespace dp_test {
namespace {

constexpr size_t kGuard = 64;

// replaced: the operand that result k overwrites, or -1.
std::vector<std::vector<uint8_t>> Compute(const char *name, Drawn *drawn, std::vector<std::vector<uint8_t>> operands,
                                          int threads, int replaced = -1) {
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, name);
  EXPECT_NE(kernel, nullptr) << name;
  drawn->spec.threads = threads;
  EXPECT_TRUE(dp_kernel_takes(kernel, &drawn->spec) && kernel->match(&drawn->spec));
  const size_t bytes = kernel->scratch_bytes(&drawn->spec);
  std::vector<uint8_t> room(bytes + kGuard + 64, 0xa5);
  auto *scratch = reinterpret_cast<uint8_t *>(dp_align_up(reinterpret_cast<uintptr_t>(room.data()), 64));
  std::vector<std::vector<uint8_t>> results;
  std::vector<const void *> in;
  std::vector<void *> out;
  for (auto &operand : operands) in.push_back(operand.data());
  for (int k = 0; k < drawn->n_outputs; k++)
    results.emplace_back(drawn->Bytes(static_cast<size_t>(drawn->n_inputs + k)), 0xff);
  for (auto &result : results) out.push_back(result.data());
  if (replaced >= 0) out.back() = operands[static_cast<size_t>(replaced)].data();
  void *state = nullptr;
  EXPECT_EQ(kernel->prepare(&drawn->spec, &state), nullptr);
  const int parts = kernel->parts ? threads : 1;
  for (int part = parts; part-- > 0;)
    EXPECT_EQ(kernel->run(&drawn->spec, state, in.data(), out.data(), scratch, part, parts), nullptr);
  kernel->release(state);
  for (size_t i = 0; i < kGuard; i++) EXPECT_EQ(scratch[bytes + i], 0xa5) << "behind its scratch";
  if (replaced >= 0) results.back() = operands[static_cast<size_t>(replaced)];
  return results;
}

// Every seed in float32 or float64, and in a type of 16 bits.
std::vector<dp_dtype> TypesOf(uint32_t seed) { return {DP_NO_TYPE, seed % 4 < 2 ? DP_BFLOAT16 : DP_FLOAT16}; }

void RowsAreTheReference(uint32_t seed, dp_dtype dtype) {
  Drawn drawn(seed, 1, dtype);
  const auto operands = drawn.Operands();
  const auto expected = Compute("cpu.reference.dp.Region", &drawn, operands, 1);
  for (int threads : {1, 2, 5}) EXPECT_EQ(Compute("cpu.rows.dp.Region", &drawn, operands, threads), expected);
}

TEST(Region, RowsAreTheReferenceBitForBit) {
  for (uint32_t seed = 0; seed < 400; seed++) {
    SCOPED_TRACE(seed);
    for (dp_dtype dtype : TypesOf(seed)) RowsAreTheReference(seed, dtype);
  }
}

// The last member computes the last result. That may overwrite operand 0 if this pointwise member is the last to read
// it, as its first operand.
TEST(Region, ResultsMayLieOnOperands) {
  int checked = 0;
  for (uint32_t seed = 0; seed < 800; seed++) {
    Drawn drawn(seed / 2, 1, TypesOf(seed / 2)[seed % 2]);
    bool alone = drawn.taken.back()[0] == 0 && (drawn.taken.back().size() < 2 || drawn.taken.back()[1] != 0);
    if (!alone || !dp_op_is_pointwise(drawn.members.back().op)) continue;
    SCOPED_TRACE(seed);
    const auto operands = drawn.Operands();
    const auto expected = Compute("cpu.reference.dp.Region", &drawn, operands, 1);
    for (const char *name : {"cpu.reference.dp.Region", "cpu.rows.dp.Region"})
      for (int threads : {1, 3}) EXPECT_EQ(Compute(name, &drawn, operands, threads, 0), expected);
    checked++;
  }
  EXPECT_GT(checked, 80);
}

// A value that is broadcast, or has a smaller type, leaves its memory to no result of its reader, though both take the
// least that memory is given out in.
TEST(Region, AResultReplacesWhatHasItsTypeAndExtents) {
  RegionBuilder b(1);
  const int x = b.Operand(DP_FLOAT32, {2, 3});
  const int sum = b.Add("", "ReduceSum", {x}, DP_FLOAT32, {2, 1}, false, {b.Axes({1}), b.Int("keepdims", 1)});
  const int spread = b.Add("", "Add", {sum, x}, DP_FLOAT32, {2, 3}, false);
  b.Add("", "Neg", {spread}, DP_FLOAT32, {2, 3}, true);
  b.Number();
  const std::vector<Tensor> in = b.Tensors(0, 1);
  const std::vector<Tensor> out = ReferenceOf(dp_kernel_find(&dp_target_cpu, "cpu.reference.dp.Region"), &b, in);
  for (int64_t i = 0; i < 6; i++) {
    const int64_t row = i / 3 * 3;
    EXPECT_NEAR(out[0].Get(i), -(in[0].Get(row) + in[0].Get(row + 1) + in[0].Get(row + 2) + in[0].Get(i)), 1e-5) << i;
  }
}

// A plan reserves what the largest shard needs.
TEST(Region, NoShardNeedsMoreScratchThanALargerOne) {
  for (uint32_t seed = 0; seed < 200; seed++)
    for (const char *name : {"cpu.reference.dp.Region", "cpu.rows.dp.Region"}) {
      const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, name);
      uint64_t smaller = 0;
      for (int64_t divisor : {4000, 7, 3, 2, 1}) {
        Drawn drawn(seed / 2, divisor, TypesOf(seed / 2)[seed % 2]);
        drawn.spec.threads = 3;
        const uint64_t bytes = kernel->scratch_bytes(&drawn.spec);
        EXPECT_GE(bytes, smaller) << name << ", seed " << seed << ", divisor " << divisor;
        smaller = bytes;
      }
    }
}

// The reference kernel computes regions with members that have no rows.
TEST(Region, RowsRefuseOthers) {
  Drawn drawn(9);
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, "cpu.rows.dp.Region");
  ASSERT_TRUE(kernel->match(&drawn.spec));
  for (const char *op : {"Reshape", "Transpose", "Trilu"}) {
    std::vector<dp_kernel_member> members = drawn.members;
    members[0].op = dp_op_find("", op);
    dp_graph *holder = dp_graph_create(dp_model_create(drawn.arena, "m"), "g");
    const char *unnamed[] = {nullptr};
    members[0].node = dp_graph_add_node(holder, members[0].op, "n", 0, nullptr, 1, unnamed, 0, nullptr);
    dp_kernel_region region = drawn.region;
    region.members = members.data();
    dp_kernel_spec spec = drawn.spec;
    spec.region = &region;
    EXPECT_FALSE(kernel->match(&spec)) << op;
  }
}

// ---- updates --------------------------------------------------------------------------------------------------------

// Updates of many tensors of different sizes, in place, by dp.Adam.
struct Updates {
  static constexpr int kOperands = 4, kResults = 3;  // w, m, v, g; then lr, step and scale, which all share
  Arena arena;
  std::vector<dp_kernel_operand> values;
  std::vector<std::vector<int32_t>> taken, made;
  std::vector<dp_kernel_member> members;
  std::vector<std::vector<float>> numbers;
  float lr = 0.1f, scale = 0.7f;
  int64_t step = 3;
  dp_kernel_region region{};
  dp_kernel_spec spec{};

  explicit Updates(const std::vector<int64_t> &sizes) {
    std::mt19937 rng(7);
    dp_graph *holder = dp_graph_create(dp_model_create(arena, "m"), "g");
    const dp_op *adam = dp_op_find("dp", "Adam");
    const auto n = static_cast<int32_t>(sizes.size()), n_inputs = kOperands * n + 3;
    for (int32_t i = 0; i < n; i++)
      for (int k = 0; k < kOperands; k++) {
        values.push_back({DP_FLOAT32, true, LocalOf({sizes[static_cast<size_t>(i)]}), DP_LAYOUT_PLAIN});
        numbers.emplace_back(static_cast<size_t>(sizes[static_cast<size_t>(i)]));
        for (float &x : numbers.back()) x = static_cast<float>(rng() % 1000) / 1000;
      }
    values.push_back({DP_FLOAT32, true, LocalOf({}), DP_LAYOUT_PLAIN});
    values.push_back({DP_INT64, true, LocalOf({}), DP_LAYOUT_PLAIN});
    values.push_back({DP_FLOAT32, true, LocalOf({}), DP_LAYOUT_PLAIN});
    for (int32_t i = 0; i < n; i++) {
      const int32_t first = i * kOperands, result = n_inputs + i * kResults;
      taken.push_back({first, first + 1, first + 2, first + 3, n_inputs - 3, n_inputs - 2, n_inputs - 1});
      made.push_back({result, result + 1, result + 2});
      for (int k = 0; k < kResults; k++) values.push_back(values[static_cast<size_t>(first)]);
      const char *unnamed[kResults] = {};
      members.push_back({adam, dp_graph_add_node(holder, adam, "n", 0, nullptr, kResults, unnamed, 0, nullptr), 7,
                         kResults, nullptr, nullptr});
    }
    for (size_t m = 0; m < members.size(); m++) {
      members[m].inputs = taken[m].data();
      members[m].outputs = made[m].data();
    }
    region = {n, static_cast<int>(values.size()), members.data(), values.data()};
    spec.op = dp_op_find("dp", "Region");
    spec.n_inputs = n_inputs;
    spec.n_outputs = kResults * n;
    spec.inputs = values.data();
    spec.outputs = values.data() + n_inputs;
    spec.region = &region;
  }

  void Run(const char *name, int threads) {
    const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, name);
    ASSERT_NE(kernel, nullptr) << name;
    spec.threads = threads;
    ASSERT_TRUE(dp_kernel_takes(kernel, &spec) && kernel->match(&spec));
    std::vector<const void *> in;
    std::vector<void *> out;
    for (size_t i = 0; i < numbers.size(); i++) {
      in.push_back(numbers[i].data());
      if (i % kOperands < kResults) out.push_back(numbers[i].data());
    }
    in.push_back(&lr);
    in.push_back(&step);
    in.push_back(&scale);
    void *state = nullptr;
    ASSERT_EQ(kernel->prepare(&spec, &state), nullptr);
    std::vector<uint8_t> scratch(kernel->scratch_bytes ? kernel->scratch_bytes(&spec) : 0);
    const int parts = kernel->parts ? threads : 1;
    for (int part = parts; part-- > 0;)
      ASSERT_EQ(kernel->run(&spec, state, in.data(), out.data(), scratch.data(), part, parts), nullptr);
    kernel->release(state);
  }
};

TEST(Region, UpdatesOfManyTensorsAreTheReferenceBitForBit) {
  std::vector<int64_t> many;
  for (int64_t i = 0; i < 40; i++) many.push_back(i * i);
  for (const std::vector<int64_t> &sizes : {std::vector<int64_t>{1}, {5, 1, 0, 4097}, many}) {
    Updates expected(sizes);
    const auto before = expected.numbers;
    expected.Run("cpu.reference.dp.Region", 1);
    EXPECT_NE(expected.numbers, before);
    for (int threads : {1, 2, 5}) {
      for (const char *name : {"cpu.updates.dp.Region", "cpu.fast_updates.dp.Region"}) {
        if (!dp_target_cpu.isa() && dp_kernel_find(&dp_target_cpu, name)->isa) continue;
        Updates found(sizes);
        found.Run(name, threads);
        EXPECT_EQ(found.numbers, expected.numbers) << name << ", " << threads;
      }
    }
  }
}

// Parts run in any order, so no update may read a value that another one replaces, nor read its own twice.
TEST(Region, UpdatesThatDependOnEachOtherGoToTheReference) {
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, "cpu.updates.dp.Region");
  Updates updates({4, 4});
  updates.spec.threads = 1;
  ASSERT_TRUE(kernel->match(&updates.spec));
  updates.taken[1][3] = updates.taken[0][0];  // the other's parameter as its gradient
  EXPECT_FALSE(kernel->match(&updates.spec));
  updates.taken[1][3] = updates.taken[1][0];  // its own
  EXPECT_FALSE(kernel->match(&updates.spec));
  updates.taken[1][3] = updates.made[0][0];  // what the other made
  EXPECT_FALSE(kernel->match(&updates.spec));
  updates.taken[1][3] = updates.taken[0][3];  // the same gradient for both
  EXPECT_TRUE(kernel->match(&updates.spec));
  updates.spec.n_outputs--;  // its last result stays inside
  EXPECT_FALSE(kernel->match(&updates.spec));
}

}  // namespace
}  // namespace dp_test
