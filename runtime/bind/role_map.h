// Maps devices to roles. Private to the runtime.
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
  int *devices;  // ascending
} dp_role_devices;

typedef struct {
  int n_roles, n_devices;
  dp_role_devices *roles;  // (n_roles)
  int *of_device;          // (n_devices) the device's role
} dp_role_map;

// Every device must have exactly one role, else EX_DATAERR. EX_UNAVAILABLE: more devices than the runtime simulates.
dp_status dp_role_map_make(dp_arena *arena, const Dp__Plan *plan, const dp_mesh *mesh, dp_role_map *roles) DP_MUST_USE;

// Whether a device holds a variable, that is, whether it belongs to one of the variable's stages.
bool dp_role_map_holds(const dp_mesh *mesh, const dp_variable *variable, int device);

#ifdef __cplusplus
}
#endif
#endif
