// The syntax of SPECs: a call with arguments, as written.
#ifndef DP_PASSES_SPEC_CALL_H
#define DP_PASSES_SPEC_CALL_H

#include "passes/spec/spec.h"

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

#endif
