// Tells a backend what a plan is going to need, before the plan is checked. Private to the runtime.
#ifndef DP_RUNTIME_EXPECT_H
#define DP_RUNTIME_EXPECT_H

#include "ir/plan/plan.pb-c.h"
#include "runtime/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

// Names the plan's kernels to the backend, and those that do by themselves what members of its regions do. Whatever is
// wrong with the plan is left to who checks it.
void dp_expect(const Dp__Plan *plan, const dp_backend *backend);

#ifdef __cplusplus
}
#endif

#endif
