// The plan as a whole: its roles, logical graphs, variables and their storage, and what init defines.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/file/proto.h"
#include "ir/verify/checker.h"

bool dp_checker_bytes(const dp_checker *c, const dp_type *type, const dp_placement *at, uint64_t *bytes) {
  const dp_mesh *mesh = &c->model->mesh;
  for (int a = 0; a < mesh->n_axes; a++) {
    int64_t product;
    if (at[a].kind != DP_SHARD) continue;
    int64_t extent = dp_dim_at(type->shape.dims[at[a].dim], c->model->batch);
    if (__builtin_mul_overflow(extent, mesh->axes[a].size, &product)) return false;
  }
  *bytes = (uint64_t)dp_local_max_count(&type->shape, at, mesh, c->model->batch) * dp_type_bytes(type->dtype);
  return true;
}

bool dp_checker_in_weight_blocks(const dp_checker *c, const dp_type *type, const dp_placement *at) {
  bool whole = dp_shape_in_weight_blocks(&type->shape);
  for (int a = 0; a < c->model->mesh.n_axes; a++) whole = whole && at[a].kind == DP_REPLICATE;
  return whole;
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

static dp_status read_graph(dp_checker *c, size_t i) {
  dp_graph *graph;
  DP_TRY(dp_checker_wrap(c, dp_checker_at_whole(c), DP_RULE_FORM_GRAPH,
                         dp_proto_to_graph(c->model, c->plan->graphs[i], &graph)));
  dp_graph_finish(graph);
  for (int32_t k = 0; k < graph->n_nodes; k++)
    if (dp_op_is(graph->nodes[k]->op, DP_OP_COMMUNICATION))
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_FORM_GRAPH,
                             "graph '%s': node '%s' is communication, which a logical graph must not have", graph->name,
                             graph->nodes[k]->name);
  c->graphs[i] = graph;
  return DP_OK;
}

// ---- storage --------------------------------------------------------------------------------------------------------

static dp_status check_storage(dp_checker *c, const dp_variable *p) {
  char text[256];
  uint64_t bytes;
  const int whole[] = {c->micro, c->pipe};
  for (size_t i = 0; i < DP_COUNT(whole); i++)
    if (whole[i] >= 0 && p->placements[whole[i]].kind != DP_REPLICATE)
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_STORAGE,
                             "'%s' is stored as %s: on axis '%s', which is not an axis of devices, it must be whole",
                             p->name, dp_checker_placements_print(c, p->placements, text, sizeof text),
                             c->model->mesh.axes[whole[i]].name);
  if (p->layout != DP_LAYOUT_PLAIN && p->type->shape.rank != 4)
    return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_TENSOR_LAYOUT,
                           "'%s' has %d dims, and is not plain: only what has four may lie otherwise", p->name,
                           p->type->shape.rank);
  if (p->layout == DP_LAYOUT_OIHW16I32O && !dp_checker_in_weight_blocks(c, p->type, p->placements))
    return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_TENSOR_LAYOUT,
                           "'%s' is said to lie in blocks of weights: only what has whole blocks can, and is whole on "
                           "each device",
                           p->name);
  for (int a = 0; a < c->model->mesh.n_axes; a++)
    if (p->placements[a].kind == DP_PARTIAL)
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_STORAGE,
                             "'%s' is stored as %s: a partial value cannot be loaded or saved", p->name,
                             dp_checker_placements_print(c, p->placements, text, sizeof text));
  if (!dp_checker_bytes(c, p->type, p->placements, &bytes))
    return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_FORM_LIMIT, "'%s' is too large to be split over the mesh",
                           p->name);
  if (p->bytes < bytes)
    return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_TENSOR_BYTES,
                           "the storage of '%s' has %llu bytes; its largest shard takes %llu", p->name,
                           (unsigned long long)p->bytes, (unsigned long long)bytes);
  return DP_OK;
}

