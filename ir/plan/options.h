// The options that a plan was compiled with, as words of dpc compile's command line. dp.Options has a field for each, a
// text or a whole number, and all that is here goes over its descriptor: an option that is added there is listed,
// printed and compared.
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
  bool defaulted;     // it was not given: dpc took this
  bool flag;          // the word is its name alone
} dp_plan_option;

// Those that are set, in the order of the fields; what was given several times stands several times. *options lives in
// the arena, texts may be the record's.
size_t dp_plan_options_list(dp_arena *arena, const Dp__Options *record, dp_plan_option **options);

// The first option that `asked` has set and `record` not alike: its name; NULL: there is none. The order of what was
// given several times does not count. *wanted, *found: the values, as texts for a message.
const char *dp_plan_options_differ(dp_arena *arena, const Dp__Options *asked, const Dp__Options *record,
                                   const char **wanted, const char **found);

// Enters into `record` the names of the options that it has set and `given` has not.
void dp_plan_options_set_defaulted(dp_arena *arena, const Dp__Options *given, Dp__Options *record);

// "data=2,pipe=2": the axes but `micro`.
const char *dp_plan_options_mesh(dp_arena *arena, const dp_mesh *mesh);

// " --batch=64 --loss='mse(y,t)'": those that were given, or those that were not, quoted for a shell. but: without
// those that this has set; NULL: all. Returns how many there are.
size_t dp_plan_options_print(dp_arena *arena, const Dp__Options *record, bool defaulted, const Dp__Options *but,
                             FILE *out);

#ifdef __cplusplus
}
#endif
#endif
