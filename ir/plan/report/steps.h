// A program of a plan as steps over all its roles: what comes before what, which micro-batch a step is of, and when it
// is done on a clock. For figures of pipelines; the plan's form must have been checked.
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
  int32_t micro;  // the micro-batch that it is of, the last of its operands' and results'; -1: none
  bool backward;  // what it works on came from a later stage
  double ns;      // how long it takes, set by whoever calls dp_plan_steps_run; 0 at first
  double end_ns;  // set by it
} dp_plan_step;

typedef struct {
  const Dp__Plan *plan;
  const Dp__Program *const *programs;  // (roles)
  uint32_t n_steps;
  dp_plan_step *steps;  // role by role, stream by stream, in order
  // A Send and its Recv happen as one: by step the one that stands for both, which is the Send; and the Recv of a Send,
  // plus 1.
  uint32_t *one, *receiver;
  uint32_t *order;     // (n_ordered) steps that stand for themselves, each after all before it
  uint32_t n_ordered;  // fewer than there are when steps wait for each other in a circle
  uint32_t *first,
      *before;  // by step: the steps before it, by streams and events, are before[first[i]] to first[i + 1]
} dp_plan_steps;

// program: its index in each role.
dp_plan_steps dp_plan_steps_make(dp_arena *arena, const Dp__Plan *plan, size_t program);
// Every step begins when all before it are done; returns when the last is done.
double dp_plan_steps_run(dp_plan_steps *steps);

static inline bool dp_plan_step_computes(const dp_plan_step *step) { return !step->in->communication; }

#ifdef __cplusplus
}
#endif
#endif
