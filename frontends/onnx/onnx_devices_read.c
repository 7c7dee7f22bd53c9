// Reads ONNX's multi-device annotations (IR version 11) as our placements: a mesh on which every annotated tensor's
// shards are on the devices listed, constraints of initializers on its axes, and the device and stage of nodes.
//
// A configuration is a list of devices. If its device names have our writer's form ("data=0,tensor=1"), they define the
// mesh; otherwise it is the mesh with fewest axes that explains all annotations, with axes called data and tensor.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

enum { MAX_DEVICES = 4096 };  // in a configuration

// ---- the mesh from device names -------------------------------------------------------------------------------------

// Parses one "axis=coordinate" of a device's name. Returns the rest of the text, or NULL.
static const char *read_coordinate(dp_arena *arena, const char *text, const char **axis, int64_t *coordinate) {
  char *end;
  size_t length = strcspn(text, "=,");
  if (!length || text[length] != '=' || text[length + 1] < '0' || text[length + 1] > '9') return NULL;
  *axis = dp_strndup(arena, text, length);
  *coordinate = strtoll(text + length + 1, &end, 10);
  return *end == ',' ? end + 1 : *end ? NULL : end;
}

static bool name_axes(dp_arena *arena, const Dp__Onnx__DeviceConfiguration *c, dp_mesh *mesh) {
  *mesh = (dp_mesh){0};
  const char *text = c->device[c->n_device - 1];
  while (*text) {
    dp_mesh_axis axis;
    if (mesh->n_axes == DP_MAX_MESH || !(text = read_coordinate(arena, text, &axis.name, &axis.size))) return false;
    if (axis.size >= MAX_DEVICES) return false;
    axis.size++;
    mesh->axes[mesh->n_axes++] = axis;
  }
  return mesh->n_axes > 0;
}

static bool has_names(dp_arena *arena, const Dp__Onnx__DeviceConfiguration *c, dp_mesh *mesh) {
  if (!c->n_device || c->n_device != (size_t)c->num_devices || !name_axes(arena, c, mesh)) return false;
  if (dp_mesh_devices(mesh) != c->num_devices) return false;
  for (size_t i = 0; i < c->n_device; i++) {
    int64_t at[DP_MAX_MESH], found;
    const char *text = c->device[i], *axis;
    dp_mesh_coordinate(mesh, (int64_t)i, at);
    for (int a = 0; a < mesh->n_axes; a++)
      if (!(text = read_coordinate(arena, text, &axis, &found)) || strcmp(axis, mesh->axes[a].name) || found != at[a])
        return false;
    if (*text) return false;
  }
  return true;
}

// ---- one annotation on a mesh ---------------------------------------------------------------------------------------

// The shard that each device holds; -1: none. False: a device holds two, or is not in the configuration.
static bool read_shards(const Dp__Onnx__ShardingSpec *spec, int64_t devices, int32_t shards[MAX_DEVICES]) {
  int32_t groups[MAX_DEVICES];  // by key
  memset(shards, 0xff, sizeof(int32_t) * MAX_DEVICES);
  memset(groups, 0xff, sizeof groups);
  for (size_t i = 0; i < spec->n_index_to_device_group_map; i++) {
    int64_t key = spec->index_to_device_group_map[i]->key;
    if (key < 0 || key >= MAX_DEVICES || groups[key] >= 0) return false;
    groups[key] = (int32_t)i;
  }
  for (size_t s = 0; s < spec->n_device; s++) {
    int64_t v = spec->device[s];
    if (v < 0 || v >= MAX_DEVICES) return false;
    const Dp__Onnx__IntIntListEntry *group = groups[v] < 0 ? NULL : spec->index_to_device_group_map[groups[v]];
    for (size_t k = 0; k < (group ? group->n_value : 1); k++) {
      int64_t device = group ? group->value[k] : v;
      if (device < 0 || device >= devices || shards[device] >= 0) return false;
      shards[device] = (int32_t)s;
    }
  }
  return true;
}

