// The weight of each node of "main" in a pipeline stage; see partition.h.
//
// A node's cost is known only after specialization and differentiation, so these are done on a copy of the model in
// which each node is its own stage. The passes `programs` and `autodiff` give everything they make the stage of the
// node it comes from, and the costs are summed by stage. No operator is known by name.
#include <string.h>

#include "passes/base/strategy.h"
#include "passes/cost/cost_model.h"
#include "passes/pipeline/partition.h"
#include "passes/train/optimizer.h"
#include "passes/train/train.h"

typedef struct {
  const dp_compile *compile;
  const dp_graph *main;
  dp_partition_weights *weights;
  dp_arena *arena;        // the copy's
  const dp_graph *graph;  // "train" or "infer", which is measured
  int32_t n_forward;      // its nodes before differentiation
  int64_t n;              // samples of a micro-batch on a device
} weighing;

// ---- the copy -------------------------------------------------------------------------------------------------------

static dp_model *copy_model(dp_arena *arena, const dp_graph *main) {
  const dp_model *from = main->model;
  dp_model *model = dp_model_create(arena, from->name);
  model->opset = from->opset;
  model->symbol = from->symbol;
  model->loss = from->loss;
  model->optimizer = from->optimizer;
  model->mesh = from->mesh;
  model->batch = from->batch;
  for (int32_t i = 0; i < from->n_variables; i++) dp_model_add_variable(model, &from->variables[i]);
  dp_graph *graph = dp_graph_create(model, "main");
  dp_value **map = dp_alloc_n(arena, (size_t)main->n_values, sizeof *map);
  for (int32_t i = 0; i < main->n_values; i++)
    if (main->values[i]->kind != DP_VALUE_RESULT) dp_graph_copy_value(graph, main->values[i], map);
  for (int32_t i = 0; i < main->n_nodes; i++) dp_graph_copy_node(graph, main->nodes[i], map)->stage = i;
  for (int i = 0; i < main->n_outputs; i++)
    dp_graph_add_output(graph, main->outputs[i].name, map[main->outputs[i].value->id]);
  dp_model_add_graph(model, graph);
  return model;
}

static dp_status differentiate(weighing *w) {
  dp_options quiet = *w->compile->options;
  quiet.notes_to = NULL;
  dp_compile copy = {.model = copy_model(w->arena, w->main), .options = &quiet, .strategy = w->compile->strategy};
  DP_TRY(dp_pass_programs.run(&copy));
  w->graph = dp_model_find_graph(copy.model, dp_options_infers(&quiet) ? "infer" : "train");
  w->n_forward = w->graph->n_nodes;
  return dp_pass_autodiff.run(&copy);
}

// ---- counting up ----------------------------------------------------------------------------------------------------

static double bytes_of(const weighing *w, const dp_value *v) {
  return (double)dp_shape_count(&v->type->shape, w->n) * (double)dp_type_bytes(v->type->dtype);
}

static bool *find_alive(const weighing *w) {
  const dp_graph *graph = w->graph;
  bool *alive = dp_alloc_n(w->arena, (size_t)graph->n_nodes, sizeof *alive);
  for (int i = 0; i < graph->n_outputs; i++)
    if (graph->outputs[i].value->producer) alive[graph->outputs[i].value->producer->id] = true;
  for (int i = 0; i < graph->n_updates; i++)
    if (graph->updates[i].value->producer) alive[graph->updates[i].value->producer->id] = true;
  for (int32_t i = graph->n_nodes; i-- > 0;)
    for (int k = 0; k < graph->nodes[i]->n_inputs && alive[i]; k++) {
      const dp_value *v = graph->nodes[i]->inputs[k];
      if (v && v->producer) alive[v->producer->id] = true;
    }
  return alive;
}

// A value of the forward pass, or an input, is kept for the backward pass if that uses it.
static void count_kept(const weighing *w, const dp_node *node, bool *counted) {
  for (int k = 0; k < node->n_inputs; k++) {
    const dp_value *v = node->inputs[k];
    if (!v || counted[v->id] || (v->kind != DP_VALUE_RESULT && v->kind != DP_VALUE_INPUT)) continue;
    const int from = v->producer ? v->producer->stage : node->stage;
    if ((v->producer && v->producer->id >= w->n_forward) || from < 0 || w->weights->folded[from]) continue;
    counted[v->id] = true;
    w->weights->kept[from] += bytes_of(w, v);
  }
}

static void count_nodes(const weighing *w) {
  const dp_graph *graph = w->graph;
  const bool *alive = find_alive(w);
  bool *counted = dp_alloc_n(w->arena, (size_t)graph->n_values, sizeof *counted);
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    if (!alive[i] || node->stage < 0 || w->weights->folded[node->stage]) continue;
    w->weights->time[node->stage] +=
        dp_cost_model_compute_ns(&w->compile->options->target->costs, dp_op_cost(node, w->n), 1);
    if (i >= w->n_forward) count_kept(w, node, counted);
  }
}

