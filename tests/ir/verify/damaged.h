// A compiled plan that a test damages, and what the checker says of it.
#ifndef DP_TESTS_IR_VERIFY_DAMAGED_H
#define DP_TESTS_IR_VERIFY_DAMAGED_H

#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

#include "ir/verify/verify.h"
#include "tests/end_to_end/plans.h"
#include "tests/ir/text/text_helper.h"

namespace dp_test {

inline Dp__Program *Train(Dp__Plan *plan) {
  for (size_t i = 0; i < plan->roles[0]->n_programs; i++)
    if (!strcmp(plan->roles[0]->programs[i]->name, "train")) return plan->roles[0]->programs[i];
  throw std::runtime_error("no program train");
}

inline Dp__Arena *ArenaOf(Dp__Plan *plan, Dp__Space space) {
  for (size_t i = 0; i < plan->roles[0]->n_arenas; i++)
    if (plan->roles[0]->arenas[i]->space == space) return plan->roles[0]->arenas[i];
  throw std::runtime_error("no such arena");
}

// Makes room at the end of an arena. Returns its offset.
inline uint64_t Room(Dp__Plan *plan, Dp__Space space, uint64_t bytes) {
  Dp__Arena *arena = ArenaOf(plan, space);
  const uint64_t offset = arena->bytes;
  arena->bytes += (bytes + 63) / 64 * 64;
  return offset;
}

// Moves the tensor to the end of an arena.
inline void ToEnd(Dp__Plan *plan, Dp__DeviceTensor *t, Dp__Space space) {
  t->space = space;
  t->offset = Room(plan, space, t->bytes);
}

// The rule that is broken, and what the checker says.
struct Verdict {
  std::string rule, message;
};

inline Verdict CheckDamaged(const char *model, const std::string &options,
                            const std::function<void(Dp__Plan *)> &damage) {
  const Plan plan = Compile(model, options);
  damage(plan.get());
  dp_verify_report report;
  Verdict v;
  v.message = Message(dp_verify_plan(plan.get(), &report));
  if (!v.message.empty()) v.rule = dp_rule_name(report.fault.rule);
  return v;
}

}  // namespace dp_test

#endif
