// The toolkit's own NVRTC compiles the functions that a sample of each operator needs, for Hopper; with DP_FULL those
// of all samples, for GPUs from Ampere to Blackwell. Where there is no toolkit, the test says so and passes. No GPU is
// needed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/target.h"
#include "tests/cuda/library_kernels.h"
#include "tests/ir/text/text_helper.h"

namespace dp_test {
namespace {

// What kernels need that are no library's: libraries want a GPU.
bool IsOurs(const dp_kernel *kernel) { return kernel && !kernel->library && kernel->prepare; }

TEST(Nvrtc, CompilesEveryFunction) {
  setenv("XDG_CACHE_HOME", testing::TempDir().c_str(), 1);
  const bool full = getenv("DP_FULL");
  std::set<const dp_op *> seen;
  int prepared = 0;
  for (const std::vector<Case> &cases : {AllCases(true), TypeCases()})
    for (const Case &c : cases) {
      if (IsReplaced(c.op) || dp_op_is(c.op, DP_OP_COMMUNICATION)) continue;
      Ready ready(c);
      const Spec spec(ready.built->node, ready.in, ready.out);
      const dp_kernel *kernel = dp_kernel_select(&dp_target_cuda, &spec, true);
      if (!IsOurs(kernel) || (!full && !seen.insert(c.op).second)) continue;
      void *state = nullptr;
      ASSERT_EQ(Message(kernel->prepare(&spec, &state)), "") << c.Name();
      if (kernel->release) kernel->release(state);
      prepared++;
    }
  EXPECT_GT(prepared, full ? 1000 : 80);
  std::vector<int> kinds = {90};
  if (full) kinds = {80, 90, 100, 120};
  for (int kind : kinds) {
    int count = 0;
    size_t bytes = 0;
    dp_status status = dp_cuda_functions_compile(kind / 10, kind % 10, &count, &bytes);
    if (dp_status_code(status) == EX_UNAVAILABLE) {
      std::printf("left out: %s\n", dp_status_message(status));
      dp_status_free(status);
      break;
    }
    ASSERT_EQ(Message(status), "") << "sm_" << kind;
    std::printf("sm_%d: %d functions, %zu bytes of machine code\n", kind, count, bytes);
    EXPECT_GT(count, 30);
    EXPECT_GT(bytes, 1000u * count);
  }
}

}  // namespace
}  // namespace dp_test
