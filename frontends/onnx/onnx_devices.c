// Writes placements as ONNX's multi-device annotations (IR version 11): the mesh becomes a configuration. A split
// tensor has, for each split dim, the blocks of its view and the number of shards; and for each shard, row-major over
// the split dims, the device or group of devices that hold it.
#include <stdio.h>
#include <string.h>

#include "frontends/onnx/onnx_writer.h"

Dp__Onnx__DeviceConfiguration *dp_onnx_devices_configuration(dp_arena *arena, const dp_mesh *mesh) {
  DP_ONNX_NEW(arena, Dp__Onnx__DeviceConfiguration, dp__onnx__device_configuration__init, m);
  int64_t devices = dp_mesh_devices(mesh);
  m->name = (char *)"mesh";
  m->has_num_devices = true;
  m->num_devices = (int32_t)devices;
  for (int64_t i = 0; i < devices; i++) {
    int64_t at[DP_MAX_MESH];
    char *name = dp_strdup(arena, "");
    dp_mesh_coordinate(mesh, i, at);
    for (int a = 0; a < mesh->n_axes; a++)
      name = dp_printf(arena, "%s%s%s=%lld", name, a ? "," : "", mesh->axes[a].name, (long long)at[a]);
    DP_PUSH(arena, m->device, m->n_device, name);
  }
  return m;
}

// ---- one tensor -----------------------------------------------------------------------------------------------------

// Micro-batches are parts in time, which ONNX's meshes cannot express.
static void placements_of(const dp_onnx_writer *w, const dp_value *value, dp_placement at[DP_MAX_MESH]) {
  memcpy(at, value->placements, DP_MAX_MESH * sizeof *at);
  const bool constrained = value->kind == DP_VALUE_VARIABLE && value->space == DP_SPACE_NONE;
  const dp_variable *p = constrained ? &w->model->variables[value->variable] : NULL;
  for (int i = 0; p && i < p->n_constraints; i++) {
    int axis = dp_mesh_find(w->mesh, p->constraints[i].axis);
    if (axis >= 0) at[axis] = p->constraints[i].placement;
  }
  for (int a = 0; a < w->mesh->n_axes; a++)
    if (dp_mesh_is_sequential(&w->mesh->axes[a])) at[a] = dp_replicate();
}

static void add_blocks(dp_onnx_writer *w, Dp__Onnx__ShardedDim *dim, dp_dim blocks, int64_t shards) {
  DP_ONNX_NEW(w->arena, Dp__Onnx__SimpleShardedDim, dp__onnx__simple_sharded_dim__init, m);
  if (dp_dim_is_symbolic(blocks)) {
    m->dim_param = (char *)w->model->symbol;
  } else {
    m->has_dim_value = true;
    m->dim_value = blocks.offset;
  }
  m->has_num_shards = true;
  m->num_shards = shards;
  DP_PUSH(w->arena, dim->simple_sharding, dim->n_simple_sharding, m);
}

static void add_dim(dp_onnx_writer *w, Dp__Onnx__ShardingSpec *spec, const dp_type *type, const dp_placement *at,
                    int d) {
  int64_t shards = 1, outer = 1, unit = 1;
  for (int a = 0; a < w->mesh->n_axes; a++) {
    if (at[a].kind != DP_SHARD || at[a].dim != d) continue;
    shards *= w->mesh->axes[a].size;
    outer = at[a].outer;
    unit = at[a].unit;
  }
  if (shards == 1) return;
  DP_ONNX_NEW(w->arena, Dp__Onnx__ShardedDim, dp__onnx__sharded_dim__init, dim);
  dim->has_axis = true;
  dim->axis = d;
  dp_dim extent = type->shape.dims[d];
  dp_dim blocks = {extent.scale / (outer * unit), extent.offset / (outer * unit)};
  if (outer > 1) add_blocks(w, dim, dp_dim_of(outer), 1);
  add_blocks(w, dim, blocks, shards);
  if (unit > 1) add_blocks(w, dim, dp_dim_of(unit), 1);
  DP_PUSH(w->arena, spec->sharded_dim, spec->n_sharded_dim, dim);
}

