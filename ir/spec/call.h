// The syntax of SPECs: calls with arguments, as written.
#ifndef DP_IR_SPEC_CALL_H
#define DP_IR_SPEC_CALL_H

#include "ir/spec/spec.h"

enum { DP_SPEC_MAX_ARGUMENTS = 32 };

typedef struct {
  const char *key;   // NULL: positional
  const char *text;  // the value
} dp_spec_argument;

typedef struct {
  const char *name;
  int n_arguments;
  dp_spec_argument arguments[DP_SPEC_MAX_ARGUMENTS];
} dp_spec_call;

dp_status dp_spec_call_read(dp_arena *arena, dp_spec_origin origin, const char *text, dp_spec_call *call) DP_MUST_USE;

// A call of a sum, with its factor.
typedef struct {
  double factor;
  dp_spec_call call;
} dp_spec_addend;

// `0.5*a(x) + b(y) - 2*c(z)`. *addends: n_addends of them, 1 or more.
dp_status dp_spec_sum_read(dp_arena *arena, dp_spec_origin origin, const char *text, int *n_addends,
                           dp_spec_addend **addends) DP_MUST_USE;

#endif
