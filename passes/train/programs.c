// programs: makes "train", "eval" and "infer" out of "main". Each node stands in them as its operator says it does in
// training or not; buffers that training changes are updates of "train", the others change nothing. "train" gives the
// loss and over how many labels it is, "eval" the count of correct ones too, "infer" the model's own outputs. Where a
// plan is only to infer, so is all that is made.
#include <string.h>

#include "ir/graph/builder.h"
#include "passes/base/pass.h"

// The node as its operator wants it, into map.
static dp_status specialize(dp_graph *graph, const dp_node *node, bool training, const dp_mesh_axis *local,
                            dp_value **map) {
  dp_builder builder = {.graph = graph, .prefix = node->name};
  dp_value *in[DP_MAX_OPERANDS] = {0}, *out[DP_MAX_OPERANDS] = {0};
  for (int i = 0; i < node->n_inputs && i < DP_MAX_OPERANDS; i++)
    if (node->inputs[i]) in[i] = dp_graph_copy_value(graph, node->inputs[i], map);
  int32_t first = graph->n_nodes;
  if (training && local && node->op->specialize_local)
    node->op->specialize_local(&builder, node, in, local->size, local->name, out);
  else
    node->op->specialize(&builder, node, in, training, out);
  if (builder.status) return builder.status;
  for (int32_t i = first; i < graph->n_nodes; i++) {
    graph->nodes[i]->device = node->device;
    graph->nodes[i]->stage = node->stage;
  }
  for (int i = 0; i < node->n_outputs; i++) {
    if (!node->outputs[i]) continue;
    if (!i && out[0] && out[0]->producer && out[0]->producer->id >= first) {
      out[0]->producer->n_constraints = node->n_constraints;
      out[0]->producer->constraints = node->constraints;
    }
    if (!out[i])
      return dp_fail(EX_UNAVAILABLE, "node '%s' (%s): its result '%s' is not built for %s", node->name, node->op->name,
                     node->outputs[i]->name, graph->name);
    map[node->outputs[i]->id] = out[i];
  }
  return DP_OK;
}

// What is frozen keeps its value whatever an operator asks for.
static void drop_frozen_updates(dp_graph *graph) {
  int kept = 0;
  for (int i = 0; i < graph->n_updates; i++)
    if (!graph->model->variables[graph->updates[i].variable].frozen) graph->updates[kept++] = graph->updates[i];
  graph->n_updates = kept;
}

// By which name the program gives an output of "main"; NULL: it does not.
static const char *gives_loss(const char *output) {
  return !strcmp(output, DP_LOSS_OUTPUT) || !strcmp(output, DP_COUNT_OUTPUT) ? output : NULL;
}

static const char *gives_model(const char *output) {
  const size_t prefix = strlen(DP_MODEL_OUTPUT);
  return strncmp(output, DP_MODEL_OUTPUT, prefix) ? NULL : output + prefix;
}

static const char *gives_measures(const char *output) { return gives_model(output) ? NULL : output; }

static const struct {
  const char *name;
  bool training;  // operators stand in it as in training
  const char *(*gives)(const char *output);
} programs[] = {{"train", true, gives_loss}, {"eval", false, gives_measures}, {"infer", false, gives_model}};

enum { N_PROGRAMS = DP_COUNT(programs), INFER = N_PROGRAMS - 1 };

// local: the axis whose devices each have statistics of their own; NULL: they have them in common.
static dp_status make_program(const dp_graph *main, int which, const dp_mesh_axis *local, dp_graph **program) {
  const bool training = programs[which].training;
  dp_graph *graph = dp_graph_create(main->model, programs[which].name);
  dp_value **map = dp_alloc_n(main->arena, (size_t)main->n_values, sizeof *map);
  for (int32_t i = 0; i < main->n_values; i++)
    if (main->values[i]->kind != DP_VALUE_RESULT) dp_graph_copy_value(graph, main->values[i], map);
  for (int32_t i = 0; i < main->n_nodes; i++) {
    if (main->nodes[i]->op->specialize)
      DP_TRY(specialize(graph, main->nodes[i], training, local, map));
    else
      dp_graph_copy_node(graph, main->nodes[i], map);
  }
  for (int i = 0; i < main->n_outputs; i++) {
    const char *name = programs[which].gives(main->outputs[i].name);
    if (name) dp_graph_add_output(graph, name, map[main->outputs[i].value->id]);
  }
  drop_frozen_updates(graph);
  *program = graph;
  return DP_OK;
}

// An operator that behaves as in inference although the model is trained: allowed, and said.
static void note_frozen_statistics(const dp_compile *compile, const dp_graph *main) {
  for (int32_t i = 0; i < main->n_nodes; i++) {
    const dp_node *node = main->nodes[i];
    if (node->op->specialize && !dp_node_int(node, "training_mode", 1))
      dp_pass_note(compile, "node '%s' (%s) has training_mode=0: it trains as it infers, what it keeps is frozen",
                   node->name, node->op->name);
  }
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  dp_graph *main = dp_model_find_graph(model, "main"), *made[N_PROGRAMS];
  const int first = dp_options_infers(compile->options) ? INFER : 0;
  const char *norm = compile->options->batchnorm;
  const int axis = norm && !strcmp(norm, "local") ? dp_mesh_find(&model->mesh, "data") : -1;
  const dp_mesh_axis *local = axis < 0 ? NULL : &model->mesh.axes[axis];
  if (!first) note_frozen_statistics(compile, main);
  for (int i = first; i < N_PROGRAMS; i++) DP_TRY(make_program(main, i, local, &made[i]));
  if (first && !made[INFER]->n_outputs)
    return dp_fail(EX_DATAERR, "the model has no outputs: there is nothing to infer");
  model->n_graphs = 0;
  model->graphs = NULL;
  for (int i = first; i < N_PROGRAMS; i++)
    if (made[i]->n_outputs) dp_model_add_graph(model, made[i]);
  return DP_OK;
}

const dp_pass dp_pass_programs = {
    .name = "programs",
    .what = "'main' becomes 'train', 'eval' and 'infer'",
    .needs = DP_HAS_LOSS | DP_HAS_PARTITION,
    .gives = DP_HAS_PROGRAMS,
    .run = run,
};
