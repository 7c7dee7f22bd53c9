// programs: makes "train", "eval" and "infer" from "main". Each operator specializes its nodes for training or
// inference. Buffers that training changes are updates of "train"; the other programs change nothing. "train" outputs
// the loss, its terms and its number of labels, "eval" also the count of correct ones, "infer" the model's own outputs.
// A plan for inference has only "infer".
#include <string.h>

#include "ir/graph/builder.h"
#include "passes/base/pass.h"
#include "passes/train/train.h"

// Adds the operator's specialization of the node, and enters its results in map.
static dp_status specialize_node(dp_graph *graph, const dp_node *node, bool training, const dp_mesh_axis *local,
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
      return dp_fail(EX_UNAVAILABLE, "node '%s' (%s): its result '%s' is not implemented for %s", node->name,
                     node->op->name, node->outputs[i]->name, graph->name);
    map[node->outputs[i]->id] = out[i];
  }
  return DP_OK;
}

// A frozen variable keeps its value whatever an operator updates.
static void drop_frozen_updates(dp_graph *graph) {
  int kept = 0;
  for (int i = 0; i < graph->n_updates; i++)
    if (!graph->model->variables[graph->updates[i].variable].frozen) graph->updates[kept++] = graph->updates[i];
  graph->n_updates = kept;
}

// The name under which the program outputs a value of "main"; NULL: it does not.
static const char *without(const char *prefix, const char *output) {
  const size_t length = strlen(prefix);
  return strncmp(output, prefix, length) ? NULL : output + length;
}

static const char *gives_loss(const char *output) {
  const bool loss = !strcmp(output, DP_LOSS_OUTPUT) || !strcmp(output, DP_COUNT_OUTPUT) ||
                    without(DP_TERM_OUTPUT, output) || without(DP_OVER_OUTPUT, output);
  return loss ? output : without(DP_TRAINING_OUTPUT, output);
}

static const char *gives_model(const char *output) { return without(DP_MODEL_OUTPUT, output); }

static const char *gives_measures(const char *output) {
  return gives_model(output) || without(DP_TRAINING_OUTPUT, output) ? NULL : output;
}

static const struct {
  const char *name;
  bool training;  // operators are specialized for training
  const char *(*gives)(const char *output);
} programs[] = {{"train", true, gives_loss}, {"eval", false, gives_measures}, {"infer", false, gives_model}};

enum { N_PROGRAMS = DP_COUNT(programs), INFER = N_PROGRAMS - 1 };

// local: the axis on which each device has its own statistics; NULL: devices share them.
static dp_status make_program(const dp_graph *main, int which, const dp_mesh_axis *local, dp_graph **program) {
  const bool training = programs[which].training;
  dp_graph *graph = dp_graph_create(main->model, programs[which].name);
  dp_arena *scratch = dp_arena_create_within(main->arena);
  dp_value **map = dp_alloc_n(scratch, (size_t)main->n_values, sizeof *map);
  for (int32_t i = 0; i < main->n_values; i++)
    if (main->values[i]->kind != DP_VALUE_RESULT) dp_graph_copy_value(graph, main->values[i], map);
  for (int32_t i = 0; i < main->n_nodes; i++) {
    if (main->nodes[i]->op->specialize)
      DP_TRY(specialize_node(graph, main->nodes[i], training, local, map));
    else
      dp_graph_copy_node(graph, main->nodes[i], map);
  }
  for (int i = 0; i < main->n_outputs; i++) {
    const char *name = programs[which].gives(main->outputs[i].name);
    if (name) dp_graph_add_output(graph, name, map[main->outputs[i].value->id]);
  }
  dp_arena_destroy(scratch);
  drop_frozen_updates(graph);
  *program = graph;
  return DP_OK;
}

dp_status dp_programs_infer(const dp_graph *main, dp_graph **inferring) {
  dp_graph *graph = dp_graph_create(main->model, main->name);
  dp_arena *scratch = dp_arena_create_within(main->arena);
  dp_value **map = dp_alloc_n(scratch, (size_t)main->n_values, sizeof *map);
  for (int32_t i = 0; i < main->n_values; i++)
    if (main->values[i]->kind != DP_VALUE_RESULT) dp_graph_copy_value(graph, main->values[i], map);
  for (int32_t i = 0; i < main->n_nodes; i++) {
    if (main->nodes[i]->op->specialize && dp_node_int(main->nodes[i], "training_mode", 0))
      DP_TRY(specialize_node(graph, main->nodes[i], false, NULL, map));
    else
      dp_graph_copy_node(graph, main->nodes[i], map);
  }
  for (int i = 0; i < main->n_outputs; i++)
    dp_graph_add_output(graph, main->outputs[i].name, map[main->outputs[i].value->id]);
  dp_arena_destroy(scratch);
  *inferring = graph;
  return dp_graph_verify(graph);
}

// Notes operators that behave as in inference although the model is trained, which is allowed.
static void note_frozen_statistics(const dp_compile *compile, const dp_graph *main) {
  for (int32_t i = 0; i < main->n_nodes; i++) {
    const dp_node *node = main->nodes[i];
    if (node->op->specialize && !dp_node_int(node, "training_mode", 1))
      dp_pass_note(
          compile,
          "node '%s' (%s) has training_mode=0: it behaves in training as in inference, and its statistics are frozen",
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
  dp_graph_free(main);
  return DP_OK;
}

const dp_pass dp_pass_programs = {
    .name = "programs",
    .what = "makes 'train', 'eval' and 'infer' from 'main'",
    .needs = DP_HAS_LOSS | DP_HAS_PARTITION,
    .gives = DP_HAS_PROGRAMS,
    .run = run,
};
