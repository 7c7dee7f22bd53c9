// The null backend: runs any plan without arithmetic, on any machine, and checks as it runs that no two steps that are on at
// the same time touch the same bytes, one of them writing. It shows hazards that happen; the checker proves there are none.
#ifndef DP_BACKENDS_NULL_BACKEND_H
#define DP_BACKENDS_NULL_BACKEND_H

#include "runtime/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

// A backend that plays `target`: it knows its kernels by name and runs none of them. The result lives as long as `target`.
dp_backend dp_backend_null(const dp_target *target);

#ifdef __cplusplus
}
#endif
#endif
