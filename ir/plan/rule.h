// The rules that a plan must keep, by stable names, and the wording of a violation: where, which rule, what was found.
//
// docs/plan.md lists them. A violation is EX_DATAERR; its message reads "program train, stream comm, instruction 3
// (dp.AllReduce): rule ORDER.CONFLICT: ...".
#ifndef DP_IR_PLAN_RULE_H
#define DP_IR_PLAN_RULE_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  DP_RULE_NONE = 0,
  DP_RULE_FORM_MISSING,
  DP_RULE_FORM_NAME,
  DP_RULE_FORM_INDEX,
  DP_RULE_FORM_RANGE,
  DP_RULE_FORM_ALIGN,
  DP_RULE_FORM_LIMIT,
  DP_RULE_FORM_GRAPH,
  DP_RULE_FORM_ROLE,
  DP_RULE_FORM_OPTIONS,
  DP_RULE_TENSOR_TYPE,
  DP_RULE_TENSOR_PLACEMENT,
  DP_RULE_TENSOR_BYTES,
  DP_RULE_TENSOR_LAYOUT,
  DP_RULE_TENSOR_VERSION,
  DP_RULE_TENSOR_SPACE,
  DP_RULE_ORDER_EVENT,
  DP_RULE_ORDER_WAIT,
  DP_RULE_ORDER_CYCLE,
  DP_RULE_ORDER_COLLECTIVE,
  DP_RULE_ORDER_ALIAS,
  DP_RULE_ORDER_CONFLICT,
  DP_RULE_ORDER_AHEAD,
  DP_RULE_ORDER_BESIDE,
  DP_RULE_MEANING_NODE,
  DP_RULE_MEANING_KERNEL,
  DP_RULE_MEANING_OPERANDS,
  DP_RULE_MEANING_ROW,
  DP_RULE_MEANING_CONVERSION,
  DP_RULE_MEANING_MICRO,
  DP_RULE_MEANING_TRANSFER,
  DP_RULE_MEANING_UNDEFINED,
  DP_RULE_MEANING_CONTENT,
  DP_RULE_MEANING_STALE,
  DP_RULE_MEANING_INPUT,
  DP_RULE_MEANING_OUTPUT,
  DP_RULE_MEANING_UPDATE,
  DP_RULE_MEANING_STORAGE,
  DP_RULE_MEANING_PACKED,
  DP_RULE_MEANING_SKIP,
  DP_RULE_MEANING_UNUSED,
  DP_RULE_PROGRAM_INIT,
  DP_RULE_PROGRAM_OUTPUTS,
  DP_RULE_PLAN_CLAIM,
  DP_RULE_COUNT,
} dp_rule;

const char *dp_rule_name(dp_rule rule);  // "ORDER.CONFLICT"
const char *dp_rule_what(dp_rule rule);  // what it requires, in one line

// A violation and its location. The strings are the plan's.
typedef struct {
  dp_rule rule;
  const char *role;            // NULL: the plan has one role
  const char *program;         // NULL: the plan as a whole
  const char *stream;          // NULL: the program as a whole
  size_t instruction;          // of the stream, from 0
  const char *op, *op_domain;  // of the instruction
} dp_fault;

// Sets fault->rule. The caller has set the other fields, which say where.
dp_status dp_rule_fail(dp_fault *fault, dp_rule rule, const char *format, ...) DP_PRINTF(3, 4) DP_MUST_USE;
// Reports another failure as a violation of the rule; NULL stays NULL. Running out of memory is not a violation.
dp_status dp_rule_wrap(dp_fault *fault, dp_rule rule, dp_status status) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
