// See largest_shard.h.
#include "passes/cost/largest_shard.h"

#include <string.h>

// The last device on every axis, and the last micro-batch, have the largest part of everything.
dp_local dp_largest_shard_of(const dp_model *model, const dp_value *value) {
  const dp_mesh *mesh = &model->mesh;
  dp_placement placements[DP_MAX_MESH];
  int64_t last[DP_MAX_MESH];
  memcpy(placements, value->placements, sizeof placements);
  for (int a = 0; a < mesh->n_axes; a++) {
    last[a] = mesh->axes[a].size - 1;
    if (value->micro_count > 1 && dp_mesh_is_sequential(&mesh->axes[a])) placements[a] = dp_replicate();
  }
  return dp_shard_range(&value->type->shape, placements, mesh, last, model->batch);
}

uint64_t dp_largest_shard_bytes(const dp_model *model, const dp_value *value) {
  dp_local part = dp_largest_shard_of(model, value);
  return (uint64_t)dp_local_count(&part) * dp_type_bytes(value->type->dtype);
}
