// roles: makes one graph for each program and stage, in the order of the pipeline's schedule, with the transfers
// between stages.
//
// Every node is on a stage (pass `stages`), except transfers from the host and conversions of variables, which are made
// on each stage that uses them. A value of another stage is sent once to each stage that uses it.
//
//   roles_tasks.c  a task is what a stage does for one micro-batch, forward or backward; a simulation of --schedule
//                  orders the tasks
//   roles_order.c  the tasks' order becomes one order of all nodes of all stages, with a position for each transfer
//   roles_split.c  the graphs, "train/0" ..., with Send and Recv
//
// Deadlock freedom rests on that one order of all nodes, in which a Send and its Recv are one node: each stage's nodes,
// each of its streams and each event keep it, so no stages wait for each other in a cycle. Without an axis `pipe` there
// is one graph, in order.
#include "passes/pipeline/roles.h"

#include <stdlib.h>
#include <string.h>

#include "passes/base/pass.h"

// ---- where nodes are ------------------------------------------------------------------------------------------------

typedef struct {
  int count;
  int *stages;
} stage_set;

static void add_stage(dp_arena *scratch, stage_set *set, int stage) {
  for (int i = 0; i < set->count; i++)
    if (set->stages[i] == stage) return;
  DP_PUSH(scratch, set->stages, set->count, stage);
}

bool dp_roles_is_storage(const dp_variable *p, int stage) {
  for (int i = 0; i < p->n_stages; i++)
    if (p->stages[i] == stage) return true;
  return !p->n_stages;
}

int32_t dp_roles_item_of(const dp_roles *r, const dp_value *value, int stage) {
  int32_t first = r->first[value->producer->id];
  for (int32_t i = first; i < r->first[value->producer->id + 1]; i++)
    if (r->items[i].stage == stage) return i;
  return first;
}

int dp_roles_source(const dp_roles *r, const dp_value *value, int stage) {
  if (value->kind == DP_VALUE_RESULT) return r->items[dp_roles_item_of(r, value, stage)].stage;
  if (value->kind != DP_VALUE_VARIABLE) return stage;
  const dp_variable *p = &r->graph->model->variables[value->variable];
  return dp_roles_is_storage(p, stage) ? stage : p->stages[0];
}

// An update of a variable that several stages have needs its operands on each of them.
static void add_updates(const dp_roles *r, stage_set *sets, bool *everywhere) {
  for (int i = 0; i < r->graph->n_updates; i++) {
    const dp_update *u = &r->graph->updates[i];
    const dp_node *producer = u->value->producer;
    const dp_variable *p = &r->graph->model->variables[u->variable];
    if (r->n_stages == 1 || p->n_stages == 1) continue;
    everywhere[producer->id] = true;
    for (int s = 0; s < r->n_stages; s++)
      if (dp_roles_is_storage(p, s)) add_stage(r->scratch, &sets[producer->id], s);
  }
}

// The stage of a node that nothing uses: its operand's.
static int stage_by_operand(const dp_roles *r, const dp_node *node) {
  const dp_value *x = node->n_inputs ? node->inputs[0] : NULL;
  if (!x) return 0;
  if (x->kind == DP_VALUE_VARIABLE) {
    const dp_variable *p = &r->graph->model->variables[x->variable];
    return p->n_stages ? p->stages[0] : 0;
  }
  return x->producer && x->producer->stage >= 0 ? x->producer->stage : 0;
}

// What is computed from per-step scalars alone is computed on each stage that uses it: that is cheaper than sending it.
static bool is_of_scalars(const dp_node *node, const bool *of_scalars) {
  bool any = false;
  for (int k = 0; k < node->n_inputs; k++) {
    const dp_value *x = node->inputs[k];
    if (!x) continue;
    if (x->producer ? !of_scalars[x->producer->id] : x->kind != DP_VALUE_SCALAR) return false;
    any = true;
  }
  for (int k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] && node->outputs[k]->type->shape.rank) return false;
  return any;
}

