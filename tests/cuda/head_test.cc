// Heads of networks on CUDA, in chunks of rows, compared with the CPU's reference of regions.
#include <gtest/gtest.h>

#include <map>

#include "backends/cpu/target.h"
#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/target.h"
#include "tests/backends/drawn_head.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

constexpr uint32_t kSeeds = 28;

const dp_kernel *Kernel() { return dp_kernel_find(&dp_target_cuda, "cuda.head.dp.Region"); }
// Of heads that are no more than products and a loss.
const dp_kernel *Plain() { return dp_kernel_find(&dp_target_cuda, "cuda.blaslt.dp.Region"); }

// From kSeeds on, heads that are no more than that.
DrawnHead HeadOf(uint32_t seed, int64_t rows) { return DrawnHead(seed, rows, DP_NO_TYPE, seed >= kSeeds); }

std::vector<const dp_kernel *> KernelsOf(const DrawnHead &head) {
  if (Plain()->match(&head.spec)) return {Kernel(), Plain()};
  return {Kernel()};
}

class CudaHead : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(OpenDevice(), "");
    for (uint32_t seed = 0; seed < 2 * kSeeds; seed++)
      for (int64_t rows : {int64_t{-1}, int64_t{0}}) {
        DrawnHead head = HeadOf(seed, rows);
        ASSERT_EQ(dp_kernel_select(&dp_target_cuda, &head.spec, false), KernelsOf(head).back()) << seed;
        for (const dp_kernel *kernel : KernelsOf(head)) {
          void *state = nullptr;
          ASSERT_EQ(kernel->prepare(&head.spec, &state), nullptr);
          kernel->release(state);
        }
      }
    ASSERT_EQ(dp_cuda_functions_load(), nullptr);
  }
};

void EqualsTheReference(DrawnHead head) {
  const std::vector<Tensor> in = head.Tensors(0, head.n_inputs);
  const std::vector<Tensor> expected =
      ReferenceOf(dp_kernel_find(&dp_target_cpu, "cpu.reference.dp.Region"), &head, in);
  for (const dp_kernel *kernel : KernelsOf(head)) {
    SCOPED_TRACE(kernel->name);
    const Outcome found = RunKernel(kernel, head.spec, in, expected, -1);
    ASSERT_EQ(found.error, "");
    for (size_t k = 0; k < expected.size(); k++) ExpectCloseHeads(head, expected[k], found.results[k]);
  }
}

TEST_F(CudaHead, EqualsTheReference) {
  int plain = 0;
  for (uint32_t seed = 0; seed < 2 * kSeeds; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EqualsTheReference(HeadOf(seed, -1));
    plain += KernelsOf(HeadOf(seed, -1)).size() > 1;
  }
  EXPECT_GE(plain, kSeeds * 3 / 4);  // all but those in float64
}

TEST_F(CudaHead, OfNoRows) {
  for (uint32_t seed = 0; seed < 2 * kSeeds; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EqualsTheReference(HeadOf(seed, 0));
  }
}

// Rows that are held in registers as a whole, and that are not.
TEST_F(CudaHead, OfManyClasses) {
  for (dp_dtype dtype : {DP_BFLOAT16, DP_FLOAT32})
    for (int64_t classes : {9001, 70001}) {
      SCOPED_TRACE(std::to_string(classes) + " classes");
      EqualsTheReference(DrawnHead(kSeeds + 2, 3, dtype, true, classes));
    }
}

TEST_F(CudaHead, NamesTheLabelThatIsRefused) {
  for (uint32_t seed : {0u, 1u, 2u, kSeeds + 1, kSeeds + 2, kSeeds + 3}) {
    DrawnHead head = HeadOf(seed, 3000);
    std::vector<Tensor> in = head.Tensors(0, head.n_inputs);
    for (size_t i = 0; i < in.size(); i++)
      if (int(head.value_at[i]) == head.labels) in[i].Set(2345, double(head.classes));
    for (const dp_kernel *kernel : KernelsOf(head)) {
      const std::string error = RunKernel(kernel, head.spec, in, head.Tensors(head.n_inputs, head.n_outputs), -1).error;
      EXPECT_NE(error.find("at index 2345 of the batch"), std::string::npos) << kernel->name << ": " << error;
    }
  }
}

TEST(CudaHeads, FewerRowsNeedNoMoreScratch) {
  for (uint32_t seed = 0; seed < 2 * kSeeds; seed++) {
    std::map<const dp_kernel *, uint64_t> most;
    for (int64_t rows : {0, 2, 4, 64, 256, 510, 2046, 2048, 2050, 4096, 4098, 16384, 16386, 40000}) {
      DrawnHead head = HeadOf(seed, rows);
      for (const dp_kernel *kernel : KernelsOf(head)) {
        const uint64_t bytes = kernel->scratch_bytes(&head.spec);
        EXPECT_GE(bytes, most[kernel]) << kernel->name << ", seed " << seed << ", " << rows << " rows";
        most[kernel] = bytes;
      }
    }
  }
}

// Beside what cuBLASLt may take for itself.
TEST(CudaHeads, ScoresOfAllRowsAreNowhere) {
  DrawnHead head(0, 1 << 20, DP_FLOAT32);
  const uint64_t scores = (uint64_t{1} << 20) * uint64_t(head.classes) * sizeof(float);
  EXPECT_LE(Kernel()->scratch_bytes(&head.spec), (32 << 20) + scores / 2);
}

}  // namespace
}  // namespace dp_test
