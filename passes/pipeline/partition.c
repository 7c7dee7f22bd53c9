// partition: assigns each node of "main" to a stage of the pipeline, if the mesh has an axis `pipe`. Options call the
// pass `cut` (--stop-after=cut). What is later made from a node (its gradient, its update, its decomposition) follows
// it.
//
// The nodes are put in a line: the model's own order, except that nodes which depend on no parameter (masks, positions)
// go with their first user. The line is cut so that the slowest stage takes the least time, forward and backward. Among
// cuts that take about as long (DP_CUT_SLACK), those with the fewest bytes crossing in a step win. Activations and
// their gradients count, and a value needed two stages later crosses two cuts. --memory bounds what a stage may take,
// by an estimate: parameters with their gradients and optimizer state, and what waits for its backward pass, for as
// many micro-batches as are in flight. When no cuts stay within the bound, those that take the least memory are made,
// and passes/fit.c judges the plan itself.
//
// Stages that the user annotated (partition_user.c) are kept; under --strategy=manual there are no others.
//
// Gives: nodes with stages of the mesh, rising along every edge except under --strategy=manual; without axis `pipe`,
// nodes without stages. No node has a device afterwards.
#include "passes/pipeline/partition.h"

#include <math.h>
#include <string.h>

#include "passes/base/strategy.h"

typedef struct {
  const dp_compile *compile;
  dp_graph *main;
  dp_arena *arena;
  int n_stages;
  int *stages;  // by node: at first the user's annotation, -1: none
  dp_partition_weights weights;
  bool *depends;      // by node: it depends on a parameter, buffer or state, or is pinned, so it does not move to its
                      // users
  bool *trains;       // by value: it receives a gradient
  int32_t n;          // nodes in the line
  int32_t *line;      // nodes
  int32_t *position;  // by node: position in the line, -1: none
} cutting;

static bool is_trained(const dp_model *model, const dp_value *v) {
  if (v->variable < 0 || !dp_type_is_float(v->type->dtype)) return false;
  return model->variables[v->variable].kind == DP_PARAMETER && !model->variables[v->variable].frozen;
}

// ---- the line -------------------------------------------------------------------------------------------------------

static void find_dependent(const cutting *c) {
  const bool training = !dp_options_infers(c->compile->options);
  for (int32_t i = 0; i < c->main->n_values; i++)
    c->trains[i] = training && is_trained(c->main->model, c->main->values[i]);
  for (int32_t i = 0; i < c->main->n_nodes; i++) {
    const dp_node *node = c->main->nodes[i];
    bool trains = false;
    c->depends[i] = c->stages[i] >= 0;
    for (int k = 0; k < node->n_inputs; k++) {
      const dp_value *v = node->inputs[k];
      if (!v) continue;
      trains |= c->trains[v->id];
      c->depends[i] |= v->variable >= 0 || (v->producer && c->depends[v->producer->id]);
    }
    for (int k = 0; k < node->n_outputs; k++)
      if (node->outputs[k]) c->trains[node->outputs[k]->id] = trains && dp_type_is_float(node->outputs[k]->type->dtype);
  }
}

// By node, the first anchored node that needs it: itself when it depends on a parameter.
static int32_t *find_anchors(const cutting *c) {
  const int32_t n = c->main->n_nodes;
  int32_t *anchor = dp_alloc_n(c->arena, (size_t)n, sizeof *anchor);
  for (int32_t i = 0; i < n; i++) anchor[i] = c->depends[i] ? i : n;
  for (int32_t i = n; i-- > 0;) {
    if (anchor[i] == n) anchor[i] = i;  // no anchored node needs it
    for (int k = 0; k < c->main->nodes[i]->n_inputs && c->weights.alive[i]; k++) {
      const dp_value *v = c->main->nodes[i]->inputs[k];
      if (v && v->producer && !c->depends[v->producer->id] && anchor[i] < anchor[v->producer->id])
        anchor[v->producer->id] = anchor[i];
    }
  }
  return anchor;
}