static int by_number(const void *a, const void *b) {
  const int *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static stage_set *find_stages(const dp_roles *r) {
  const dp_graph *graph = r->graph;
  stage_set *sets = dp_alloc_n(r->scratch, (size_t)graph->n_nodes + 1, sizeof *sets);
  bool *everywhere = dp_alloc_n(r->scratch, (size_t)graph->n_nodes + 1, sizeof *everywhere);
  bool *of_scalars = dp_alloc_n(r->scratch, (size_t)graph->n_nodes + 1, sizeof *of_scalars);
  for (int32_t i = 0; i < graph->n_nodes; i++) of_scalars[i] = is_of_scalars(graph->nodes[i], of_scalars);
  add_updates(r, sets, everywhere);
  for (int32_t i = graph->n_nodes; i-- > 0;) {
    const dp_node *node = graph->nodes[i];
    stage_set *set = &sets[i];
    int stage = r->n_stages == 1 ? 0 : of_scalars[i] ? -1 : node->stage;
    if (stage < 0 && !set->count) stage = stage_by_operand(r, node);
    if (stage >= 0 && !everywhere[i]) add_stage(r->scratch, set, stage);
    for (int k = 0; k < node->n_inputs; k++) {
      const dp_node *before = node->inputs[k] ? node->inputs[k]->producer : NULL;
      if (!before || (before->stage >= 0 && !of_scalars[before->id] && !everywhere[i])) continue;
      everywhere[before->id] |= everywhere[i];
      for (int s = 0; s < set->count; s++) add_stage(r->scratch, &sets[before->id], set->stages[s]);
    }
    qsort(set->stages, (size_t)set->count, sizeof(int), by_number);
  }
  return sets;
}

static void make_items(dp_roles *r) {
  const dp_graph *graph = r->graph;
  const stage_set *sets = find_stages(r);
  r->first = dp_alloc_n(r->scratch, (size_t)graph->n_nodes + 2, sizeof *r->first);
  for (int32_t i = 0; i < graph->n_nodes; i++) r->first[i + 1] = r->first[i] + sets[i].count;
  r->items = dp_alloc_n(r->scratch, (size_t)r->first[graph->n_nodes] + 1, sizeof *r->items);
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int s = 0; s < sets[i].count; s++) {
      dp_node *node = graph->nodes[i];
      bool from_host = node->n_inputs && node->inputs[0] && node->inputs[0]->space == DP_SPACE_HOST_INPUT;
      r->items[r->n_items++] = (dp_roles_item){
          .node = node, .stage = sets[i].stages[s], .from_host = from_host, .micro = -1, .position = -1};
    }
}

// ---- the pass -------------------------------------------------------------------------------------------------------

void dp_roles_wait(dp_node *node, dp_node *before) {
  dp_graph *graph = node->graph;
  if (before->signal < 0) before->signal = graph->n_events++;
  for (int i = 0; i < node->n_waits; i++)
    if (node->waits[i] == before->signal) return;
  DP_PUSH(graph->arena, node->waits, node->n_waits, before->signal);
}

// One stage: the same nodes, in order. Transfers from the host come where they are first needed, and wait for the first
// node of the previous run.
static void reorder(const dp_roles *r) {
  dp_node **nodes = dp_alloc_n(r->graph->arena, (size_t)r->graph->n_nodes + 1, sizeof *nodes);
  int32_t n = 0;
  for (int32_t i = 0; i <= r->n_order; i++) {
    for (const dp_roles_arrival *a = r->arrivals[i]; a; a = a->next) {
      nodes[n++] = r->items[a->item].node;
      if (a->run > 0) dp_roles_wait(nodes[n - 1], r->items[r->order[r->runs->positions[a->run - 1]]].node);
    }
    if (i < r->n_order) nodes[n++] = r->items[r->order[i]].node;
  }
  for (int32_t i = 0; i < r->n_items; i++)  // nodes that nothing uses
    if (r->items[i].from_host && r->items[i].position < 0) nodes[n++] = r->items[i].node;
  dp_graph_reorder(r->graph, nodes);
}

static dp_status run_graph(const dp_compile *compile, dp_graph *graph, int n_stages, dp_graph **graphs) {
  const dp_mesh *mesh = &compile->model->mesh;
  dp_roles r = {.graph = graph, .n_stages = n_stages, .m = (int)dp_mesh_microbatches(mesh)};
  r.scratch = dp_arena_create(0);
  if (!r.scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
  make_items(&r);
  dp_roles_tasks_find(&r);
  dp_roles_order_make(&r, compile->options->pipeline_schedule && !strcmp(compile->options->pipeline_schedule, "gpipe"));
  dp_status status = DP_OK;
  if (n_stages > 1)
    status = dp_roles_split_make(&r, graphs);
  else
    reorder(&r);
  dp_arena_destroy(r.scratch);
  return dp_status_context(status, "program %s", graph->name);
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  int n_stages = (int)dp_mesh_stages(&model->mesh), n_programs = model->n_graphs;
  compile->unchanged = n_stages == 1 && dp_mesh_microbatches(&model->mesh) == 1;
  if (compile->unchanged) return DP_OK;
  dp_graph **programs = dp_memdup(model->arena, model->graphs, (size_t)n_programs * sizeof(dp_graph *));
  dp_graph **graphs = dp_alloc_n(model->arena, (size_t)n_stages, sizeof(dp_graph *));
  if (n_stages > 1) model->n_graphs = 0;
  for (int g = 0; g < n_programs; g++) {
    DP_TRY(run_graph(compile, programs[g], n_stages, graphs));
    for (int s = 0; s < n_stages && n_stages > 1; s++) dp_model_add_graph(model, graphs[s]);
    if (n_stages > 1) dp_graph_free(programs[g]);
  }
  return DP_OK;
}

const dp_pass dp_pass_roles = {
    .name = "roles",
    .what = "makes a graph for each stage, in the order of the schedule, with transfers between stages",
    .needs = DP_HAS_MICROBATCHES,
    .gives = DP_HAS_ROLES,
    .run = run,
};