// The view as blocks [outer, k, unit] in which k is split. False: another form.
static bool read_dim(const Dp__Onnx__ShardedDim *m, dp_placement *split, int64_t *shards) {
  *shards = 1;
  *split = dp_shard((int)m->axis);
  for (size_t i = 0; i < m->n_simple_sharding; i++) {
    const Dp__Onnx__SimpleShardedDim *s = m->simple_sharding[i];
    if (s->num_shards < 1) return false;
    if (s->num_shards > 1) {
      if (*shards > 1) return false;
      *shards = s->num_shards;
      continue;
    }
    int64_t *side = *shards > 1 ? &split->unit : &split->outer;
    if (!s->has_dim_value || s->dim_value < 1 || __builtin_mul_overflow(*side, s->dim_value, side)) return false;
  }
  return m->has_axis && m->axis >= -DP_MAX_RANK && m->axis < DP_MAX_RANK;
}

// An annotation while axes are sought for its dims.
typedef struct {
  const Dp__Onnx__ShardingSpec *spec;
  const dp_mesh *mesh;
  int rank;
  int32_t shards[MAX_DEVICES];
  dp_placement at[DP_MAX_MESH];
} fitting;

static bool is_listed(const fitting *f) {
  int64_t devices = dp_mesh_devices(f->mesh);
  for (int64_t i = 0; i < devices; i++) {
    int64_t coordinate[DP_MAX_MESH], shard = 0;
    dp_mesh_coordinate(f->mesh, i, coordinate);
    for (size_t d = 0; d < f->spec->n_sharded_dim; d++) {
      int64_t dim = f->spec->sharded_dim[d]->axis;
      if (dim < 0) dim += f->rank;
      for (int a = 0; a < f->mesh->n_axes; a++)
        if (f->at[a].kind == DP_SHARD && f->at[a].dim == dim) shard = shard * f->mesh->axes[a].size + coordinate[a];
    }
    if (f->shards[i] != shard) return false;
  }
  return true;
}

// Splits the dims from `dim` on, each over some of the free axes.
static bool fit(fitting *f, size_t dim, uint32_t free) {
  if (dim == f->spec->n_sharded_dim) return is_listed(f);
  dp_placement split;
  int64_t shards;
  if (!read_dim(f->spec->sharded_dim[dim], &split, &shards)) return false;
  if (split.dim < 0) split.dim += f->rank;
  for (uint32_t axes = free; axes; axes = (axes - 1) & free) {
    int64_t parts = 1;
    for (int a = 0; a < f->mesh->n_axes; a++)
      if (axes >> a & 1) parts *= f->mesh->axes[a].size;
    if (parts != shards) continue;
    for (int a = 0; a < f->mesh->n_axes; a++)
      if (axes >> a & 1) f->at[a] = split;
    if (fit(f, dim + 1, free & ~axes)) return true;
    for (int a = 0; a < f->mesh->n_axes; a++)
      if (axes >> a & 1) f->at[a] = dp_replicate();
  }
  return false;
}

// rank: of the tensor; 0: unknown, so negative dims stay distinct.
static bool find_placements(const Dp__Onnx__ShardingSpec *spec, const dp_mesh *mesh, int rank,
                            dp_placement at[DP_MAX_MESH]) {
  fitting f = {.spec = spec, .mesh = mesh, .rank = rank};
  bool good = spec->n_sharded_dim <= DP_MAX_MESH && read_shards(spec, dp_mesh_devices(mesh), f.shards) &&
              fit(&f, 0, (1u << mesh->n_axes) - 1);
  memcpy(at, f.at, sizeof f.at);
  return good;
}

// ---- all annotations ------------------------------------------------------------------------------------------------

// Calls `visit` for each annotation of a split tensor in the configuration, until it returns false.
typedef bool (*visitor)(void *arg, const Dp__Onnx__ShardingSpec *spec);

static bool visit_all(const Dp__Onnx__Graph *graph, const char *configuration, visitor visit, void *arg) {
  for (size_t i = 0; i < graph->n_node; i++)
    for (size_t c = 0; c < graph->node[i]->n_device_configurations; c++) {
      const Dp__Onnx__NodeDeviceConfiguration *m = graph->node[i]->device_configurations[c];
      if (strcmp(m->configuration_id, configuration)) continue;
      for (size_t k = 0; k < m->n_sharding_spec; k++)
        if (m->sharding_spec[k]->n_sharded_dim && !visit(arg, m->sharding_spec[k])) return false;
    }
  return true;
}

static bool fits_on(void *arg, const Dp__Onnx__ShardingSpec *spec) {
  dp_placement at[DP_MAX_MESH];
  return find_placements(spec, arg, 0, at);
}

