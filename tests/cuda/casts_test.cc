// Casts of many tensors by one launch a pair of types: each result has the bits of a Cast by itself, whatever its size
// and where it begins, and of NaN, infinities and what rounds to them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/target.h"
#include "ir/kernel/member.h"
#include "tests/cuda/one_by_one.h"

namespace dp_test {
namespace {

const dp_kernel *Kernel() { return dp_kernel_find(&dp_target_cuda, "cuda.casts.dp.Region"); }

struct Pair {
  dp_dtype from, to;
};
const Pair kPairs[] = {{DP_FLOAT32, DP_BFLOAT16},
                       {DP_FLOAT32, DP_FLOAT16},
                       {DP_FLOAT64, DP_BFLOAT16},
                       {DP_BFLOAT16, DP_FLOAT32},
                       {DP_FLOAT16, DP_FLOAT64}};
// None, one, about what a thread takes at once and in all, and more than a block's threads take.
const std::vector<std::vector<int64_t>> kSizes = {{0},  {1},      {7},    {8},    {3, 3},
                                                  {31}, {257, 3}, {8192}, {8193}, {3, 9000}};

// Tensors of all sizes, their pairs in turns, so that each size has each pair.
void Build(RegionBuilder *b, int pairs) {
  for (int turn = 0; turn < pairs; turn++)
    for (size_t i = 0; i < kSizes.size(); i++) {
      const Pair &pair = kPairs[(i + size_t(turn)) % size_t(pairs)];
      const int x = b->Operand(pair.from, kSizes[i]);
      b->Add("", "Cast", {x}, pair.to, kSizes[i], true, {RegionBuilder::Int("to", pair.to)});
    }
  b->Number();
}

void AddSpecial(std::vector<Tensor> *in) {
  // The last two lie just above the middle of two neighbours of 16 bits, so near that float32 has the middle itself.
  const double special[] = {
      NAN, INFINITY, -INFINITY, 3.4e38, 65519, 65520, 1e-8, -0.0, 1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-11 + 0x1p-40};
  for (Tensor &x : *in)
    for (int64_t k = 0; k < std::min<int64_t>(x.Count(), std::size(special)); k++)
      if (x.Count() > 7) x.Set(k, special[k]);
}

class CudaCasts : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(OpenDevice(), "");
    RegionBuilder all(1);
    Build(&all, int(std::size(kPairs)));
    ASSERT_EQ(dp_kernel_select(&dp_target_cuda, &all.spec, false), Kernel());
    for (int m = 0; m < all.region.n_members; m++) {
      dp_member_spec member;
      dp_member_spec_make(&all.region, m, all.values.data(), &member);
      void *state = nullptr;
      const dp_kernel *one = dp_kernel_select(&dp_target_cuda, &member.spec, false);
      ASSERT_EQ(one->prepare(&member.spec, &state), nullptr);
      one->release(state);
    }
    void *state = nullptr;
    ASSERT_EQ(Kernel()->prepare(&all.spec, &state), nullptr);
    Kernel()->release(state);
    ASSERT_EQ(dp_cuda_functions_load(), nullptr);
  }
};

TEST_F(CudaCasts, HaveTheBitsOfCastsByThemselves) {
  for (int pairs = 1; pairs <= int(std::size(kPairs)); pairs += 2) {
    SCOPED_TRACE(pairs);
    RegionBuilder b(7);
    Build(&b, pairs);
    std::vector<Tensor> in = b.Tensors(0, b.n_inputs);
    AddSpecial(&in);
    const std::vector<Tensor> expected = OneByOne(&b, in);
    const Outcome found = RunKernel(Kernel(), b.spec, in, b.Tensors(b.n_inputs, b.n_outputs), -1);
    ASSERT_EQ(found.error, "");
    for (size_t k = 0; k < expected.size(); k++)
      EXPECT_EQ(found.results[k].bytes, expected[k].bytes) << k << ": " << expected[k].Count();
  }
}

// Members run at once, so what one writes another must not read.
TEST_F(CudaCasts, RefuseResultsOnOperands) {
  RegionBuilder b(7);
  for (int m = 0; m < 2; m++) {
    const int x = b.Operand(DP_FLOAT32, {257, 3});
    b.Add("", "Cast", {x}, DP_FLOAT32, {257, 3}, true, {RegionBuilder::Int("to", DP_FLOAT32)});
  }
  b.Number();
  void *state = nullptr;
  ASSERT_EQ(Kernel()->prepare(&b.spec, &state), nullptr);
  Kernel()->release(state);
  for (int operand : {-1, 0, 1}) {
    const Outcome found =
        RunKernel(Kernel(), b.spec, b.Tensors(0, b.n_inputs), b.Tensors(b.n_inputs, b.n_outputs), operand);
    EXPECT_EQ(found.error.find("lies where an operand does") != std::string::npos, operand >= 0) << found.error;
  }
}

// What follows another member, gives no result of the region, or is no Cast of floats.
TEST(CudaCast, TakesCastsOfOperandsToResultsAlone) {
  for (int way = 0; way < 5; way++) {
    RegionBuilder b(1);
    const int x = b.Operand(way == 3 ? DP_INT32 : DP_FLOAT32, {3}), y = b.Operand(DP_FLOAT32, {3});
    const int first = b.Add("", "Cast", {x}, DP_BFLOAT16, {3}, way != 2, {RegionBuilder::Int("to", DP_BFLOAT16)});
    if (way == 1 || way == 2)
      b.Add("", "Cast", {first}, DP_FLOAT32, {3}, true, {RegionBuilder::Int("to", DP_FLOAT32)});
    else if (way == 4)
      b.Add("", "Exp", {y}, DP_FLOAT32, {3}, true);
    else
      b.Add("", "Cast", {y}, DP_FLOAT16, {3}, true, {RegionBuilder::Int("to", DP_FLOAT16)});
    b.Number();
    EXPECT_EQ(Kernel()->match(&b.spec), way == 0) << way;
  }
}

}  // namespace
}  // namespace dp_test
