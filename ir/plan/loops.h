// Loops of a plan's file: runs of instructions or tensors that repeat with other numbers (message Loop of plan.proto).
//
// A plan in memory has none: dp_plan_write folds its lists, and dp_plan_read writes the loops out before anything else
// looks at the plan.
#ifndef DP_IR_PLAN_LOOPS_H
#define DP_IR_PLAN_LOOPS_H

#include "ir/plan/plan.pb-c.h"
#include "ir/plan/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

// A list of a plan that may have loops: the tensors of a program, or the instructions of a stream.
typedef struct {
  const char *name;  // "tensors", or the stream's
  size_t *n_items;
  ProtobufCMessage ***items;
  size_t *n_loops;
  Dp__Loop ***loops;
} dp_plan_list;

static inline dp_plan_list dp_plan_list_of_tensors(Dp__Program *p) {
  return (dp_plan_list){"tensors", &p->n_tensors, (ProtobufCMessage ***)&p->tensors, &p->n_loops, &p->loops};
}
static inline dp_plan_list dp_plan_list_of_instructions(Dp__Stream *s) {
  return (dp_plan_list){s->name, &s->n_instructions, (ProtobufCMessage ***)&s->instructions, &s->n_loops, &s->loops};
}

// Writes all loops out, in place; what an iteration does not change it may share with the one before. EX_DATAERR: a
// loop leaves its list, or together they would take more memory than DP_LIMIT_LOOPED; *fault says where.
dp_status dp_plan_loops_expand(dp_arena *arena, Dp__Plan *plan, dp_fault *fault) DP_MUST_USE;
// The same plan with what repeats in its lists folded; lists that have loops stay. It shares messages with `plan`,
// which is left as it is.
Dp__Plan *dp_plan_loops_fold(dp_arena *arena, const Dp__Plan *plan);

// The memory that a message takes with all that is in it, in bytes; what is shared counts wherever it stands.
size_t dp_plan_loops_memory(const ProtobufCMessage *message);
// Whether `n` items, each so many times, still fit DP_LIMIT_LOOPED beside *memory; if so, adds them to it.
bool dp_plan_loops_fit(ProtobufCMessage *const *items, size_t n, size_t times, uint64_t *memory);

#ifdef __cplusplus
}
#endif
#endif
