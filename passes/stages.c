// stages: afterwards every node of every program, and every persistent value, has its stages of the pipeline. `cut` gave them to
// the nodes of "main", and what was made of those has them; here the rest gets its own. Without a mesh axis `pipe`
// nothing is on a stage.
//
// What a program writes has one home, the lowest stage that an annotated node uses it on: a weight that is tied has one owner,
// which sends it to the others. State lives with its parameter. What no program writes, constants above all, is on every
// stage that uses it. Of nodes, an update is where its persistent value is, and so is what a gradient goes through element by
// element before it, sums of several gradients and clipping; others are on the highest stage that an operand comes from, since
// nothing is there earlier; what comes from none, on the lowest that uses it.
#include <string.h>

#include "passes/list.h"
#include "passes/place.h"

typedef struct {
  dp_model *model;
  int64_t n_stages;
  int *home;      // by persistent value: the stage of what is written; -1 of what is not
  bool *used;     // by persistent value and stage
  bool *written;  // by persistent value
} stages;

// ---- homes ----------------------------------------------------------------------------------------------------------

static dp_status note_annotated(stages *s, const dp_graph *program) {
  for (int32_t i = 0; i < program->n_nodes; i++) {
    const dp_node *node = program->nodes[i];
    if (node->stage >= s->n_stages)
      return dp_fail(EX_CONFIG, "node '%s' is annotated with stage %d; the mesh has stages 0 to %lld", node->name,
                     node->stage, (long long)s->n_stages - 1);
    for (int k = 0; k < node->n_inputs && node->stage >= 0; k++) {
      const dp_value *x = node->inputs[k];
      if (!x || x->kind != DP_VALUE_PERSISTENT) continue;
      int *home = &s->home[x->persistent];
      if (*home < 0 || node->stage < *home) *home = node->stage;
    }
  }
  for (int i = 0; i < program->n_updates; i++) s->written[program->updates[i].persistent] = true;
  return DP_OK;
}

// What is written where no annotated node uses it is where its value is made, or on the first stage.
static void follow_updates(stages *s, const dp_graph *program) {
  for (int i = 0; i < program->n_updates; i++) {
    const dp_node *producer = program->updates[i].value->producer;
    if (!producer) continue;
    int *home = &s->home[program->updates[i].persistent];
    const dp_value *first = producer->n_inputs ? producer->inputs[0] : NULL;
    if (dp_op_is(producer->op, DP_OP_UPDATE) && first && first->kind == DP_VALUE_PERSISTENT)
      *home = s->home[first->persistent];
    else if (*home < 0)
      *home = producer->stage;
  }
}

static dp_status find_homes(stages *s) {
  const dp_model *model = s->model;
  memset(s->home, 0xff, (size_t)model->n_persistents * sizeof *s->home);
  for (int g = 0; g < model->n_graphs; g++) DP_TRY(note_annotated(s, model->graphs[g]));
  for (int g = 0; g < model->n_graphs; g++) follow_updates(s, model->graphs[g]);
  for (int32_t p = 0; p < model->n_persistents; p++) {
    if (!s->written[p])
      s->home[p] = -1;
    else if (s->home[p] < 0)
      s->home[p] = 0;
  }
  return DP_OK;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

// The highest stage that an operand comes from; -1: all come from anywhere.
static int highest(const stages *s, const dp_node *node) {
  int stage = -1;
  for (int k = 0; k < node->n_inputs; k++) {
    const dp_value *x = node->inputs[k];
    if (!x) continue;
    int from = x->producer ? x->producer->stage : x->kind == DP_VALUE_PERSISTENT ? s->home[x->persistent] : -1;
    if (from > stage) stage = from;
  }
  return stage;
}

// Nodes that something comes to from a stage, in order.
static void assign_forward(const stages *s, dp_graph *program) {
  const int32_t *serves = dp_place_serving(program);
  for (int32_t i = 0; i < program->n_nodes; i++) {
    dp_node *node = program->nodes[i];
    if (node->stage >= 0) continue;
    int32_t p = dp_op_is(node->op, DP_OP_UPDATE) && node->inputs[0] ? node->inputs[0]->persistent : -1;
    if (p < 0 && node->outputs[0]) p = serves[node->outputs[0]->id];
    node->stage = p >= 0 ? s->home[p] : highest(s, node);
  }
}

// The others, from the last: the lowest stage that wants a result.
static void assign_backward(const stages *s, dp_graph *program) {
  int *lowest = dp_alloc_n(program->arena, (size_t)program->n_values, sizeof *lowest);
  for (int32_t i = 0; i < program->n_values; i++) lowest[i] = INT_MAX;
  for (int i = 0; i < program->n_updates; i++) {
    int *at = &lowest[program->updates[i].value->id], home = s->home[program->updates[i].persistent];
    if (home < *at) *at = home;
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
      if (x && x->kind == DP_VALUE_PERSISTENT) s->used[x->persistent * s->n_stages + program->nodes[i]->stage] = true;
    }
}

static void give_stages(const stages *s) {
  for (int32_t i = 0; i < s->model->n_persistents; i++) {
    dp_persistent *p = &s->model->persistents[i];
    p->n_stages = 0;
    p->stages = NULL;
    for (int stage = 0; stage < s->n_stages; stage++)
      if (s->home[i] < 0 ? s->used[i * s->n_stages + stage] : s->home[i] == stage)
        DP_PUSH(s->model->arena, p->stages, p->n_stages, stage);
    int first = 0;
    if (!p->n_stages) DP_PUSH(s->model->arena, p->stages, p->n_stages, first);
  }
}

static dp_status run(dp_compile *compile) {
  dp_model *model = compile->model;
  const size_t n = (size_t)model->n_persistents;
  stages s = {.model = model, .n_stages = dp_mesh_stages(&model->mesh)};
  compile->unchanged = s.n_stages == 1;
  if (compile->unchanged) {
    // What the text of a model says of stages is of another mesh.
    for (int32_t i = 0; i < model->n_persistents; i++) model->persistents[i].n_stages = 0;
    return DP_OK;
  }
  s.home = dp_alloc_n(model->arena, n, sizeof *s.home);
  s.used = dp_alloc_n(model->arena, n * (size_t)s.n_stages, sizeof *s.used);
  s.written = dp_alloc_n(model->arena, n, sizeof *s.written);
  DP_TRY(find_homes(&s));
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
    .what = "the stage of every node and persistent value",
    .needs = DP_HAS_MESH | DP_HAS_UPDATES | DP_HAS_NO_CONSTANTS | DP_HAS_INIT,
    .gives = DP_HAS_STAGES,
    .run = run,
};
