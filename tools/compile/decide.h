// The options of `dpc compile` that decide what a plan is. `dpc verify --against` accepts the same and compares them
// with what the plan records.
#ifndef DP_TOOLS_COMPILE_DECIDE_H
#define DP_TOOLS_COMPILE_DECIDE_H

#include <argp.h>

#include "frontends/onnx/onnx.h"
#include "passes/base/pass.h"
#include "tools/calibrate/calibration.h"

// The parser's input; zeroed except for the arena, in which lists live. options: the given ones, without defaults;
// status: the first error (EX_USAGE, or EX_UNAVAILABLE for what is not built).
typedef struct {
  dp_arena *arena;
  dp_options options;
  const char **freeze, **train, **dims, **groups, **normalize, **keep_fp32;
  dp_split *splits;
  const dp_dpc_calibration *calibration;  // of --calibration; NULL: not given
  dp_onnx_options onnx;                   // --dim, in the form of the ONNX reader
  dp_status status;
} dp_dpc_decide;

// What `dpc compile` measures beside the loss unless it is told.
#define DP_DPC_DECIDE_METRICS "auto"

// A child parser; the command's argp passes it the input at ARGP_KEY_INIT.
extern const struct argp dp_dpc_decide_argp;

// --fast-math without a value, which parsing leaves empty, is what the target has.
void dp_dpc_decide_fast_math(dp_options *options, const dp_target *target);

// Parses "data=2,tensor=4". EX_USAGE.
dp_status dp_dpc_decide_mesh(dp_arena *arena, const char *text, dp_mesh *mesh) DP_MUST_USE;

#endif
