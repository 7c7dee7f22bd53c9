// The axis of micro-batches.
#ifndef DP_PASSES_MODEL_MICRO_H
#define DP_PASSES_MODEL_MICRO_H

#include "passes/base/pass.h"

// Puts axis `micro` in front of the model's mesh, of as many micro-batches as were asked for or suit the stages.
// samples: some input has an axis of them. EX_CONFIG: several were asked for and nothing has samples.
dp_status dp_micro_add(dp_compile *compile, bool samples) DP_MUST_USE;

#endif