// The shard that the device holds, row-major over the split dims.
static int64_t shard_of(const dp_onnx_writer *w, int rank, const dp_placement *at, int64_t device) {
  int64_t coordinate[DP_MAX_MESH], shard = 0;
  dp_mesh_coordinate(w->mesh, device, coordinate);
  for (int d = 0; d < rank; d++)
    for (int a = 0; a < w->mesh->n_axes; a++)
      if (at[a].kind == DP_SHARD && at[a].dim == d) shard = shard * w->mesh->axes[a].size + coordinate[a];
  return shard;
}

static void add_devices(dp_onnx_writer *w, Dp__Onnx__ShardingSpec *spec, int rank, const dp_placement *at) {
  int64_t devices = dp_mesh_devices(w->mesh), shards = 1;
  for (int a = 0; a < w->mesh->n_axes; a++)
    if (at[a].kind == DP_SHARD) shards *= w->mesh->axes[a].size;
  spec->n_device = (size_t)shards;
  spec->device = dp_alloc_n(w->arena, (size_t)shards, sizeof *spec->device);
  for (int64_t s = 0; s < shards; s++) spec->device[s] = s;
  if (shards == devices) {
    for (int64_t i = 0; i < devices; i++) spec->device[shard_of(w, rank, at, i)] = i;
    return;
  }
  spec->n_index_to_device_group_map = (size_t)shards;
  spec->index_to_device_group_map = dp_alloc_n(w->arena, (size_t)shards, sizeof *spec->index_to_device_group_map);
  for (int64_t s = 0; s < shards; s++) {
    DP_ONNX_NEW(w->arena, Dp__Onnx__IntIntListEntry, dp__onnx__int_int_list_entry__init, group);
    group->has_key = true;
    group->key = s;
    group->value = dp_alloc_n(w->arena, (size_t)(devices / shards), sizeof *group->value);
    spec->index_to_device_group_map[s] = group;
  }
  for (int64_t i = 0; i < devices; i++) {
    Dp__Onnx__IntIntListEntry *group = spec->index_to_device_group_map[shard_of(w, rank, at, i)];
    group->value[group->n_value++] = i;
  }
}

static void add_spec(dp_onnx_writer *w, const dp_value *value, Dp__Onnx__NodeDeviceConfiguration *m) {
  dp_placement at[DP_MAX_MESH];
  if (!value) return;
  placements_of(w, value, at);
  DP_ONNX_NEW(w->arena, Dp__Onnx__ShardingSpec, dp__onnx__sharding_spec__init, spec);
  for (int d = 0; d < value->type->shape.rank; d++) add_dim(w, spec, value->type, at, d);
  if (!spec->n_sharded_dim) return;
  spec->tensor_name = (char *)dp_onnx_export_name(w, value);
  add_devices(w, spec, value->type->shape.rank, at);
  DP_PUSH(w->arena, m->sharding_spec, m->n_sharding_spec, spec);
}

// ---- one node -------------------------------------------------------------------------------------------------------

// For a node on one device: its first result is whole there.
static void add_device(dp_onnx_writer *w, const dp_node *node, Dp__Onnx__NodeDeviceConfiguration *m) {
  if (node->device < 0 || !node->n_outputs || !node->outputs[0]) return;
  DP_ONNX_NEW(w->arena, Dp__Onnx__ShardingSpec, dp__onnx__sharding_spec__init, spec);
  int64_t device = node->device;
  spec->tensor_name = (char *)dp_onnx_export_name(w, node->outputs[0]);
  DP_PUSH(w->arena, spec->device, spec->n_device, device);
  DP_PUSH(w->arena, m->sharding_spec, m->n_sharding_spec, spec);
}

void dp_onnx_devices_write(dp_onnx_writer *w, const dp_node *node, Dp__Onnx__Node *message) {
  if (!w->mesh->n_axes) return;
  DP_ONNX_NEW(w->arena, Dp__Onnx__NodeDeviceConfiguration, dp__onnx__node_device_configuration__init, m);
  m->configuration_id = (char *)"mesh";
  for (int i = 0; i < node->n_inputs; i++) add_spec(w, node->inputs[i], m);
  for (int k = 0; k < node->n_outputs; k++) add_spec(w, node->outputs[k], m);
  add_device(w, node, m);
  m->has_pipeline_stage = node->stage >= 0;
  m->pipeline_stage = node->stage;
  if (m->n_sharding_spec || m->has_pipeline_stage)
    DP_PUSH(w->arena, message->device_configurations, message->n_device_configurations, m);
}