// How many times a parameter's bytes are held: by itself, its gradient and the optimizer's state. What the strategy
// splits is divided.
static dp_status count_copies(const weighing *w, double *copies) {
  const dp_options *o = w->compile->options;
  const dp_model *model = w->main->model;
  const int axis = dp_strategy_shared_axis(w->compile);
  const double parts = axis < 0 ? 1 : (double)model->mesh.axes[axis].size;
  const unsigned splits = dp_strategy_shares(w->compile->strategy, o).splits;
  dp_optimizer_spec spec;
  *copies = 1;
  if (dp_options_infers(o) || !model->optimizer) return DP_OK;
  DP_TRY(dp_spec_optimizer(w->arena, (dp_spec_origin){"the optimizer", EX_DATAERR}, model->optimizer, &spec));
  const double state = splits & DP_SHARES_STATE ? 1 / parts : 1;  // also for gradients
  *copies = (splits & DP_SHARES_PARAMETERS ? 1 / parts : 1) + state;
  *copies += dp_optimizer_copies(&spec) * state;
  return DP_OK;
}

// Counts each at the first node that uses it. Assumes that an axis `tensor` divides them all.
static dp_status count_held(const weighing *w) {
  const dp_model *model = w->main->model;
  const int tensor = dp_mesh_find(&model->mesh, "tensor");
  const double part = tensor < 0 ? 1 : 1 / (double)model->mesh.axes[tensor].size;
  double copies;
  DP_TRY(count_copies(w, &copies));
  bool *counted = dp_alloc_n(w->arena, (size_t)model->n_variables, sizeof *counted);
  for (int32_t i = 0; i < w->main->n_nodes; i++)
    for (int k = 0; k < w->main->nodes[i]->n_inputs; k++) {
      const dp_value *v = w->main->nodes[i]->inputs[k];
      if (!v || v->variable < 0 || counted[v->variable]) continue;
      const dp_variable *p = &model->variables[v->variable];
      counted[v->variable] = true;
      w->weights->held[i] += bytes_of(w, v) * part * (p->kind == DP_PARAMETER && !p->frozen ? copies : 1);
    }
  return DP_OK;
}

// ---- needed nodes ---------------------------------------------------------------------------------------------------

static void find_folded(const dp_graph *main, bool *folded) {
  for (int32_t i = 0; i < main->n_nodes; i++) {
    const dp_node *node = main->nodes[i];
    folded[i] = !dp_op_is(node->op, DP_OP_RANDOM);
    for (int k = 0; k < node->n_inputs; k++) {
      const dp_value *v = node->inputs[k];
      if (v && v->kind != DP_VALUE_CONSTANT && !(v->producer && folded[v->producer->id])) folded[i] = false;
    }
  }
}

// A training step needs what the loss depends on. Counting correct labels, or computing the model's other outputs, does
// not put a node on a stage.
static void find_needed(const dp_compile *compile, const dp_graph *main, const int *stages,
                        const dp_partition_weights *weights) {
  const bool training = !dp_options_infers(compile->options);
  bool *alive = weights->alive;
  for (int i = 0; i < main->n_outputs; i++)
    if (main->outputs[i].value->producer && (!training || !strcmp(main->outputs[i].name, DP_LOSS_OUTPUT)))
      alive[main->outputs[i].value->producer->id] = true;
  for (int32_t i = main->n_nodes; i-- > 0;) {
    alive[i] |= stages[i] >= 0;
    for (int k = 0; k < main->nodes[i]->n_inputs && alive[i]; k++) {
      const dp_value *v = main->nodes[i]->inputs[k];
      if (v && v->producer) alive[v->producer->id] = true;
    }
    alive[i] &= !weights->folded[i];
  }
}

int32_t dp_partition_count(const dp_compile *compile, const dp_graph *main, const int *stages) {
  const size_t n = (size_t)main->n_nodes;
  const dp_partition_weights needed = {.folded = dp_alloc_n(main->arena, n, sizeof(bool)),
                                       .alive = dp_alloc_n(main->arena, n, sizeof(bool))};
  int32_t count = 0;
  find_folded(main, needed.folded);
  find_needed(compile, main, stages, &needed);
  for (int32_t i = 0; i < main->n_nodes; i++) count += needed.alive[i];
  return count;
}

static dp_status weigh(void *arg) {
  weighing *w = arg;
  DP_TRY(differentiate(w));
  count_nodes(w);
  return count_held(w);
}

dp_status dp_partition_weigh(const dp_compile *compile, const dp_graph *main, const int *stages,
                             dp_partition_weights *weights) {
  const dp_mesh *mesh = &main->model->mesh;
  const int data = dp_mesh_find(mesh, "data");
  const int64_t parts = dp_mesh_microbatches(mesh) * (data < 0 ? 1 : mesh->axes[data].size);
  const size_t n = (size_t)main->n_nodes;
  *weights =
      (dp_partition_weights){dp_alloc_n(main->arena, n, sizeof(double)), dp_alloc_n(main->arena, n, sizeof(double)),
                             dp_alloc_n(main->arena, n, sizeof(double)), dp_alloc_n(main->arena, n, sizeof(bool)),
                             dp_alloc_n(main->arena, n, sizeof(bool))};
  find_folded(main, weights->folded);
  find_needed(compile, main, stages, weights);
  weighing w = {.compile = compile, .main = main, .weights = weights, .arena = dp_arena_create(0)};
  if (!w.arena) return dp_fail(DP_EX_MEMORY, "out of memory");
  w.n = (main->model->batch + parts - 1) / parts;
  dp_status status = dp_arena_run(w.arena, weigh, &w);
  dp_arena_destroy(w.arena);
  return status;
}
