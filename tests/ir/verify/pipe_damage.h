// Damages to plans of two stages and of micro-batches, with the rule that each breaks, and helpers to make them.
#ifndef DP_TESTS_IR_VERIFY_PIPE_DAMAGE_H
#define DP_TESTS_IR_VERIFY_PIPE_DAMAGE_H

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tests/ir/verify/pipe_plan.h"

namespace dp_test {

// With four micro-batches, or with two and two devices for each stage.
struct Damage {
  const char *name;
  std::set<std::string> rules;  // any of them
  std::function<void(PipePlan &)> make;
  int micro = 4, data = 1;
};
inline void PrintTo(const Damage &damage, std::ostream *out) { *out << damage.name; }

// Makes the damage. True if the plan was valid before and one of the rules then refuses it.
inline testing::AssertionResult IsRejected(const Damage &damage) {
  PipePlan hand(damage.micro, damage.data);
  std::string message, rule = hand.Verify(&message);
  if (!rule.empty()) return testing::AssertionFailure() << "without the damage: " << message;
  damage.make(hand);
  rule = hand.Verify(&message);
  return (damage.rules.count(rule) ? testing::AssertionSuccess() : testing::AssertionFailure())
         << "rule '" << rule << "', " << message;
}

inline char *Text(PipePlan &h, const char *text) { return dp_strdup(h.arena, text); }
inline Dp__DeviceTensor *At(PipePlan &h, int stage, const char *label, const char *program = "train") {
  return h.Writer(stage, program).At(label);
}
inline uint32_t Number(PipePlan &h, int stage, const char *label, const char *program = "train") {
  return h.Writer(stage, program).Index(label) + 1;
}
inline void Set(PipePlan &h, int stage, const char *label, uint32_t first, uint32_t count, uint32_t of,
                const char *program = "train") {
  Dp__MicroSet *m = At(h, stage, label, program)->micro;
  if (!m) m = At(h, stage, label, program)->micro = dp_test::New(h.arena, dp__micro_set__init);
  m->first = first;
  m->count = count;
  m->of = of;
}
inline Dp__Instruction *Sends(PipePlan &h, int stage, size_t index) { return h.Step(stage, "train", "send", index); }
inline Dp__Instruction *Recvs(PipePlan &h, int stage, size_t index) { return h.Step(stage, "train", "recv", index); }
inline void SetChannel(Dp__Instruction *in, uint32_t channel) {
  in->attributes[1]->i = in->communication->channel = channel;
}
inline void TakeOut(PipePlan &h, int stage, const char *program, const char *stream, size_t index) {
  Dp__Stream *s = h.Stream(stage, program, stream);
  Remove(&s->n_instructions, s->instructions, index);
}
inline void SwapSteps(PipePlan &h, int stage, const char *stream, size_t a, size_t b) {
  std::swap(h.Stream(stage, "train", stream)->instructions[a], h.Stream(stage, "train", stream)->instructions[b]);
}
inline void SetStages(PipePlan &h, int variable, std::vector<uint32_t> stages) {
  Dp__Variable *p = h.plan->variables[variable];
  p->n_stages = 0;
  for (uint32_t s : stages) Append(h.arena, &p->n_stages, &p->stages, s);
}
inline Dp__Arena *ArenaOf(PipePlan &h, int role, Dp__Space space) {
  for (size_t i = 0; i < h.plan->roles[role]->n_arenas; i++)
    if (h.plan->roles[role]->arenas[i]->space == space) return h.plan->roles[role]->arenas[i];
  return nullptr;
}

}  // namespace dp_test

#endif
