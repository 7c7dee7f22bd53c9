// The options that a plan was compiled with, as words of dpc compile's command line. dp.Options has a field for each, a
// string or an integer. Everything here iterates over its descriptor, so a new option is listed, printed and compared
// without further code.
#ifndef DP_IR_PLAN_OPTIONS_H
#define DP_IR_PLAN_OPTIONS_H

#include <stdio.h>

#include "ir/graph/placement.h"
#include "ir/plan/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *name;   // "zero-stage"
  const char *value;  // "3"
  bool defaulted;     // it was not given: dpc chose this
  bool flag;          // the word has no value
} dp_plan_option;

// The options that are set, in field order; a repeated option appears once for each value. *options lives in the arena;
// its strings may be the record's.
size_t dp_plan_options_list(dp_arena *arena, const Dp__Options *record, dp_plan_option **options);

// The name of the first option that `asked` sets and `record` does not match; NULL: there is none. The order of
// repeated values does not count. *wanted, *found: the values, as text for a message.
const char *dp_plan_options_differ(dp_arena *arena, const Dp__Options *asked, const Dp__Options *record,
                                   const char **wanted, const char **found);

// Records as defaulted the options that `record` sets and `given` does not.
void dp_plan_options_set_defaulted(dp_arena *arena, const Dp__Options *given, Dp__Options *record);

// "data=2,pipe=2": the axes except `micro`.
const char *dp_plan_options_mesh(dp_arena *arena, const dp_mesh *mesh);

// The optimizer's SPEC with the groups of --group: "sgd(lr=0.1); *.bias: weight_decay=0".
const char *dp_plan_options_optimizer(dp_arena *arena, const char *optimizer, size_t n_groups,
                                      const char *const *groups);

// " --batch=64 --loss='mse(y,t)'": the options that were given, or those that were not, quoted for a shell. but: omits
// those that it sets; NULL: omits none. Returns how many were printed.
size_t dp_plan_options_print(dp_arena *arena, const Dp__Options *record, bool defaulted, const Dp__Options *but,
                             FILE *out);

// Whether it is a value of --offload; empty: not given.
bool dp_plan_options_is_offload(const char *text);

#ifdef __cplusplus
}
#endif
#endif
