// A plan as a listing for people.
#ifndef DP_IR_PLAN_REPORT_PRINT_H
#define DP_IR_PLAN_REPORT_PRINT_H

#include <stdio.h>

#include "ir/plan/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

// What is said of an instruction beside what the plan holds: lines of their own.
typedef struct {
  void (*print)(void *context, const Dp__Program *program, const Dp__Instruction *instruction, FILE *out);
  void *context;
} dp_plan_notes;

// Prints mesh, arenas and variables; for each program its instructions by stream with waits, signals, operands and
// offsets; and what the stages of a pipeline do and hold (ir/plan/report/stages.h). The plan's form must have been
// checked. notes: NULL for none.
void dp_plan_print(const Dp__Plan *plan, const dp_plan_notes *notes, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
