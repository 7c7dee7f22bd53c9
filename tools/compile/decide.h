// The options of `dpc compile` that decide what a plan is. `dpc verify --against` takes the same, and holds them against what
// the plan records.
#ifndef DP_TOOLS_COMPILE_DECIDE_H
#define DP_TOOLS_COMPILE_DECIDE_H

#include <argp.h>

#include "frontends/onnx/onnx.h"
#include "passes/base/pass.h"

// The input of the parser; zeroed but for the arena, in which lists live. options: those that are given, no defaults; status: of
// the first that cannot be understood (EX_USAGE) or is not built (EX_UNAVAILABLE).
typedef struct {
  dp_arena *arena;
  dp_options options;
  const char **freeze, **train, **dims;
  dp_split *splits;
  dp_onnx_options onnx;  // the dims among the options, as the reader of ONNX takes them
  dp_status status;
} dp_dpc_decide;

// A child for the argp of a command, which gives it the input at ARGP_KEY_INIT.
extern const struct argp dp_dpc_decide_argp;

// "data=2,tensor=4". EX_USAGE.
dp_status dp_dpc_decide_mesh(dp_arena *arena, const char *text, dp_mesh *mesh) DP_MUST_USE;

#endif
