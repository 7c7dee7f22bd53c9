// The mesh that the options request: --mesh, or one axis of --devices named after the strategy, or the model's own.
// Axis `micro` cannot be named by the user: --microbatches adds it in front once the batch is known. See
// options_mesh.h.
#include <string.h>

#include "ir/base/limits.h"
#include "passes/base/strategy.h"
#include "passes/options_mesh.h"

enum { MAX_DEVICES = DP_LIMIT_DEVICES, MAX_MICROBATCHES = DP_LIMIT_MICROBATCHES, MAX_AXES = DP_MAX_MESH - 1 };

// ---- axes -----------------------------------------------------------------------------------------------------------

static dp_status check_axes(const dp_mesh *mesh, const char *whose, int code) {
  int64_t devices = 1;
  if (mesh->n_axes > MAX_AXES) return dp_fail(code, "%s: %d axes; the limit is %d", whose, mesh->n_axes, MAX_AXES);
  for (int i = 0; i < mesh->n_axes; i++) {
    const dp_mesh_axis *axis = &mesh->axes[i];
    if (dp_mesh_is_sequential(axis))
      return dp_fail(code, "%s: axis 'micro' is not an axis of devices; request micro-batches with --microbatches=%lld",
                     whose, (long long)axis->size);
    if (axis->size < 1 || axis->size > MAX_DEVICES || (devices *= axis->size) > MAX_DEVICES)
      return dp_fail(code, "%s: axis '%s' has size %lld; a mesh must have 1 to %d devices", whose, axis->name,
                     (long long)axis->size, MAX_DEVICES);
    if (dp_mesh_is_staged(axis) && axis->size > DP_LIMIT_ROLES)
      return dp_fail(code, "%s: axis 'pipe' has size %lld; a pipeline has at most %d stages", whose,
                     (long long)axis->size, DP_LIMIT_ROLES);
    for (int k = 0; k < i; k++)
      if (!strcmp(mesh->axes[k].name, axis->name))
        return dp_fail(code, "%s: axis '%s' is given twice", whose, axis->name);
  }
  return DP_OK;
}

// The number of stages that annotations of nodes imply; 0: none.
static int64_t annotated_stages(const dp_model *model) {
  const dp_graph *main = dp_model_find_graph(model, "main");
  int64_t most = 0;
  for (int32_t i = 0; main && i < main->n_nodes; i++)
    most = dp_max_i64(most, 1 + dp_max_i64(main->nodes[i]->stage, main->nodes[i]->device));
  return most;
}

// ---- what would be right --------------------------------------------------------------------------------------------

static const char *mesh_text(dp_arena *arena, const dp_mesh *mesh) {
  const char *text = "--mesh=";
  for (int a = 0; a < mesh->n_axes; a++)
    text = dp_printf(arena, "%s%s%s=%lld", text, a ? "," : "", mesh->axes[a].name, (long long)mesh->axes[a].size);
  return text;
}

// The axes with sizes whose product is the number of devices: with one axis changed, for every axis where that works;
// else each axis keeps what divides, and the first takes the rest.
static const char *meshes_of(dp_arena *arena, const dp_mesh *asked, int64_t devices) {
  int64_t all = dp_mesh_devices(asked);
  const char *text = "";
  for (int a = 0; a < asked->n_axes; a++) {
    dp_mesh mesh = *asked;
    int64_t others = all / mesh.axes[a].size;
    if (devices % others) continue;
    mesh.axes[a].size = devices / others;
    text = dp_printf(arena, "%s%s%s", text, *text ? " or " : "", mesh_text(arena, &mesh));
  }
  if (*text) return text;
  dp_mesh mesh = *asked;
  int64_t left = devices;
  for (int a = 0; a < mesh.n_axes; left /= mesh.axes[a++].size)
    while (left % mesh.axes[a].size) mesh.axes[a].size--;
  mesh.axes[0].size *= left;
  return mesh_text(arena, &mesh);
}

// ---- the mesh -------------------------------------------------------------------------------------------------------

static dp_status take_mesh(dp_compile *compile, const dp_strategy *strategy) {
  const dp_options *o = compile->options;
  dp_model *model = compile->model;
  if (o->mesh.n_axes) {
    DP_TRY(check_axes(&o->mesh, "--mesh", EX_USAGE));
    model->mesh = o->mesh;
    for (int i = 0; i < o->mesh.n_axes; i++) model->mesh.axes[i].name = dp_strdup(model->arena, o->mesh.axes[i].name);
  } else if (strategy->axis && (o->devices || !model->mesh.n_axes || strategy->several)) {
    // The model's own mesh is used only when several devices are requested.
    model->mesh = (dp_mesh){1, {{strategy->axis, o->devices ? o->devices : 1}}};
  } else if (!model->mesh.n_axes) {
    int64_t stages = annotated_stages(model);
    if (!stages) return dp_fail(EX_CONFIG, "--strategy=%s needs a mesh, from the model or --mesh", strategy->name);
    model->mesh = (dp_mesh){1, {{DP_MESH_PIPE, o->devices ? o->devices : stages}}};
  }
  return check_axes(&model->mesh, "the model's mesh", EX_DATAERR);
}

dp_status dp_options_mesh_make(dp_compile *compile) {
  const dp_options *o = compile->options;
  dp_model *model = compile->model;
  const dp_strategy *strategy = compile->strategy;
  if (o->devices < 0 || o->devices > MAX_DEVICES)
    return dp_fail(EX_USAGE, "--devices=%lld: it must be 1 to %d", (long long)o->devices, MAX_DEVICES);
  DP_TRY(take_mesh(compile, strategy));
  if (!strategy->several && strategy->axis && dp_mesh_find(&model->mesh, strategy->axis) < 0)
    return dp_fail(EX_CONFIG, "--strategy=%s splits over an axis '%s', which the mesh does not have", strategy->name,
                   strategy->axis);
  int64_t devices = dp_mesh_devices(&model->mesh);
  if (o->devices && o->devices != devices)
    return dp_fail(EX_CONFIG, "--devices=%lld, but the mesh has %lld device%s; %s would match", (long long)o->devices,
                   (long long)devices, devices == 1 ? "" : "s", meshes_of(model->arena, &model->mesh, o->devices));
  if (strategy->several && devices > 1)
    return dp_fail(EX_CONFIG, "%lld devices, but --strategy=%s%s is for one; use --strategy=%s", (long long)devices,
                   strategy->name, o->strategy ? "" : " (the default)", strategy->several->name);
  if (o->pipeline_schedule && dp_mesh_find(&model->mesh, DP_MESH_PIPE) < 0)
    return dp_fail(EX_CONFIG,
                   "--schedule=%s is the order of a pipeline's stages, but the mesh has no axis 'pipe': use "
                   "--strategy=pipeline or --mesh=pipe=N",
                   o->pipeline_schedule);
  if (o->microbatches < 0 || o->microbatches > MAX_MICROBATCHES)
    return dp_fail(EX_USAGE, "--microbatches=%lld: it must be 1 to %d", (long long)o->microbatches, MAX_MICROBATCHES);
  return DP_OK;
}