// By node, the lowest stage that the annotations of the node and of what it needs allow.
static dp_status find_least(const cutting *c, int32_t *least) {
  for (int32_t i = 0; i < c->main->n_nodes; i++) {
    const dp_node *node = c->main->nodes[i];
    least[i] = 0;
    for (int k = 0; k < node->n_inputs; k++) {
      const dp_value *v = node->inputs[k];
      if (!v || !v->producer || least[v->producer->id] <= least[i]) continue;
      least[i] = least[v->producer->id];
      if (c->stages[i] < 0 || c->stages[i] >= least[i]) continue;
      return dp_fail(EX_CONFIG,
                     "node '%s' is annotated with stage %d, but needs '%s', which is on stage %d or later: stages must "
                     "rise, except with --strategy=manual and one micro-batch",
                     node->name, c->stages[i], v->name, least[i]);
    }
    if (c->stages[i] > least[i]) least[i] = c->stages[i];
  }
  return DP_OK;
}

// Stable sort by keys from 0 to n_keys - 1.
static void sort_line(const cutting *c, int32_t *line, const int32_t *key, int32_t n_keys) {
  int32_t *end = dp_alloc_n(c->arena, (size_t)n_keys + 1, sizeof *end);
  for (int32_t i = 0; i < c->n; i++) end[key[line[i]] + 1]++;
  for (int32_t k = 0; k < n_keys; k++) end[k + 1] += end[k];
  int32_t *from = dp_memdup(c->arena, line, (size_t)c->n * sizeof *line);
  for (int32_t i = 0; i < c->n; i++) line[end[key[from[i]]]++] = from[i];
}

static dp_status make_line(cutting *c) {
  const int32_t n = c->main->n_nodes;
  int32_t *least = dp_alloc_n(c->arena, (size_t)n, sizeof *least);
  find_dependent(c);
  DP_TRY(find_least(c, least));
  const int32_t *anchor = find_anchors(c);
  for (int32_t i = 0; i < n; i++) {
    least[i] = least[anchor[i]];
    c->position[i] = -1;
    if (c->weights.alive[i]) c->line[c->n++] = i;
  }
  sort_line(c, c->line, anchor, n);
  sort_line(c, c->line, least, c->n_stages);
  for (int32_t i = 0; i < c->n; i++) c->position[c->line[i]] = i;
  return DP_OK;
}

// ---- what crosses ---------------------------------------------------------------------------------------------------

// By value, the last position in the line where it is used; -1: none. A parameter is live from its first user on.
static void find_span(const cutting *c, int32_t *first, int32_t *last) {
  for (int32_t i = 0; i < c->main->n_values; i++) {
    const dp_value *v = c->main->values[i];
    first[i] = v->producer ? c->position[v->producer->id] : -1;
    last[i] = -1;
  }
  for (int32_t i = 0; i < c->n; i++) {
    const dp_node *node = c->main->nodes[c->line[i]];
    for (int k = 0; k < node->n_inputs; k++) {
      const dp_value *v = node->inputs[k];
      if (!v) continue;
      if (first[v->id] < 0 && is_trained(c->main->model, v)) first[v->id] = i;
      last[v->id] = i;
    }
  }
}

// The bytes of a step that cross each position of the line, forward and, as gradients, backward. What the host feeds,
// and what nothing updates, is on every stage that uses it.
static double *find_crossing(const cutting *c) {
  const dp_model *model = c->main->model;
  const int data = dp_mesh_find(&model->mesh, "data");
  const int64_t parts = data < 0 ? 1 : model->mesh.axes[data].size;
  double *bytes = dp_alloc_n(c->arena, (size_t)c->n + 2, sizeof *bytes);
  int32_t *first = dp_alloc_n(c->arena, (size_t)c->main->n_values, sizeof *first);
  int32_t *last = dp_alloc_n(c->arena, (size_t)c->main->n_values, sizeof *last);
  find_span(c, first, last);
  for (int32_t i = 0; i < c->main->n_values; i++) {
    const dp_value *v = c->main->values[i];
    if (first[i] < 0 || last[i] <= first[i]) continue;
    double size = (double)dp_shape_count(&v->type->shape, (model->batch + parts - 1) / parts) *
                  (double)dp_type_bytes(v->type->dtype) * (c->trains[i] ? 2 : 1);
    bytes[first[i] + 1] += size;
    bytes[last[i] + 1] -= size;
  }
  for (int32_t i = 0; i < c->n; i++) bytes[i + 1] += bytes[i];
  return bytes;
}

