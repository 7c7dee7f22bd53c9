// Heads of networks on CUDA, in chunks of rows, compared with the CPU's reference of regions.
#include <gtest/gtest.h>

#include "backends/cpu/target.h"
#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/target.h"
#include "tests/backends/drawn_head.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

constexpr uint32_t kSeeds = 28;

const dp_kernel *Kernel() { return dp_kernel_find(&dp_target_cuda, "cuda.head.dp.Region"); }

class CudaHead : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(OpenDevice(), "");
    for (uint32_t seed = 0; seed < kSeeds; seed++)
      for (int64_t rows : {int64_t{-1}, int64_t{0}}) {
        DrawnHead head(seed, rows);
        void *state = nullptr;
        ASSERT_EQ(dp_kernel_select(&dp_target_cuda, &head.spec, false), Kernel()) << seed;
        ASSERT_EQ(Kernel()->prepare(&head.spec, &state), nullptr);
        Kernel()->release(state);
      }
    ASSERT_EQ(dp_cuda_functions_load(), nullptr);
  }
};

void EqualsTheReference(uint32_t seed, int64_t rows) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  DrawnHead head(seed, rows);
  const std::vector<Tensor> in = head.Tensors(0, head.n_inputs);
  const std::vector<Tensor> expected =
      ReferenceOf(dp_kernel_find(&dp_target_cpu, "cpu.reference.dp.Region"), &head, in);
  const Outcome found = RunKernel(Kernel(), head.spec, in, expected, -1);
  ASSERT_EQ(found.error, "");
  for (size_t k = 0; k < expected.size(); k++) ExpectCloseHeads(head, expected[k], found.results[k]);
}

TEST_F(CudaHead, EqualsTheReference) {
  for (uint32_t seed = 0; seed < kSeeds; seed++) EqualsTheReference(seed, -1);
}

TEST_F(CudaHead, OfNoRows) {
  for (uint32_t seed = 0; seed < 16; seed++) EqualsTheReference(seed, 0);
}

TEST_F(CudaHead, NamesTheLabelThatIsRefused) {
  for (uint32_t seed = 0; seed < 3; seed++) {
    DrawnHead head(seed, 3000);
    std::vector<Tensor> in = head.Tensors(0, head.n_inputs);
    for (size_t i = 0; i < in.size(); i++)
      if (int(head.value_at[i]) == head.labels) in[i].Set(2345, double(head.classes));
    const std::string error = RunKernel(Kernel(), head.spec, in, head.Tensors(head.n_inputs, head.n_outputs), -1).error;
    EXPECT_NE(error.find("at index 2345 of the batch"), std::string::npos) << error;
  }
}

TEST(CudaHeads, FewerRowsNeedNoMoreScratch) {
  for (uint32_t seed = 0; seed < 40; seed++) {
    uint64_t most = 0;
    for (int64_t rows : {0, 2, 4, 64, 256, 510, 2046, 2048, 2050, 4096, 4098, 16384, 16386, 40000}) {
      DrawnHead head(seed, rows);
      const uint64_t bytes = Kernel()->scratch_bytes(&head.spec);
      EXPECT_GE(bytes, most) << "seed " << seed << ", " << rows << " rows";
      most = bytes;
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
