// The checker. It proves that a plan has no race, no deadlock, and no two values in the same bytes while both are
// needed; and that every device computes its part of what the embedded logical graphs say, for every number of samples
// up to the plan's batch.
//
// It believes nothing that a plan says and knows nothing of how plans are made. dpc runs it on each plan that it has
// made, dprun on each that it has read. It takes three things as given: the logical graphs, the operators' sharding
// rules, and that a kernel computes its operator. docs/plan.md lists the rules. Time is near linear in the number of
// instructions.
#ifndef DP_IR_VERIFY_VERIFY_H
#define DP_IR_VERIFY_VERIFY_H

#include <stdio.h>

#include "ir/plan/plan.pb-c.h"
#include "ir/plan/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

// What was proved, in numbers; or the first rule that is broken, and where.
typedef struct {
  dp_fault fault;
  uint64_t devices, programs, variables;
  uint64_t stages, microbatches;  // 1: no pipeline, the batch as a whole
  uint64_t instructions, events;  // of all programs
  uint64_t accesses, conflicts;   // ranges of bytes read or written; pairs of them shown to be ordered
  uint64_t collectives;           // shown to come in one order
  uint64_t operands;              // found to hold the value, version and placement claimed
  uint64_t conversions, nodes;    // instructions shown to keep a value; to compute a logical node by its sharding rules
  uint64_t transfers;             // Sends shown to meet their Recv and to carry what it claims
  uint64_t accumulations;         // shown to unite adjacent sets of micro-batches
  uint64_t inputs, outputs, updates;
} dp_verify_report;

// EX_DATAERR: "program train, stream comm, instruction 3 (dp.AllReduce): rule ORDER.CONFLICT: ...". report may be NULL;
// its strings belong to the plan.
dp_status dp_verify_plan(const Dp__Plan *plan, dp_verify_report *report) DP_MUST_USE;

// What was proved, in a few lines.
void dp_verify_print(const dp_verify_report *report, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
