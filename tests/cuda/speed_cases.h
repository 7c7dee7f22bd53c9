// What kernels_speed measures: for each kernel of CUDA, problems of the sizes that networks have.
#ifndef DP_TESTS_CUDA_SPEED_CASES_H
#define DP_TESTS_CUDA_SPEED_CASES_H

#include <string>
#include <vector>

#include "tests/ir/ops/samples.h"

namespace dp_test {

// One kernel at one node. inputs, attrs, n, low and high are those of a dp_sample.
struct SpeedCase {
  std::string kernel;  // as `dpc ops` names it
  std::string inputs, attrs;
  int64_t n;
  double low = 0, high = 0;
  bool half = false;  // in bfloat16 too, wherever an operand in float32 may be
  double flops = 0;   // 0: its work is what it reads and writes; else this part of the operator's flops
  int results = 0;    // the first so many alone; 0: all
};

// The rows of the table, then pointwise operators: the first sample of each, of 512 MiB. small: all of them with few
// elements.
std::vector<SpeedCase> SpeedCases(bool small);

// Kernels that have no row, each with the reason.
struct Unmeasured {
  const char *kernel, *why;
};
const std::vector<Unmeasured> &UnmeasuredKernels();

// The operator that a kernel is named with; NULL if there is none.
const dp_op *OperatorOf(const std::string &kernel);

// The products whose speed is the peak, in one type of float.
SpeedCase PeakCase(dp_dtype dtype, bool small);

// A spec with its operands and results, which have no memory.
struct SpeedSpec : dp_kernel_spec {
  std::vector<dp_kernel_operand> operands, made;
  SpeedSpec(const dp_node *of, int64_t n, int results = 0);
  SpeedSpec(const SpeedSpec &) = delete;
  SpeedSpec &operator=(const SpeedSpec &) = delete;
};

}  // namespace dp_test

#endif
