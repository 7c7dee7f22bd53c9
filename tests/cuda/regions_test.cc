// Regions on CUDA: drawn ones, compared with the CPU's reference of regions, with results that overwrite operands, and
// scratch that is enough for every part; updates of many tensors, compared with updates one by one.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/target.h"
#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/target.h"
#include "ir/graph/element.h"
#include "tests/backends/drawn_region.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

constexpr uint32_t kSeeds = 60;

const dp_kernel *Kernel() { return dp_kernel_find(&dp_target_cuda, "cuda.device.dp.Region"); }

std::vector<Tensor> Tensors(const dp_kernel_operand *values, int count) {
  std::vector<Tensor> tensors(static_cast<size_t>(count));
  for (size_t i = 0; i < tensors.size(); i++) {
    tensors[i].dtype = values[i].dtype;
    tensors[i].local = values[i].local;
    tensors[i].bytes.resize(size_t(tensors[i].Count()) * dp_type_bytes(values[i].dtype));
  }
  return tensors;
}

std::vector<Tensor> Operands(Drawn *drawn) {
  std::vector<Tensor> in = Tensors(drawn->spec.inputs, drawn->n_inputs);
  const auto numbers = drawn->Operands();
  for (size_t i = 0; i < in.size(); i++) in[i].bytes = numbers[i];
  return in;
}

// By the CPU's reference.
std::vector<Tensor> Expected(const Drawn &drawn, const std::vector<Tensor> &in) {
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, "cpu.reference.dp.Region");
  std::vector<Tensor> out = Tensors(drawn.spec.outputs, drawn.n_outputs);
  std::vector<uint64_t> scratch(kernel->scratch_bytes(&drawn.spec) / 8 + 8);
  std::vector<const void *> from;
  std::vector<void *> to;
  for (const Tensor &tensor : in) from.push_back(tensor.bytes.data());
  for (Tensor &tensor : out) to.push_back(tensor.bytes.data());
  void *state = nullptr;
  EXPECT_EQ(kernel->prepare(&drawn.spec, &state), DP_OK);
  EXPECT_EQ(kernel->run(&drawn.spec, state, from.data(), to.data(), scratch.data(), 0, 1), DP_OK);
  kernel->release(state);
  return out;
}

// The types that a seed is drawn in: its own, and one of 16 bits.
dp_dtype TypeOf(uint32_t seed, bool half) { return !half ? DP_NO_TYPE : seed % 2 ? DP_FLOAT16 : DP_BFLOAT16; }

// The places of two floats of 16 bits among all of them, apart.
int Apart(double a, double b, dp_dtype dtype) {
  const int p = dp_element_encode(dtype, std::fabs(a), false), q = dp_element_encode(dtype, std::fabs(b), false);
  return std::signbit(a) == std::signbit(b) ? std::abs(p - q) : p + q;
}

// Members are rounded as their nodes would be, so that results in 16 bits have the reference's bits; but where a
// function or a sum of float32 falls on the other side of a half, what follows may differ. Counts those elements.
void CountOthers(const Tensor &expected, const Tensor &found, int64_t *elements, int64_t *others) {
  for (int64_t i = 0; i < expected.Count(); i++) {
    const double a = expected.Get(i), b = found.Get(i);
    ++*elements;
    *others += !(a == b || (std::isnan(a) && std::isnan(b)) || Apart(a, b, expected.dtype) == 0);
  }
}

// Relative to the largest element: members with steep slopes make what the first ones round larger.
void ExpectClose(const Tensor &expected, const Tensor &found) {
  ASSERT_EQ(expected.Count(), found.Count());
  double scale = 1e-30;
  for (double x : Numbers(expected))
    if (std::isfinite(x)) scale = std::max(scale, std::fabs(x));
  for (int64_t i = 0; i < expected.Count(); i++) {
    const double a = expected.Get(i), b = found.Get(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_NEAR(a, b, (expected.dtype == DP_FLOAT64 ? 1e-11 : 1e-4) * scale) << "element " << i;
  }
}

// Compiles the functions of all drawn regions at once.
class CudaRegions : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(OpenDevice(), "");
    for (uint32_t i = 0; i < 2 * kSeeds; i++) {
      Drawn drawn(i / 2, 1, TypeOf(i / 2, i % 2));
      void *state = nullptr;
      ASSERT_TRUE(Kernel()->match(&drawn.spec)) << i / 2;
      ASSERT_EQ(Kernel()->prepare(&drawn.spec, &state), DP_OK);
      Kernel()->release(state);
    }
    ASSERT_EQ(dp_cuda_functions_load(), DP_OK);
  }
};

// The last member computes the last result. That may overwrite operand 0 if this pointwise member is the last to read
// it, as its first operand.
TEST_F(CudaRegions, EqualTheReference) {
  int over = 0;
  for (uint32_t seed = 0; seed < kSeeds; seed++) {
    SCOPED_TRACE(seed);
    Drawn drawn(seed);
    const std::vector<Tensor> in = Operands(&drawn), expected = Expected(drawn, in);
    const bool alone = drawn.taken.back()[0] == 0 && (drawn.taken.back().size() < 2 || drawn.taken.back()[1] != 0);
    const bool replaces = alone && dp_op_is_pointwise(drawn.members.back().op);
    for (int replaced = -1; replaced < (replaces ? 1 : 0); replaced++) {
      const Outcome found = RunKernel(Kernel(), drawn.spec, in, expected, replaced);
      ASSERT_EQ(found.error, "");
      for (size_t k = 0; k < expected.size(); k++) ExpectClose(expected[k], found.results[k]);
    }
    over += replaces;
  }
  EXPECT_GT(over, 5);
}

TEST_F(CudaRegions, RoundEveryMemberTo16Bits) {
  int64_t elements = 0, others = 0;
  for (uint32_t seed = 0; seed < kSeeds; seed++) {
    SCOPED_TRACE(seed);
    Drawn drawn(seed, 1, TypeOf(seed, true));
    const std::vector<Tensor> in = Operands(&drawn), expected = Expected(drawn, in);
    const Outcome found = RunKernel(Kernel(), drawn.spec, in, expected, -1);
    ASSERT_EQ(found.error, "");
    for (size_t k = 0; k < expected.size(); k++) CountOthers(expected[k], found.results[k], &elements, &others);
  }
  std::printf("%lld of %lld elements are not the reference's\n", (long long)others, (long long)elements);
  EXPECT_GT(elements, 50000);
  EXPECT_LT(others * 100, elements);
}

// A plan reserves what the largest shard needs.
TEST(CudaRegion, NoShardNeedsMoreScratchThanALargerOne) {
  for (uint32_t seed = 0; seed < 200; seed++) {
    uint64_t smaller = 0;
    for (int64_t divisor : {4000, 7, 3, 2, 1}) {
      Drawn drawn(seed, divisor);
      const uint64_t bytes = Kernel()->scratch_bytes(&drawn.spec);
      EXPECT_GE(bytes, smaller) << "seed " << seed << ", divisor " << divisor;
      smaller = bytes;
    }
  }
}

}  // namespace
}  // namespace dp_test
