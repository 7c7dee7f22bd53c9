// What a run trains, as hashes: checkpoints record them, so that a run that goes on notices a change.
#ifndef DP_TOOLS_RUN_IDENTITY_H
#define DP_TOOLS_RUN_IDENTITY_H

#include "ir/base/base.h"
#include "ir/plan/plan.pb-c.h"

// The model that a plan was made from, whatever it was compiled for: parameters and buffers, the loss, and the network
// (Plan.network; 0 in plans of other programs). DP_EX_MEMORY.
dp_status dp_dprun_hash_model(const Dp__Plan *plan, uint64_t *hash) DP_MUST_USE;

#endif
