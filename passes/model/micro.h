// The axis of micro-batches.
#ifndef DP_PASSES_MODEL_MICRO_H
#define DP_PASSES_MODEL_MICRO_H

#include "passes/base/pass.h"

// Puts axis `micro` first in the model's mesh, with the number of micro-batches that was requested or that suits the
// stages. samples: some input has an axis of them. EX_CONFIG: several were requested and no input has samples.
dp_status dp_micro_add(dp_compile *compile, bool samples) DP_MUST_USE;

#endif
