// stages: gives every node of every program, and every variable, its pipeline stages. The pass `partition` assigned the
// nodes of "main", and nodes made from those inherit their stage; this pass assigns the rest. Without a mesh axis
// `pipe` nothing is on a stage.
//
// A variable that a program writes has one storage, on the lowest stage where an annotated node uses it: a tied weight
// has one owner, which sends it to the others. State is on its parameter's stage. Variables that no program writes,
// constants above all, are on every stage that uses them. An update is on its variable's stage, and so are the
// elementwise nodes that its gradient passes through before it, sums of several gradients, and clipping. Other nodes
// are on the highest stage among their operands', since they cannot run earlier; those without such operands on the
// lowest stage that uses them.
#include <string.h>

#include "passes/base/pass.h"
#include "passes/place/place.h"

typedef struct {
  dp_model *model;
  int64_t n_stages;
  int *storage;   // by variable: the stage of one that is written; -1: it is not
  bool *used;     // by variable and stage
  bool *written;  // by variable
} stages;

// ---- storage --------------------------------------------------------------------------------------------------------

static dp_status note_annotated(stages *s, const dp_graph *program) {
  for (int32_t i = 0; i < program->n_nodes; i++) {
    const dp_node *node = program->nodes[i];
    if (node->stage >= s->n_stages)
      return dp_fail(EX_CONFIG, "node '%s' is annotated with stage %d; the mesh has stages 0 to %lld", node->name,
                     node->stage, (long long)s->n_stages - 1);
    for (int k = 0; k < node->n_inputs && node->stage >= 0; k++) {
      const dp_value *x = node->inputs[k];
      if (!x || x->kind != DP_VALUE_VARIABLE) continue;
      int *storage = &s->storage[x->variable];
      if (*storage < 0 || node->stage < *storage) *storage = node->stage;
    }
  }
  for (int i = 0; i < program->n_updates; i++) s->written[program->updates[i].variable] = true;
  return DP_OK;
}

// A variable that is written but used by no annotated node is on the stage that computes its new value, or on the
// first; an optimizer's state with its parameter.
static void follow_updates(stages *s, const dp_graph *program) {
  for (int i = 0; i < program->n_updates; i++) {
    const dp_node *producer = program->updates[i].value->producer;
    if (!producer) continue;
    int *storage = &s->storage[program->updates[i].variable];
    const int32_t parameter = dp_pass_parameter_of(s->model, program->updates[i].variable);
    const dp_value *first = producer->n_inputs ? producer->inputs[0] : NULL;
    if (parameter >= 0)
      *storage = s->storage[parameter];
    else if (dp_op_is(producer->op, DP_OP_UPDATE) && first && first->kind == DP_VALUE_VARIABLE)
      *storage = s->storage[first->variable];
    else if (*storage < 0)
      *storage = producer->stage;
  }
}

