// See mesh.h.
#include "ir/graph/mesh.h"

#include <string.h>

#include "ir/base/limits.h"

bool dp_mesh_is_staged(const dp_mesh_axis *axis) { return !strcmp(axis->name, DP_MESH_PIPE); }

bool dp_mesh_is_sequential(const dp_mesh_axis *axis) { return !strcmp(axis->name, DP_MESH_MICRO); }

static int64_t size_of(const dp_mesh *mesh, const char *name) {
  int axis = dp_mesh_find(mesh, name);
  return axis < 0 ? 1 : mesh->axes[axis].size;
}

int64_t dp_mesh_stages(const dp_mesh *mesh) { return size_of(mesh, DP_MESH_PIPE); }

int64_t dp_mesh_microbatches(const dp_mesh *mesh) { return size_of(mesh, DP_MESH_MICRO); }

// Devices along an axis.
static int64_t devices_along(const dp_mesh_axis *axis) { return dp_mesh_is_sequential(axis) ? 1 : axis->size; }

int64_t dp_mesh_devices(const dp_mesh *mesh) {
  int64_t count = 1;
  for (int a = 0; a < mesh->n_axes; a++) count *= devices_along(&mesh->axes[a]);
  return count;
}

int dp_mesh_find(const dp_mesh *mesh, const char *name) {
  for (int a = 0; a < mesh->n_axes; a++)
    if (!strcmp(mesh->axes[a].name, name)) return a;
  return -1;
}

void dp_mesh_drop(dp_mesh *mesh, const char *name) {
  const int axis = dp_mesh_find(mesh, name);
  if (axis < 0) return;
  mesh->n_axes--;
  memmove(&mesh->axes[axis], &mesh->axes[axis + 1], (size_t)(mesh->n_axes - axis) * sizeof *mesh->axes);
}

bool dp_mesh_add(dp_mesh *mesh, const dp_mesh_axis *axis) {
  const int64_t most = dp_mesh_is_sequential(axis) ? DP_LIMIT_MICROBATCHES : DP_LIMIT_DEVICES / dp_mesh_devices(mesh);
  if (mesh->n_axes == DP_MAX_MESH || axis->size < 1 || axis->size > most) return false;
  mesh->axes[mesh->n_axes++] = *axis;
  return true;
}

void dp_mesh_coordinate(const dp_mesh *mesh, int64_t device, int64_t coordinate[DP_MAX_MESH]) {
  for (int a = mesh->n_axes - 1; a >= 0; a--) {
    coordinate[a] = device % devices_along(&mesh->axes[a]);
    device /= devices_along(&mesh->axes[a]);
  }
}

int64_t dp_mesh_device(const dp_mesh *mesh, const int64_t coordinate[DP_MAX_MESH]) {
  int64_t device = 0;
  for (int a = 0; a < mesh->n_axes; a++)
    if (!dp_mesh_is_sequential(&mesh->axes[a])) device = device * mesh->axes[a].size + coordinate[a];
  return device;
}
