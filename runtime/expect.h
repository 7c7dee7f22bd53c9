// Tells a backend what a plan is going to need, before the plan is checked. Private to the runtime.
#ifndef DP_RUNTIME_EXPECT_H
#define DP_RUNTIME_EXPECT_H

#include "ir/plan/plan.pb-c.h"
#include "runtime/base/backend.h"

// Names the plan's kernels to the backend. Whatever is wrong with the plan is left to who checks it.
void dp_expect(const Dp__Plan *plan, const dp_backend *backend);

#endif
