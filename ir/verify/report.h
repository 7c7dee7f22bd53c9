// How the checker words a breach: where it is, which rule is broken, and what was found there. Private to ir/verify.
#ifndef DP_IR_VERIFY_REPORT_H
#define DP_IR_VERIFY_REPORT_H

#include "ir/graph/placement.h"
#include "ir/plan/plan.pb-c.h"
#include "ir/plan/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_checker dp_checker;

// Where something is: an instruction of the program that is being checked, by its numbers, or something larger.
typedef struct {
  uint32_t role;         // DP_CHECKER_WHOLE: the program, or the plan, as a whole
  uint32_t stream;       // DP_CHECKER_WHOLE: the role as a whole
  uint32_t instruction;  // of the stream, from 0
} dp_checker_location;
enum { DP_CHECKER_WHOLE = UINT32_MAX };

// The plan or, while one is being checked, the program; of one role, while one is being checked.
dp_checker_location dp_checker_at_whole(const dp_checker *c);
dp_checker_location dp_checker_at_role(uint32_t role);
// An instruction of the role that is being checked.
dp_checker_location dp_checker_at_instruction(const dp_checker *c, uint32_t instruction);
// The first instruction that has the tensor; the program when none has.
dp_checker_location dp_checker_at_tensor(const dp_checker *c, size_t tensor);

// A breach of the rule.
dp_status dp_checker_fail(dp_checker *c, dp_checker_location at, dp_rule rule, const char *format, ...)
    DP_PRINTF(4, 5) DP_MUST_USE;
// The same for a failure of another part of the program; NULL stays NULL.
dp_status dp_checker_wrap(dp_checker *c, dp_checker_location at, dp_rule rule, dp_status status) DP_MUST_USE;

// ---- words for messages; each returns `text` ------------------------------------------------------------------------

// "role stage1, stream comm, instruction 3 (dp.AllReduce)", the role where there are several.
char *dp_checker_location_print(const dp_checker *c, dp_checker_location at, char *text, size_t bytes);
// "stream comm, instruction 3 (dp.AllReduce)", of the role that is being checked.
char *dp_checker_instruction_print(const dp_checker *c, uint32_t instruction, char *text, size_t bytes);
// "[S(0),R]"
char *dp_checker_placements_print(const dp_checker *c, const dp_placement *at, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
