// Data that an operator does not take, in our own kernels of CUDA: it is reported by the queue, with its place.
#include <gtest/gtest.h>

#include "backends/cuda/target.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

// What the kernel says when element `at` of operand 1 is `value`.
std::string Report(const Problem &problem, int64_t at, double value) {
  EXPECT_EQ(OpenDevice(), "");
  Ready ready = Draw(problem);
  for (int64_t i = 0; i < ready.in[1].Count(); i++) ready.in[1].Set(i, 1);
  const Spec spec(ready.built->node, ready.in, ready.out);
  const dp_kernel *kernel = dp_kernel_select(&dp_target_cuda, &spec, false);
  EXPECT_EQ(RunKernel(kernel, spec, ready.in, ready.out).error, "");
  ready.in[1].Set(at, value);
  return RunKernel(kernel, spec, ready.in, ready.out).error;
}

TEST(WrongData, IsReported) {
  const Problem loss = {"SoftmaxCrossEntropyLoss", "", "float32[N,4], int64[N]", "", 5, 1};
  const Problem gradient = {"SoftmaxCrossEntropyLossGrad", "dp", "float32[N,4], int64[N], float32[]", "", 5, 1};
  for (const Problem &p : {loss, gradient}) {
    EXPECT_NE(Report(p, 3, 4).find("label 4 at index 3 of the batch is not in 0..3"), std::string::npos);
    EXPECT_NE(Report(p, 0, -1).find("label -1 at index 0"), std::string::npos);
  }
  const Problem gather = {"Gather", "", "float32[6,3], int64[N]", "", 4, 1};
  EXPECT_NE(Report(gather, 2, 6).find("index 6 at position 2 is not in -6..5"), std::string::npos);
  EXPECT_NE(Report(gather, 2, -7).find("index -7 at position 2"), std::string::npos);
  const Problem elements = {"GatherElements", "", "float32[3,4], int32[3,N]", "axis=-1", 2, 1};
  EXPECT_NE(Report(elements, 5, 4).find("index 4 at position 5 is not in -4..3"), std::string::npos);
  const Problem scatter = {"ScatterElements", "", "bool[3,4], int64[N,4], bool[N,4]", "", 2, 1};
  EXPECT_NE(Report(scatter, 6, -4).find("index -4 at position 6 is not in -3..2"), std::string::npos);
  for (const char *op : {"Div", "Mod"}) {
    const Problem divide = {op, "", "int64[N,3], int64[3]", "", 4, 1};
    EXPECT_NE(Report(divide, 2, 0).find("by zero at position 2"), std::string::npos) << op;
  }
}

}  // namespace
}  // namespace dp_test