static int by_offset(const void *a, const void *b) {
  const dp_variable *x = *(dp_variable *const *)a, *y = *(dp_variable *const *)b;
  if (x->offloaded != y->offloaded) return x->offloaded ? 1 : -1;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

// The variables that each role stores.
static void find_storages(dp_checker *c) {
  c->storages = dp_alloc_n(c->plan_arena, c->plan->n_roles, sizeof *c->storages);
  for (int32_t i = 0; i < c->model->n_variables; i++) {
    const dp_variable *p = &c->model->variables[i];
    size_t count = p->n_stages ? (size_t)p->n_stages : c->plan->n_roles;
    for (size_t k = 0; k < count; k++) {
      size_t role = p->n_stages ? (size_t)p->stages[k] : k;
      DP_PUSH(c->plan_arena, c->storages[role].variables, c->storages[role].count, i);
    }
  }
}

static dp_status check_storages(dp_checker *c, const int32_t *storages, size_t count) {
  const dp_variable **sorted = dp_alloc_n(c->plan_arena, count, sizeof *sorted);
  for (size_t i = 0; i < count; i++) sorted[i] = &c->model->variables[storages[i]];
  qsort(sorted, count, sizeof *sorted, by_offset);
  for (size_t i = 1; i < count; i++)
    if (sorted[i - 1]->offloaded == sorted[i]->offloaded &&
        sorted[i - 1]->offset + sorted[i - 1]->bytes > sorted[i]->offset)
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_STORAGE, "the storage of '%s' and '%s' overlap",
                             sorted[i - 1]->name, sorted[i]->name);
  return DP_OK;
}

dp_status dp_checker_model(dp_checker *c) {
  const Dp__Plan *plan = c->plan;
  c->model = dp_model_create(c->plan_arena, plan->name);
  c->model->batch = plan->batch;
  DP_TRY(dp_proto_to_mesh(plan->n_mesh, plan->mesh, &c->model->mesh));
  c->micro = dp_mesh_find(&c->model->mesh, DP_MESH_MICRO);
  c->pipe = dp_mesh_find(&c->model->mesh, DP_MESH_PIPE);
  for (size_t i = 0; i < plan->n_variables; i++) {
    dp_variable p;
    DP_TRY(dp_checker_wrap(c, dp_checker_at_whole(c), DP_RULE_FORM_GRAPH,
                           dp_proto_to_variable(c->model, plan->variables[i], &c->model->mesh, &p)));
    if (dp_model_find_variable(c->model, p.name) >= 0)
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_FORM_GRAPH, "two variables are called '%s'", p.name);
    DP_TRY(check_storage(c, &p));
    dp_model_add_variable(c->model, &p);
  }
  find_storages(c);
  c->entry = dp_alloc_n(c->plan_arena, plan->n_variables, sizeof *c->entry);
  c->exit = dp_alloc_n(c->plan_arena, plan->n_variables, sizeof *c->exit);
  c->writes = dp_alloc_n(c->plan_arena, plan->n_variables, sizeof *c->writes);
  c->owned = dp_alloc_n(c->plan_arena, plan->n_roles, sizeof *c->owned);
  for (size_t r = 0; r < plan->n_roles; r++) {
    c->role_index = (uint32_t)r;
    c->role = plan->roles[r];
    DP_TRY(check_storages(c, c->storages[r].variables, (size_t)c->storages[r].count));
  }
  c->role = NULL;
  c->graphs = dp_alloc_n(c->plan_arena, plan->n_graphs, sizeof *c->graphs);
  for (size_t i = 0; i < plan->n_graphs; i++) DP_TRY(read_graph(c, i));
  c->report->devices = (uint64_t)dp_mesh_devices(&c->model->mesh);
  c->report->variables = plan->n_variables;
  c->report->stages = plan->n_roles;
  c->report->microbatches = (uint64_t)dp_mesh_microbatches(&c->model->mesh);
  return DP_OK;
}

// ---- init -----------------------------------------------------------------------------------------------------------

// All roles have the same programs (ir/plan/form.c).
static const dp_graph *find_graph(const dp_checker *c, const char *program) {
  const Dp__Role *role = c->plan->roles[0];
  for (size_t i = 0; i < role->n_programs; i++)
    if (!strcmp(role->programs[i]->name, program)) return c->graphs[role->programs[i]->graph];
  return NULL;
}

static const dp_output *find_output(const dp_graph *graph, const char *name) {
  for (int i = 0; i < graph->n_outputs; i++)
    if (!strcmp(graph->outputs[i].name, name)) return &graph->outputs[i];
  return NULL;
}

// Only init and train update variables.
static dp_status check_updates(dp_checker *c, const char *program) {
  const dp_graph *graph = find_graph(c, program);
  if (!graph || !graph->n_updates) return DP_OK;
  return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_UPDATE,
                         "program %s updates '%s'; only init and train may update variables", program,
                         c->model->variables[graph->updates[0].variable].name);
}

