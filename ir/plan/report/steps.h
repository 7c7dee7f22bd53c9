// A program of a plan as steps over all its roles: the order between them, the micro-batch of each, and when each ends
// by a cost model. Used for figures of pipelines. The plan's form must have been checked.
#ifndef DP_IR_PLAN_REPORT_STEPS_H
#define DP_IR_PLAN_REPORT_STEPS_H

#include "ir/base/base.h"
#include "ir/plan/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const Dp__Instruction *in;
  uint32_t role, stream;
  int32_t micro;  // its micro-batch: the last of its operands' and results'; -1: none, or it computes with integers
                  // alone (the labels of all micro-batches are counted before the first gradient)
  bool backward;  // its operands derive from a later stage
  double ns;      // duration, set by the caller of dp_plan_steps_run; 0 at first
  double end_ns;  // set by dp_plan_steps_run
} dp_plan_step;

typedef struct {
  const Dp__Plan *plan;
  const Dp__Program *const *programs;  // (roles)
  uint32_t n_steps;
  dp_plan_step *steps;  // role by role, stream by stream, in order
  // A Send and its Recv happen as one. By step: the one that stands for both, which is the Send; and the Recv of a
  // Send, plus 1.
  uint32_t *one, *receiver;
  uint32_t *order;     // (n_ordered) steps that stand for themselves, in topological order
  uint32_t n_ordered;  // fewer than there are when the waits have a cycle
  uint32_t *first,
      *before;  // by step: its predecessors, by streams and events, are before[first[i]] to before[first[i + 1] - 1]
} dp_plan_steps;

// program: its index in each role. Everything lives in the arena.
dp_plan_steps dp_plan_steps_make(dp_arena *arena, const Dp__Plan *plan, size_t program);
// Each step begins when all its predecessors have ended; returns when the last ends, in ns.
double dp_plan_steps_run(dp_plan_steps *steps);

static inline bool dp_plan_step_computes(const dp_plan_step *step) { return !step->in->communication; }

#ifdef __cplusplus
}
#endif
#endif
