// Which devices run the programs of which role. Private to the runtime.
#ifndef DP_RUNTIME_ROLES_H
#define DP_RUNTIME_ROLES_H

#include "ir/graph.h"
#include "ir/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const Dp__Role *role;
  int n_devices;
  int *devices;  // in rising order
} dp_role_devices;

typedef struct {
  int n_roles, n_devices;
  dp_role_devices *roles;  // (n_roles)
  int *of_device;          // (n_devices) role
} dp_roles;

// Every device of the mesh is of one role. EX_DATAERR: one is of none, or of two; EX_UNAVAILABLE: more devices than are
// played here.
dp_status dp_roles_make(dp_arena *arena, const Dp__Plan *plan, const dp_mesh *mesh, dp_roles *roles) DP_MUST_USE;

// Whether a persistent value is on a device: it is of one of the value's stages.
bool dp_roles_holds(const dp_mesh *mesh, const dp_persistent *persistent, int device);

#ifdef __cplusplus
}
#endif
#endif