static bool is_count(const dp_output *output) {
  return output && !output->value->type->shape.rank && output->value->type->dtype == DP_INT64;
}

static bool is_number(const dp_output *output, uint64_t dtypes) {
  return output && !output->value->type->shape.rank && (DP_BIT(output->value->type->dtype) & dtypes);
}

// Terms of a loss are numbered from 0, and each comes with what its mean divides by.
static dp_status check_terms(dp_checker *c, const char *program, const dp_graph *graph) {
  int count = 0, numbered = 0;
  for (int i = 0; i < graph->n_outputs; i++)
    count += !strncmp(graph->outputs[i].name, "term/", 5) || !strncmp(graph->outputs[i].name, "over/", 5);
  for (char term[24], over[24]; numbered < count; numbered += 2) {
    snprintf(term, sizeof term, "term/%d", numbered / 2);
    snprintf(over, sizeof over, "over/%d", numbered / 2);
    if (!is_number(find_output(graph, term), DP_FLOATS) || !is_number(find_output(graph, over), DP_NUMBERS))
      return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_PROGRAM_OUTPUTS,
                             "program %s gives %d outputs of terms of its loss, but not '%s' and '%s', one number each",
                             program, count, term, over);
  }
  return DP_OK;
}

// What the runtime reads by name: the mean loss of train and eval, how many labels it is over, and how many were right.
static dp_status check_measures(dp_checker *c, const char *program) {
  const dp_graph *graph = find_graph(c, program);
  if (!graph) return DP_OK;
  const dp_output *loss = find_output(graph, "loss");
  if (!loss || loss->value->type->shape.rank || !dp_type_is_float(loss->value->type->dtype))
    return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_PROGRAM_OUTPUTS,
                           "program %s gives no output 'loss' that is one number", program);
  if (!is_count(find_output(graph, "count")))
    return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_PROGRAM_OUTPUTS,
                           "program %s gives no output 'count' that is one int64: how many labels its loss is over",
                           program);
  DP_TRY(check_terms(c, program, graph));
  if (c->plan->classes && !strcmp(program, "eval") && !is_count(find_output(graph, "correct")))
    return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_PROGRAM_OUTPUTS,
                           "program %s gives no output 'correct' that is one int64, though the loss has classes",
                           program);
  return DP_OK;
}

static dp_status check_programs(dp_checker *c) {
  const dp_graph *infer = find_graph(c, "infer");
  DP_TRY(check_measures(c, "train"));
  DP_TRY(check_measures(c, "eval"));
  if (infer && !infer->n_outputs)
    return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_PROGRAM_OUTPUTS, "program infer gives no output");
  DP_TRY(check_updates(c, "eval"));
  return check_updates(c, "infer");
}

// A variable on several stages is stored as copies: nothing may change one of them alone.
static dp_status check_copies(dp_checker *c) {
  const Dp__Role *role = c->plan->roles[0];
  for (size_t i = 0; i < role->n_programs; i++) {
    const dp_graph *graph = c->graphs[role->programs[i]->graph];
    if (!strcmp(role->programs[i]->name, "init")) continue;
    for (int u = 0; u < graph->n_updates; u++) {
      const dp_variable *p = &c->model->variables[graph->updates[u].variable];
      size_t stages = p->n_stages ? (size_t)p->n_stages : c->plan->n_roles;
      if (stages > 1)
        return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_MEANING_STORAGE,
                               "'%s' is stored on %zu stages; program %s updates it, so one stage must have it",
                               p->name, stages, role->programs[i]->name);
    }
  }
  return DP_OK;
}

dp_status dp_checker_init(dp_checker *c) {
  const dp_graph *init = find_graph(c, "init");
  bool *defined = dp_alloc_n(c->plan_arena, (size_t)c->model->n_variables, sizeof *defined);
  for (int u = 0; init && u < init->n_updates; u++) defined[init->updates[u].variable] = true;
  for (int32_t p = 0; p < c->model->n_variables; p++) {
    bool has_data = c->model->variables[p].init.kind == DP_INIT_TENSOR;
    if (has_data != defined[p]) continue;
    return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_PROGRAM_INIT,
                           has_data ? "'%s' has data, but program init writes it too"
                                    : "'%s' has no data, and no program init gives it a first value",
                           c->model->variables[p].name);
  }
  DP_TRY(check_copies(c));
  return check_programs(c);
}
