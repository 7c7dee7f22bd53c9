// A handwritten pipeline: two stages, two layers, momentum; micro-batches, and one or more devices for each stage.
//
//   stage 0: h = Gemm(x, w1)                                    dw1 = Gemm(dh, x), w1 = SGD
//   stage 1: scores = Gemm(h, w2), loss, ds, dw2, dh = Gemm(ds, w2),               w2 = SGD
//
// All micro-batches go forward, then all backward. No bytes are reused, except where Accumulate works in place.
#ifndef DP_TESTS_RUNTIME_STAGE_PLAN_H
#define DP_TESTS_RUNTIME_STAGE_PLAN_H

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/ir/verify/hand_plan.h"

namespace dp_test {

class StagePlan {
 public:
  static constexpr int kBatch = 8, kIn = 4, kHidden = 5, kClasses = 3;

  // micro: the number of micro-batches; if 1, there is no such axis. data: the number of devices in a stage. streams:
  // transfers and copies have their own streams, with events; otherwise each stage has one stream.
  StagePlan(int micro, int data, bool streams);
  StagePlan(const StagePlan &) = delete;
  StagePlan &operator=(const StagePlan &) = delete;

  Dp__Program *Train(int stage) const { return plan->roles[stage]->programs[0]; }
  // The first instruction of an operator in "train", such as "Send".
  Dp__Instruction *Find(int stage, const std::string &op) const;
  // "" or the checker's message.
  std::string Verify() const;

  Arena arena;
  dp_model *model = nullptr;
  Dp__Plan *plan;

 private:
  struct Where {
    std::string on = "R", over = "R";  // placements on micro and data
    int first = 0, count = 0;          // micro-batches
    Dp__Space space = DP__SPACE__TRANSIENT;
    int64_t offset = -1;  // -1: its own bytes
    std::string mark;     // follows its label where the rest is ambiguous
  };
  struct Made {
    std::string stream;
    uint32_t event;
  };
  ProgramWriter &On(int stage) { return *writers_[stage]; }
  void Open(const std::string &program);
  // Adds a tensor. Its label is the value's name and micro-batches, "h[0,1)", and the mark.
  std::string Make(int stage, const std::string &value, const Where &where);
  // Reduces the operand over all devices of the stage; returns the result's label.
  std::string Collect(int stage, const std::string &op, const std::string &operand, const std::string &value,
                      const Where &where);
  static std::string Label(const std::string &value, int first, int count);
  Dp__Instruction *Do(int stage, const std::string &stream, const std::string &op, const std::string &node,
                      const std::vector<std::string> &operands, const std::vector<std::string> &results);
  void Over(Dp__Instruction *in, const std::string &axis, std::vector<dp_attr> attrs = {});
  void Transfer(int from, const std::string &value, int j);
  void Transfer(int from, const std::string &sent, const std::string &received);  // labels
  // Combines the micro-batches of a value, the first of which is at `where`.
  std::string Join(int stage, const std::string &value, const Where &where);
  Where PartOf(int j, const std::string &placement) const {
    return {micro_ > 1 ? placement : "R", placement, j, micro_ > 1, DP__SPACE__TRANSIENT, -1, ""};
  }
  Where Split(int j) const { return PartOf(j, "S(0)"); }
  Where Sum(int j) const { return PartOf(j, "P(sum)"); }
  void Home(int stage, const std::string &value);
  void WriteBegin(int stage);
  void WriteForward(int j);
  void WriteBackward(int j);
  std::string Reduce(int stage, const std::string &value);
  void WriteUpdate(int stage, const std::string &w, const std::string &m, const std::string &refused);
  void WriteOutput(const std::string &value, const std::string &label, int64_t offset);
  void WriteOutputs();
  void WriteTrain();
  void WriteInit();

  const int micro_, data_;
  const bool streams_;
  uint32_t channels_ = 0;
  std::unique_ptr<ProgramWriter> writers_[2];
  std::map<std::string, Made> made_[2];
  int events_[2] = {0, 0};
  int64_t used_[2] = {0, 0};  // bytes of the transient arenas
};

}  // namespace dp_test

#endif
