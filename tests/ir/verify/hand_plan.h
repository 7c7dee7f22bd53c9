// A handwritten plan: two devices, one layer, trained with momentum. For tests of the checker and the runtime.
//
//   scores = Gemm(x, w), loss = cross entropy(scores, label), dw, all-reduced; w, m = SGD(w, m, dw, lr)
//
// The samples are split over axis `data`, and every byte was placed by hand. See hand_plan.cc for the listing.
#ifndef DP_TESTS_IR_VERIFY_HAND_PLAN_H
#define DP_TESTS_IR_VERIFY_HAND_PLAN_H

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/verify/verify.h"
#include "tests/ir/text/text_helper.h"

namespace dp_test {

// Appends to a message's repeated field.
template <typename T>
void Append(dp_arena *arena, size_t *count, T **array, T item) {
  T *grown = static_cast<T *>(dp_alloc_n(arena, *count + 1, sizeof(T)));
  for (size_t i = 0; i < *count; i++) grown[i] = (*array)[i];
  grown[(*count)++] = item;
  *array = grown;
}
template <typename T>
void Remove(size_t *count, T *array, size_t at) {
  for (size_t i = at + 1; i < *count; i++) array[i - 1] = array[i];
  --*count;
}

template <typename T>
T *New(dp_arena *arena, void (*init)(T *)) {
  T *message = static_cast<T *>(dp_alloc(arena, sizeof *message));
  init(message);
  return message;
}

// Writes a program's tensors and streams.
class ProgramWriter {
 public:
  ProgramWriter(dp_arena *arena, Dp__Plan *plan, const dp_graph *graph, uint32_t graph_index);
  // Adds a tensor under its own label. at: placements, "S(0)" or "R,S(1)".
  ProgramWriter &Tensor(const std::string &label, const std::string &value, const std::string &at, Dp__Space space,
                        uint64_t offset);
  // Sets the last tensor's micro-batches; several Shards of them are laid out in the whole tensor's extents.
  ProgramWriter &Micro(uint32_t first, uint32_t count = 1);
  // op: "Gemm" or "dp.SGD". node: "" for communication. operands, results: labels, "" for an absent one. signal: -1 for
  // none.
  Dp__Instruction *Add(const std::string &stream, const std::string &op, const std::string &node,
                       const std::vector<std::string> &operands, const std::vector<std::string> &results,
                       const std::vector<uint32_t> &waits = {}, int signal = -1);
  // An instruction over a mesh axis: sets the attribute and the communication.
  Dp__Instruction *AddOver(const std::string &axis, const std::string &stream, const std::string &op,
                           const std::string &operand, const std::string &result,
                           const std::vector<uint32_t> &waits = {}, int signal = -1);
  // Combines two operands to one result over axis micro.
  Dp__Instruction *AddAccumulate(const std::string &stream, const std::string &accumulated, const std::string &piece,
                                 const std::string &result, const std::vector<uint32_t> &waits = {}, int signal = -1);
  // Sends to stage `peer`, or receives from it.
  Dp__Instruction *AddSend(uint32_t channel, int peer, const std::string &stream, const std::string &operand,
                           const std::vector<uint32_t> &waits = {}, int signal = -1);
  Dp__Instruction *AddRecv(uint32_t channel, int peer, const std::string &stream, const std::string &result,
                           const std::vector<uint32_t> &waits = {}, int signal = -1);
  void Input(const std::string &name, const std::string &label);
  void Output(const std::string &name, const std::string &label);
  void Found(uint32_t variable, const std::string &label);
  void Left(uint32_t variable, const std::string &label);

  Dp__Program *program;
  uint32_t stage = 0;  // the stage of the program
  Dp__DeviceTensor *At(const std::string &label) const { return program->tensors[labels_.at(label)]; }
  uint32_t Index(const std::string &label) const { return labels_.at(label); }

 private:
  char *Keep(const std::string &text) const { return dp_strdup(arena_, text.c_str()); }
  Dp__Stream *Stream(const std::string &name);
  Dp__Instruction *AddTransfer(Dp__Instruction *in, uint32_t channel, int peer);
  dp_arena *arena_;
  Dp__Plan *plan_;
  const dp_graph *graph_;
  std::map<std::string, uint32_t> labels_;
};

// Adds a role over coordinates [first, first + count) of each axis, with arenas of 64 byte alignment.
struct HandArena {
  Dp__Space space;
  uint64_t bytes;
};
Dp__Role *AddRole(dp_arena *arena, Dp__Plan *plan, const std::string &name, const std::vector<Dp__AxisRange> &devices,
                  const std::vector<HandArena> &arenas);

// Ends every arena at its last tensor, as a plan must. Call it again after adding to a plan. Sizes that the test has
// set are kept.
class ArenaFit {
 public:
  void Fit(Dp__Plan *plan);

 private:
  std::map<const Dp__Arena *, uint64_t> fitted_;
};

// "" if the plan is valid, else the rule's name; `message` gets the whole text.
std::string Verify(const Dp__Plan *plan, std::string *message = nullptr, dp_verify_report *report = nullptr);

class HandPlan {
 public:
  explicit HandPlan(int64_t devices = 2);
  HandPlan(const HandPlan &) = delete;
  HandPlan &operator=(const HandPlan &) = delete;

  std::string Verify(std::string *message = nullptr, dp_verify_report *report = nullptr) const;
  ProgramWriter &Train() { return *writers_.at("train"); }
  ProgramWriter &Eval() { return *writers_.at("eval"); }
  ProgramWriter &Init() { return *writers_.at("init"); }
  Dp__Instruction *Step(const std::string &program, const std::string &stream, size_t index);
  Dp__Stream *Stream(const std::string &program, const std::string &stream);
  Dp__Arena *ArenaOf(Dp__Space space);
  // Call this after adding to the plan.
  void Fit() { fit_.Fit(plan); }

  Arena arena;
  dp_model *model = nullptr;
  Dp__Plan *plan;

 private:
  ArenaFit fit_;
  void WriteTrain();
  void WriteEval();
  void WriteInit();
  ProgramWriter &Open(const std::string &program);
  std::map<std::string, std::unique_ptr<ProgramWriter>> writers_;
};

}  // namespace dp_test

#endif