// ---- cutting --------------------------------------------------------------------------------------------------------

static double *in_line(const cutting *c, const double *weight) {
  double *sorted = dp_alloc_n(c->arena, (size_t)c->n, sizeof *sorted);
  for (int32_t i = 0; i < c->n; i++) sorted[i] = weight[c->line[i]];
  return sorted;
}

// Where the stages may begin, given the annotations.
static void find_bounds(const cutting *c, int32_t *lowest, int32_t *highest) {
  for (int s = 0; s <= c->n_stages; s++) lowest[s] = 0, highest[s] = c->n;
  for (int32_t i = 0; i < c->n; i++) {
    const int at = c->stages[c->line[i]];
    if (at < 0) continue;
    if (highest[at] > i) highest[at] = i;
    if (at < c->n_stages) lowest[at + 1] = i + 1;
  }
  for (int s = c->n_stages; s-- > 0;) highest[s] = (int32_t)dp_min_i64(highest[s], highest[s + 1]);
  for (int s = 1; s <= c->n_stages; s++) lowest[s] = (int32_t)dp_max_i64(lowest[s], lowest[s - 1]);
}

static dp_status search_cuts(cutting *c, int32_t *starts) {
  const int p = c->n_stages;
  const dp_options *o = c->compile->options;
  const int64_t m = dp_mesh_microbatches(&c->main->model->mesh),
                limit = o->stage_bytes ? o->stage_bytes : o->memory_bytes;
  const bool all = o->pipeline_schedule && !strcmp(o->pipeline_schedule, "gpipe");
  dp_partition_line line = {.n = c->n,
                            .time = in_line(c, c->weights.time),
                            .kept = in_line(c, c->weights.kept),
                            .held = in_line(c, c->weights.held),
                            .crossing = find_crossing(c)};
  int32_t *lowest = dp_alloc_n(c->arena, (size_t)p + 1, sizeof *lowest);
  int32_t *highest = dp_alloc_n(c->arena, (size_t)p + 1, sizeof *highest);
  double *in_flight = dp_alloc_n(c->arena, (size_t)p, sizeof *in_flight);
  for (int s = 0; s < p; s++) in_flight[s] = (double)(all ? m : dp_min_i64(m, p - s));
  find_bounds(c, lowest, highest);
  dp_partition_task task = {p, lowest, highest, in_flight, limit ? (double)limit : INFINITY};
  dp_partition_score score;
  if (!dp_partition_search(c->arena, &line, &task, starts, &score))
    return dp_fail(EX_CONFIG, "the annotated stages leave no node for one of the mesh's %d stages", p);
  if (o->stage_counted) *o->stage_counted = score.memory;
  return DP_OK;
}

int *dp_partition_fed(const dp_graph *main, const int *stages) {
  int *fed = dp_alloc_n(main->arena, (size_t)main->n_values, sizeof *fed);
  for (int32_t i = main->n_nodes; i-- > 0;)
    for (int k = 0; k < main->nodes[i]->n_inputs && stages[i] >= 0; k++) {
      const dp_value *v = main->nodes[i]->inputs[k];
      if (v && v->kind == DP_VALUE_INPUT && (!fed[v->id] || stages[i] + 1 < fed[v->id])) fed[v->id] = stages[i] + 1;
    }
  for (int32_t v = 0; v < main->n_values; v++) fed[v] -= fed[v] > 0;
  return fed;
}

