// A plan written by hand: two layers on two stages of a pipeline, any number of micro-batches, and of devices on an axis
// `data` beside. For tests of the checker and of what runs plans.
//
//   stage 0: h = Relu(Gemm(x, w)), dw; w = SGD(w, dw, rate)       stage 1: scores = Gemm(h, v), loss, dv; v = SGD(...)
//
// h goes from stage 0 to 1, its gradient from 1 to 0, micro-batch by micro-batch; dw, dv and the loss are accumulated.
// Every tensor has bytes of its own, but that each sum lies on what it adds to. Programs: train, infer (which gives the
// scores, put side by side), init (which writes `one`, on both stages). Each stage has the streams compute, copy, send,
// recv; an instruction waits for those of other streams whose results it takes.
#ifndef DP_TESTS_IR_VERIFY_PIPE_PLAN_H
#define DP_TESTS_IR_VERIFY_PIPE_PLAN_H

#include "tests/ir/verify/hand_plan.h"

namespace dp_test {

class PipePlan {
 public:
  // 1: none, and no axis. The batch is 8; all micro-batches go forward first.
  explicit PipePlan(int microbatches = 2, int data = 1);
  PipePlan(const PipePlan &) = delete;
  PipePlan &operator=(const PipePlan &) = delete;

  // "" when it holds, else the rule's name; `message` gets the whole text.
  std::string Verify(std::string *message = nullptr, dp_verify_report *report = nullptr) const;
  ProgramWriter &Writer(int stage, const std::string &program) const;
  Dp__Stream *Stream(int stage, const std::string &program, const std::string &stream) const;
  Dp__Instruction *Step(int stage, const std::string &program, const std::string &stream, size_t index) const;
  // The one that has it as its first result.
  Dp__Instruction *Maker(int stage, const std::string &program, const std::string &label) const;
  // "h#1": of micro-batch 1, or "h" when there are none. "dw#0-2": of those up to and without 2.
  std::string Of(const std::string &value, int micro) const;
  std::string Of(const std::string &value, int first, int end) const;

  enum { kW, kV, kOne };  // variables, at 0 and 0, each on its stage, and 128, on both
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
