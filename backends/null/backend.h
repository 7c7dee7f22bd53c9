// The null backend runs any plan on any machine without arithmetic. As it runs, it checks that no two simultaneous
// steps touch the same bytes while one of them writes. It shows hazards that happen; the checker proves that none can.
#ifndef DP_BACKENDS_NULL_BACKEND_H
#define DP_BACKENDS_NULL_BACKEND_H

#include "runtime/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

// A backend in place of `target`'s: it knows the target's kernels by name and runs none of them. `target` must outlive
// it.
dp_backend dp_backend_null(const dp_target *target);

#ifdef __cplusplus
}
#endif
#endif
