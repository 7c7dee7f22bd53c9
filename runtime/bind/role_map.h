// Which devices run the programs of which role. Private to the runtime.
#ifndef DP_RUNTIME_BIND_ROLE_MAP_H
#define DP_RUNTIME_BIND_ROLE_MAP_H

#include "ir/graph/graph.h"
#include "ir/plan/plan.pb-c.h"

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
} dp_role_map;

// Every device of the mesh is of one role. EX_DATAERR: one is of none, or of two; EX_UNAVAILABLE: more devices than are
// played here.
dp_status dp_role_map_make(dp_arena *arena, const Dp__Plan *plan, const dp_mesh *mesh, dp_role_map *roles) DP_MUST_USE;

// Whether a variable is on a device: it is of one of the value's stages.
bool dp_role_map_holds(const dp_mesh *mesh, const dp_variable *variable, int device);

#ifdef __cplusplus
}
#endif
#endif
