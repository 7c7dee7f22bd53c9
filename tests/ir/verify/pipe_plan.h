// A handwritten plan: two layers on two stages of a pipeline, any number of micro-batches, and any number of devices on
// an axis `data`. For tests of the checker and the runtime.
//
//   stage 0: h = Relu(Gemm(x, w)), dw; w = SGD(w, dw, rate)       stage 1: scores = Gemm(h, v), loss, dv; v = SGD(...)
//
// For each micro-batch, h goes from stage 0 to 1 and its gradient from 1 to 0; dw, dv and the loss are accumulated.
// Every tensor has its own bytes, except that sums overwrite an operand. Programs: train, infer (which outputs the
// concatenated scores), init (which writes `one` on both stages). Each stage has the streams compute, copy, send and
// recv; an instruction waits for the makers of its operands on other streams.
#ifndef DP_TESTS_IR_VERIFY_PIPE_PLAN_H
#define DP_TESTS_IR_VERIFY_PIPE_PLAN_H

#include "tests/ir/verify/hand_plan.h"

namespace dp_test {

class PipePlan {
 public:
  // micro 1: no micro-batches and no such axis. The batch is 8; all micro-batches go forward first.
  explicit PipePlan(int microbatches = 2, int data = 1);
  PipePlan(const PipePlan &) = delete;
  PipePlan &operator=(const PipePlan &) = delete;

  // "" if the plan is valid, else the rule's name; `message` gets the whole text.
  std::string Verify(std::string *message = nullptr, dp_verify_report *report = nullptr) const;
  ProgramWriter &Writer(int stage, const std::string &program) const;
  Dp__Stream *Stream(int stage, const std::string &program, const std::string &stream) const;
  Dp__Instruction *Step(int stage, const std::string &program, const std::string &stream, size_t index) const;
  // The instruction whose first result is this tensor.
  Dp__Instruction *Maker(int stage, const std::string &program, const std::string &label) const;
  // "h#1": of micro-batch 1, or "h" if there are none. "dw#0-2": of micro-batches 0 to 1.
  std::string Of(const std::string &value, int micro) const;
  std::string Of(const std::string &value, int first, int end) const;

  enum { kW, kV, kOne };  // variables: at 0 on its own stage, at 0 on its own stage, and at 128 on both
  Arena arena;
  dp_model *model = nullptr;
  Dp__Plan *plan;

 private:
  struct Part;
  void WriteTrain();
  void WriteInfer();
  void WriteInit();
  void WriteForward(Part *first, Part *second);
  const int micro_, data_;
  mutable ArenaFit fit_;
  std::map<std::pair<int, std::string>, std::unique_ptr<ProgramWriter>> writers_;
};

}  // namespace dp_test

#endif
