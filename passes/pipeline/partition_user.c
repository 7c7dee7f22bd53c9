// The user's annotations of stages: `stage=K` on a node, or `device=D`, which is equivalent where every stage is one
// device. See partition.h.
#include "passes/base/strategy.h"
#include "passes/pipeline/partition.h"

// Whether every stage is one device.
static bool is_only_pipe(const dp_mesh *mesh) { return dp_mesh_devices(mesh) == dp_mesh_stages(mesh); }

static dp_status read_node(const dp_mesh *mesh, const dp_node *node, int *stage) {
  const int64_t p = dp_mesh_stages(mesh);
  *stage = node->stage >= 0 ? node->stage : node->device;
  if (*stage < 0) return DP_OK;
  const char *word = node->stage >= 0 ? "stage" : "device";
  if (node->device >= 0 && !is_only_pipe(mesh))
    return dp_fail(
        EX_CONFIG,
        "node '%s' is annotated with device=%d, but on this mesh a stage has several devices; annotate it with "
        "its stage",
        node->name, node->device);
  if (node->device >= 0 && node->stage >= 0 && node->device != node->stage)
    return dp_fail(EX_CONFIG, "node '%s' is annotated with stage=%d and with device=%d, which is another stage",
                   node->name, node->stage, node->device);
  if (*stage < p) return DP_OK;
  return dp_fail(EX_CONFIG,
                 "node '%s' is annotated with %s=%d, but the mesh has %lld %s, counted from 0: use an axis pipe=%lld",
                 node->name, word, *stage, (long long)p, p == 1 ? "stage" : "stages", *stage + 1LL);
}

dp_status dp_partition_user_read(const dp_compile *compile, const dp_graph *main, int *stages) {
  const dp_mesh *mesh = &main->model->mesh;
  // Annotations count only when a pipeline is requested, or when the user writes all stages.
  const bool read = dp_mesh_stages(mesh) > 1 || !compile->strategy->finds_stages;
  for (int32_t i = 0; i < main->n_nodes; i++) {
    stages[i] = -1;
    if (read) DP_TRY(read_node(mesh, main->nodes[i], &stages[i]));
  }
  return DP_OK;
}

// ---- the rest of a model --------------------------------------------------------------------------------------------

// A node without annotation goes to the stage of its last operand; failing that, to that of its first user; failing
// that, to the stage that the host feeds its operands to anyway.
static void complete_stages(const dp_graph *main, int *stages) {
  for (int32_t i = 0; i < main->n_nodes; i++)
    for (int k = 0; k < main->nodes[i]->n_inputs && main->nodes[i]->stage < 0 && main->nodes[i]->device < 0; k++) {
      const dp_value *v = main->nodes[i]->inputs[k];
      if (v && v->producer && stages[v->producer->id] > stages[i]) stages[i] = stages[v->producer->id];
    }
  bool *leading = dp_alloc_n(main->arena, (size_t)main->n_nodes, sizeof *leading);
  for (int32_t i = 0; i < main->n_nodes; i++) leading[i] = stages[i] < 0;
  const int *fed = dp_partition_fed(main, stages);
  for (int32_t i = main->n_nodes; i-- > 0;) {
    const bool unused = stages[i] < 0;
    if (unused) stages[i] = 0;
    for (int k = 0; k < main->nodes[i]->n_inputs; k++) {
      const dp_value *v = main->nodes[i]->inputs[k];
      if (unused && v && !v->producer && fed[v->id] > stages[i]) stages[i] = fed[v->id];
      if (!v || !v->producer || !leading[v->producer->id]) continue;
      int *before = &stages[v->producer->id];
      if (*before < 0 || *before > stages[i]) *before = stages[i];
    }
  }
}

// A node that needs a result of a later stage; NULL: none. *needs: that result.
static const dp_node *find_back(const dp_graph *main, const int *stages, const dp_value **needs) {
  for (int32_t i = 0; i < main->n_nodes; i++)
    for (int k = 0; k < main->nodes[i]->n_inputs; k++) {
      const dp_value *v = *needs = main->nodes[i]->inputs[k];
      if (v && v->producer && stages[v->producer->id] > stages[i]) return main->nodes[i];
    }
  return NULL;
}

// Micro-batches pass the stages in rising order. If no count was requested, there is one micro-batch.
static dp_status check_direction(const dp_compile *compile, const dp_graph *main, const int *stages) {
  dp_mesh *mesh = &compile->model->mesh;
  const dp_value *v;
  const dp_node *node = find_back(main, stages, &v);
  if (!node || dp_mesh_microbatches(mesh) == 1) return DP_OK;
  if (compile->options->microbatches)
    return dp_fail(EX_CONFIG,
                   "node '%s' is on stage %d and needs '%s' of stage %d: several micro-batches pass the stages in "
                   "rising order only; use --microbatches=1 to go back",
                   node->name, stages[node->id], v->name, stages[v->producer->id]);
  dp_pass_note(compile, "node '%s' is on stage %d and needs '%s' of stage %d: a step is one micro-batch", node->name,
               stages[node->id], v->name, stages[v->producer->id]);
  dp_mesh_drop(mesh, DP_MESH_MICRO);
  return DP_OK;
}

// Reports the stages without a node, adjacent ones together.
static void note_unused(const dp_compile *compile, const bool *used, int64_t p) {
  for (int64_t s = 0, end; s < p; s = end + 1) {
    for (end = s; end < p && !used[end];) end++;
    if (end == s + 1)
      dp_pass_note(compile, "no node is on stage %lld: its devices are idle", (long long)s);
    else if (end > s)
      dp_pass_note(compile, "no node is on stages %lld to %lld: their devices are idle", (long long)s,
                   (long long)end - 1);
  }
}

dp_status dp_partition_user_complete(const dp_compile *compile, const dp_graph *main, int *stages) {
  const int64_t p = dp_mesh_stages(&main->model->mesh);
  bool *used = dp_alloc_n(main->arena, (size_t)p, sizeof *used), any = false;
  for (int32_t i = 0; i < main->n_nodes; i++) any |= stages[i] >= 0;
  if (!any)
    return dp_fail(EX_CONFIG,
                   "the mesh has %lld stages, but no node is annotated with a stage or a device; --strategy=pipeline "
                   "assigns stages by itself",
                   (long long)p);
  complete_stages(main, stages);
  for (int32_t i = 0; i < main->n_nodes; i++) used[stages[i]] = true;
  note_unused(compile, used, p);
  return check_direction(compile, main, stages);
}