// Folded nodes go with the first of their users; nodes that nothing depends on with the last of their operands.
static void place_rest(const cutting *c) {
  const dp_graph *main = c->main;
  for (int32_t i = main->n_nodes; i-- > 0;)
    for (int k = 0; k < main->nodes[i]->n_inputs && c->stages[i] >= 0; k++) {
      const dp_value *v = main->nodes[i]->inputs[k];
      if (!v || !v->producer || !c->weights.folded[v->producer->id]) continue;
      int *stage = &c->stages[v->producer->id];
      if (*stage < 0 || *stage > c->stages[i]) *stage = c->stages[i];
    }
  const int *fed = dp_partition_fed(main, c->stages);
  for (int32_t i = 0; i < main->n_nodes; i++) {
    if (c->stages[i] >= 0) continue;
    c->stages[i] = 0;
    for (int k = 0; k < main->nodes[i]->n_inputs; k++) {
      const dp_value *v = main->nodes[i]->inputs[k];
      const int at = !v ? 0 : v->producer ? c->stages[v->producer->id] : fed[v->id];
      if (at > c->stages[i]) c->stages[i] = at;
    }
  }
}

static dp_status partition(void *arg) {
  cutting *c = arg;
  const size_t n = (size_t)c->main->n_nodes;
  c->depends = dp_alloc_n(c->arena, n, sizeof *c->depends);
  c->trains = dp_alloc_n(c->arena, (size_t)c->main->n_values, sizeof *c->trains);
  c->line = dp_alloc_n(c->arena, n, sizeof *c->line);
  c->position = dp_alloc_n(c->arena, n, sizeof *c->position);
  int32_t *starts = dp_alloc_n(c->arena, (size_t)c->n_stages + 1, sizeof *starts);
  DP_TRY(make_line(c));
  DP_TRY(search_cuts(c, starts));
  for (int32_t i = 0; i < c->main->n_nodes; i++) c->stages[i] = -1;
  for (int s = 0; s < c->n_stages; s++)
    for (int32_t i = starts[s]; i < starts[s + 1]; i++) c->stages[c->line[i]] = s;
  place_rest(c);
  return DP_OK;
}

static dp_status find_stages(cutting *c) {
  const int32_t needed = dp_partition_count(c->compile, c->main, c->stages);
  const bool finds_stages = c->compile->strategy->finds_stages;
  if (needed < c->n_stages && (needed || finds_stages))
    return dp_fail(EX_CONFIG,
                   "the mesh has %d stages, and each needs a node, but a step of the model has %d: use --mesh=pipe=%d",
                   c->n_stages, needed, needed);
  if (!finds_stages) return dp_partition_user_complete(c->compile, c->main, c->stages);
  DP_TRY(dp_partition_weigh(c->compile, c->main, c->stages, &c->weights));
  c->arena = dp_arena_create(0);
  if (!c->arena) return dp_fail(DP_EX_MEMORY, "out of memory");
  dp_status status = dp_arena_run(c->arena, partition, c);
  dp_arena_destroy(c->arena);
  return status;
}

static dp_status run(dp_compile *compile) {
  dp_graph *main = dp_model_find_graph(compile->model, "main");
  compile->unchanged = true;
  cutting c = {.compile = compile, .main = main, .n_stages = (int)dp_mesh_stages(&compile->model->mesh)};
  c.stages = dp_alloc_n(main->arena, (size_t)main->n_nodes, sizeof *c.stages);
  DP_TRY(dp_partition_user_read(compile, main, c.stages));
  if (c.n_stages > 1) DP_TRY(find_stages(&c));
  for (int32_t i = 0; i < main->n_nodes; i++) {
    main->nodes[i]->stage = c.n_stages > 1 ? c.stages[i] : -1;
    main->nodes[i]->device = -1;
  }
  return DP_OK;
}

const dp_pass dp_pass_partition = {
    .name = "cut",
    .what = "assigns each node to a stage of the pipeline, if the mesh has one",
    .needs = DP_HAS_LOSS,
    .gives = DP_HAS_PARTITION,
    .run = run,
};
