// See role_map.h. A sequential axis has no devices, so a role's range along it is ignored.
#include "runtime/bind/role_map.h"

enum { MAX_DEVICES = 4096 };

static bool is_of(const Dp__Role *role, const dp_mesh *mesh, int device) {
  int64_t at[DP_MAX_MESH];
  dp_mesh_coordinate(mesh, device, at);
  for (int a = 0; a < mesh->n_axes && a < (int)role->n_devices; a++) {
    const Dp__AxisRange *range = role->devices[a];
    if (dp_mesh_is_sequential(&mesh->axes[a])) continue;
    if (at[a] < range->first || at[a] - range->first >= range->count) return false;
  }
  return true;
}

static dp_status take_devices(dp_arena *arena, const dp_mesh *mesh, int index, dp_role_map *roles) {
  dp_role_devices *r = &roles->roles[index];
  for (int d = 0; d < roles->n_devices; d++) {
    if (!is_of(r->role, mesh, d)) continue;
    if (roles->of_device[d] >= 0)
      return dp_fail(EX_DATAERR, "device %d has two roles, '%s' and '%s'", d,
                     roles->roles[roles->of_device[d]].role->name, r->role->name);
    roles->of_device[d] = index;
    DP_PUSH(arena, r->devices, r->n_devices, d);
  }
  return DP_OK;
}

dp_status dp_role_map_make(dp_arena *arena, const Dp__Plan *plan, const dp_mesh *mesh, dp_role_map *roles) {
  int64_t devices = dp_mesh_devices(mesh);
  if (devices > MAX_DEVICES)
    return dp_fail(EX_UNAVAILABLE, "the plan is for %lld devices, but dprun simulates at most %d", (long long)devices,
                   MAX_DEVICES);
  *roles = (dp_role_map){.n_roles = (int)plan->n_roles, .n_devices = (int)devices};
  roles->roles = dp_alloc_n(arena, plan->n_roles, sizeof *roles->roles);
  roles->of_device = dp_alloc_n(arena, (size_t)devices, sizeof *roles->of_device);
  for (int d = 0; d < roles->n_devices; d++) roles->of_device[d] = -1;
  for (int i = 0; i < roles->n_roles; i++) {
    roles->roles[i].role = plan->roles[i];
    DP_TRY(take_devices(arena, mesh, i, roles));
  }
  for (int d = 0; d < roles->n_devices; d++)
    if (roles->of_device[d] < 0) return dp_fail(EX_DATAERR, "device %d has no role", d);
  return DP_OK;
}

bool dp_role_map_holds(const dp_mesh *mesh, const dp_variable *p, int device) {
  int64_t at[DP_MAX_MESH];
  int axis = dp_mesh_find(mesh, DP_MESH_PIPE);
  if (axis < 0 || !p->n_stages) return true;
  dp_mesh_coordinate(mesh, device, at);
  for (int i = 0; i < p->n_stages; i++)
    if (p->stages[i] == at[axis]) return true;
  return false;
}