static dp_status find_storages(stages *s) {
  const dp_model *model = s->model;
  memset(s->storage, 0xff, (size_t)model->n_variables * sizeof *s->storage);
  for (int g = 0; g < model->n_graphs; g++) DP_TRY(note_annotated(s, model->graphs[g]));
  for (int g = 0; g < model->n_graphs; g++) follow_updates(s, model->graphs[g]);
  for (int32_t p = 0; p < model->n_variables; p++) {
    if (!s->written[p])
      s->storage[p] = -1;
    else if (s->storage[p] < 0)
      s->storage[p] = 0;
  }
  return DP_OK;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

// The highest stage among its operands; -1: none has a stage.
static int highest(const stages *s, const dp_node *node) {
  int stage = -1;
  for (int k = 0; k < node->n_inputs; k++) {
    const dp_value *x = node->inputs[k];
    if (!x) continue;
    int from = x->producer ? x->producer->stage : x->kind == DP_VALUE_VARIABLE ? s->storage[x->variable] : -1;
    if (from > stage) stage = from;
  }
  return stage;
}

// Nodes with operands from a stage, in order.
static void assign_forward(const stages *s, dp_graph *program) {
  const int32_t *serves = dp_place_serving(program->arena, program);
  for (int32_t i = 0; i < program->n_nodes; i++) {
    dp_node *node = program->nodes[i];
    if (node->stage >= 0) continue;
    int32_t p = dp_op_is(node->op, DP_OP_UPDATE) && node->inputs[0] ? node->inputs[0]->variable : -1;
    if (p < 0 && node->outputs[0]) p = serves[node->outputs[0]->id];
    node->stage = p >= 0 ? s->storage[p] : highest(s, node);
  }
}

// The other nodes, from the last: the lowest stage that uses a result.
static void assign_backward(const stages *s, dp_graph *program) {
  int *lowest = dp_alloc_n(program->arena, (size_t)program->n_values, sizeof *lowest);
  for (int32_t i = 0; i < program->n_values; i++) lowest[i] = INT_MAX;
  for (int i = 0; i < program->n_updates; i++) {
    int *at = &lowest[program->updates[i].value->id], storage = s->storage[program->updates[i].variable];
    if (storage < *at) *at = storage;
  }
  for (int32_t i = program->n_nodes; i-- > 0;) {
    dp_node *node = program->nodes[i];
    int stage = INT_MAX;
    for (int k = 0; k < node->n_outputs; k++)
      if (node->outputs[k] && lowest[node->outputs[k]->id] < stage) stage = lowest[node->outputs[k]->id];
    if (node->stage < 0) node->stage = stage == INT_MAX ? 0 : stage;
    for (int k = 0; k < node->n_inputs; k++)
      if (node->inputs[k] && node->stage < lowest[node->inputs[k]->id]) lowest[node->inputs[k]->id] = node->stage;
  }
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static void note_uses(stages *s, const dp_graph *program) {
  for (int32_t i = 0; i < program->n_nodes; i++)
    for (int k = 0; k < program->nodes[i]->n_inputs; k++) {
      const dp_value *x = program->nodes[i]->inputs[k];
      if (x && x->kind == DP_VALUE_VARIABLE) s->used[x->variable * s->n_stages + program->nodes[i]->stage] = true;
    }
}

static void give_stages(const stages *s) {
  for (int32_t i = 0; i < s->model->n_variables; i++) {
    dp_variable *p = &s->model->variables[i];
    p->n_stages = 0;
    p->stages = NULL;
    for (int stage = 0; stage < s->n_stages; stage++)
      if (s->storage[i] < 0 ? s->used[i * s->n_stages + stage] : s->storage[i] == stage)
        DP_PUSH(s->model->arena, p->stages, p->n_stages, stage);
    int first = 0;
    if (!p->n_stages) DP_PUSH(s->model->arena, p->stages, p->n_stages, first);
  }
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  const size_t n = (size_t)model->n_variables;
  stages s = {.model = model, .n_stages = dp_mesh_stages(&model->mesh)};
  compile->unchanged = s.n_stages == 1;
  if (compile->unchanged) {
    // Stages in the text of a model are for another mesh.
    for (int32_t i = 0; i < model->n_variables; i++) model->variables[i].n_stages = 0;
    return DP_OK;
  }
  s.storage = dp_alloc_n(model->arena, n, sizeof *s.storage);
  s.used = dp_alloc_n(model->arena, n * (size_t)s.n_stages, sizeof *s.used);
  s.written = dp_alloc_n(model->arena, n, sizeof *s.written);
  DP_TRY(find_storages(&s));
  for (int g = 0; g < model->n_graphs; g++) {
    assign_forward(&s, model->graphs[g]);
    assign_backward(&s, model->graphs[g]);
    note_uses(&s, model->graphs[g]);
  }
  give_stages(&s);
  return DP_OK;
}

const dp_pass dp_pass_stages = {
    .name = "stages",
    .what = "assigns a stage to every node and variable",
    .needs = DP_HAS_MESH | DP_HAS_UPDATES | DP_HAS_NO_CONSTANTS | DP_HAS_INIT,
    .gives = DP_HAS_STAGES,
    .run = run,
};