// Finds the mesh with fewest axes, at most two, that explains all annotations.
static bool find_mesh(const Dp__Onnx__Graph *graph, const Dp__Onnx__DeviceConfiguration *c, dp_mesh *mesh) {
  *mesh = (dp_mesh){1, {{"tensor", c->num_devices}}};
  if (visit_all(graph, c->name, fits_on, mesh)) return true;
  for (int64_t first = 2; first * 2 <= c->num_devices; first++) {
    if (c->num_devices % first) continue;
    *mesh = (dp_mesh){2, {{"data", first}, {"tensor", c->num_devices / first}}};
    if (visit_all(graph, c->name, fits_on, mesh)) return true;
  }
  return false;
}

typedef struct {
  dp_model *model;
  dp_status status;
} pinning;

static void constraint(dp_model *model, dp_variable *p, int axis, dp_placement placement) {
  for (int i = 0; i < p->n_constraints; i++)
    if (!strcmp(p->constraints[i].axis, model->mesh.axes[axis].name)) return;
  dp_constraint wish = {model->mesh.axes[axis].name, placement};
  DP_PUSH(model->arena, p->constraints, p->n_constraints, wish);
}

static bool constraint_initializer(void *arg, const Dp__Onnx__ShardingSpec *spec) {
  pinning *p = arg;
  int32_t i = dp_model_find_variable(p->model, spec->tensor_name);
  if (i < 0) return true;  // an activation: its placement follows from the parameters'
  dp_variable *variable = &p->model->variables[i];
  dp_placement at[DP_MAX_MESH];
  if (!find_placements(spec, &p->model->mesh, variable->type->shape.rank, at)) {
    p->status = dp_fail(EX_UNAVAILABLE, "its shards do not fit the mesh of its configuration");
  } else {
    p->status = dp_placement_check(&variable->type->shape, at, &p->model->mesh);
    for (int a = 0; a < p->model->mesh.n_axes && !p->status; a++)
      if (at[a].kind == DP_SHARD) constraint(p->model, variable, a, at[a]);
  }
  if (p->status) p->status = dp_status_context(p->status, "the sharding of '%s'", spec->tensor_name);
  return !p->status;
}

dp_status dp_onnx_devices_read(dp_onnx_reader *reader) {
  const Dp__Onnx__Model *m = reader->message;
  if (!m->n_configuration) return DP_OK;
  const Dp__Onnx__DeviceConfiguration *c = m->configuration[0];
  if (c->num_devices < 1 || c->num_devices > MAX_DEVICES)
    return dp_fail(EX_UNAVAILABLE, "configuration '%s' has %d devices; 1 to %d are supported", c->name, c->num_devices,
                   MAX_DEVICES);
  dp_mesh mesh;
  if (!has_names(reader->arena, c, &mesh) && !find_mesh(m->graph, c, &mesh))
    return dp_fail(EX_UNAVAILABLE,
                   "the shardings of configuration '%s' are not those of a mesh of one or two axes, which is what is "
                   "supported",
                   c->name);
  reader->model->mesh = mesh;
  pinning p = {.model = reader->model};
  visit_all(m->graph, c->name, constraint_initializer, &p);
  return p.status;
}

void dp_onnx_devices_mark(const dp_onnx_reader *reader, const Dp__Onnx__Node *message, int32_t first) {
  const Dp__Onnx__Model *m = reader->message;
  for (size_t c = 0; m->n_configuration && c < message->n_device_configurations; c++) {
    const Dp__Onnx__NodeDeviceConfiguration *own = message->device_configurations[c];
    if (strcmp(own->configuration_id, m->configuration[0]->name)) continue;
    int device = -1, stage = own->has_pipeline_stage && own->pipeline_stage >= 0 ? own->pipeline_stage : -1;
    for (size_t k = 0; k < own->n_sharding_spec; k++) {
      const Dp__Onnx__ShardingSpec *spec = own->sharding_spec[k];
      bool whole = !spec->n_sharded_dim && spec->n_device == 1 && !spec->n_index_to_device_group_map;
      if (whole && spec->device[0] >= 0 && spec->device[0] < MAX_DEVICES) device = (int)spec->device[0];
    }
    for (int32_t i = first; i < reader->graph->n_nodes; i++) {
      reader->graph->nodes[i]->device = device;
      reader->graph->nodes[i]->stage = stage;
    }
  }
}
