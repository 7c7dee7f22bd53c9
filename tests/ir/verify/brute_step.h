// The bytes that an instruction touches, for brute_order.h.
#ifndef DP_TESTS_VERIFY_BRUTE_STEP_H
#define DP_TESTS_VERIFY_BRUTE_STEP_H

#include <vector>

#include "ir/plan/plan.pb-c.h"

namespace dp_test {
namespace brute {

struct Range {
  int space;
  uint64_t begin, end;
};

struct Step {
  const Dp__Instruction *in;
  const Dp__Program *program;
  std::vector<Range> reads, writes;
  bool collective;
  bool ahead = false;
};

// Throws if the instruction refers to tensors that do not exist.
Step MakeStep(const Dp__Program *program, const Dp__Instruction *in);
bool Is(const Step &step, const char *op);
bool OnHost(int space);
bool Overlap(const Range &x, const Range &y);
// Whether the two conflict in the memory of one device.
bool Conflict(const Step &a, const Step &b);

}  // namespace brute
}  // namespace dp_test

#endif
