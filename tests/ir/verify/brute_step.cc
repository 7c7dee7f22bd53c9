#include "tests/ir/verify/brute_step.h"

#include <string.h>

#include <stdexcept>

namespace dp_test {
namespace brute {

bool Is(const Step &step, const char *op) { return !strcmp(step.in->op, op); }

bool OnHost(int space) { return space == DP__SPACE__HOST_INPUT || space == DP__SPACE__HOST_OUTPUT; }

bool Overlap(const Range &x, const Range &y) { return x.space == y.space && x.begin < y.end && y.begin < x.end; }

namespace {

void Add(std::vector<Range> *ranges, int space, uint64_t offset, uint64_t bytes) {
  if (bytes) ranges->push_back({space, offset, offset + bytes});
}

const Dp__DeviceTensor *TensorOf(const Dp__Program *p, uint32_t operand) {
  if (operand > p->n_tensors) throw std::out_of_range("no such tensor");
  return p->tensors[operand - 1];
}

bool OverlapOnDevice(const std::vector<Range> &a, const std::vector<Range> &b) {
  for (const Range &x : a)
    for (const Range &y : b)
      if (!OnHost(x.space) && Overlap(x, y)) return true;
  return false;
}

}  // namespace

Step MakeStep(const Dp__Program *p, const Dp__Instruction *in) {
  Step step = {in, p, {}, {}, false};
  for (size_t i = 0; i < in->n_inputs; i++) {
    if (!in->inputs[i]) continue;
    const Dp__DeviceTensor *t = TensorOf(p, in->inputs[i]);
    Add(&step.reads, t->space, t->offset, t->bytes);
  }
  for (size_t i = 0; i < in->n_outputs; i++) {
    if (!in->outputs[i]) continue;
    const Dp__DeviceTensor *t = TensorOf(p, in->outputs[i]);
    Add(&step.writes, t->space, t->offset, t->bytes);
  }
  if (in->scratch) Add(&step.writes, DP__SPACE__TRANSIENT, in->scratch->offset, in->scratch->bytes);
  static const char *const alone[] = {"Slice", "Accumulate", "Send", "Recv", "Scatter", "Broadcast", "Gather"};
  step.collective = !*in->kernel && in->communication && in->communication->n_axes;
  for (const char *op : alone) step.collective &= !Is(step, op);
  return step;
}

bool Conflict(const Step &a, const Step &b) {
  return OverlapOnDevice(a.writes, b.writes) || OverlapOnDevice(a.writes, b.reads) ||
         OverlapOnDevice(a.reads, b.writes);
}

}  // namespace brute
}  // namespace dp_test
