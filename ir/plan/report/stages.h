// What the stages of a pipeline do and hold, computed from the plan alone.
#ifndef DP_IR_PLAN_REPORT_STAGES_H
#define DP_IR_PLAN_REPORT_STAGES_H

#include <stdio.h>

#include "ir/base/base.h"
#include "ir/plan/report/steps.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bytes are for one device of the stage, at the largest batch.
typedef struct {
  int64_t nodes;                       // of the logical graph, computed here
  uint64_t parameters, state, others;  // storage: parameters, optimizer state, buffers and constants
  uint64_t variable, transient;        // arenas
  uint64_t sent, received;  // in a run of the program, by Send and Recv; each micro-batch counts as the largest
  int64_t collectives;      // in a run, among devices of the stage
  int64_t in_flight;        // the most micro-batches that have begun and not finished, forward and backward
  double busy;              // computation's share of the time, by the cost model of tasks.h
} dp_plan_stage;

typedef struct {
  int64_t n_stages, microbatches;
  dp_plan_stage *stages;
  double idle;     // mean share of time that the stages do not compute, by that model; below 0: no micro-batches
  double formula;  // (p - 1) / (m + p - 1), for p stages and m micro-batches
} dp_plan_stages;

// Measures the program of that name. The plan need not be verified, so its last run may be missing. False: no role has
// such a program.
bool dp_plan_stages_measure(dp_arena *arena, const Dp__Plan *plan, const char *program, dp_plan_stages *stages);
// The mean share of the steps' makespan in which a role does not compute, after dp_plan_steps_run. Sets busy (roles) to
// each role's share in which it does.
double dp_plan_stages_idle(const dp_plan_steps *steps, double makespan, double *busy);
// Prints a table, one row per stage; nothing for a plan of one stage without micro-batches.
void dp_plan_stages_print(const Dp__Plan *plan, FILE *out);
// "12 B", "1.5 MiB". Returns `text`.
char *dp_plan_stages_bytes(double bytes, char text[32]);

#ifdef __cplusplus
}
#endif
#endif
