// batch_gradients: on targets that compute them along, the gradient of a batch normalization with Relu right behind it
// becomes one node with that of Relu. It makes Relu's result again, from the operand and the statistics that it reads
// anyway, for what else of the backward pass needs it, such as the gradient of the next convolution's weight. So this
// result is not kept from the forward pass.
//
// Nothing that such gradients depend on may need that result, as the gradient of a pooling does. Where Relu's gradient
// is computed from a sum of gradients, the pass `channels` makes one region of all of it, which reads less. A batch
// that is divided has other nodes. This is for numbers of 16 bits: of wider ones the forward pass computes results from
// statistics that are more exact than those it keeps.
#include <string.h>

#include "ir/graph/builder.h"
#include "passes/base/pass.h"
#include "passes/fuse/groups.h"
#include "passes/fuse/regions.h"

enum { X, SCALE, MEAN, INVSTD, DY };          // of the gradient of a batch normalization
enum { BIAS = 2, SAVED_MEAN, SAVED_INVSTD };  // of a batch normalization: an operand, and results
enum { AGAIN = 3 };                           // Relu's result, of what comes instead

typedef struct {
  dp_graph *graph;
  bool *forward;      // (nodes) an output of the program depends on it
  int32_t *uses;      // (values)
  bool *before;       // (nodes) some gradient that could be replaced depends on it
  int32_t n_nodes;    // before any was made
  dp_node **instead;  // (nodes) what comes in a gradient's place
} work;

// The nodes of a chain that ends with the gradient.
typedef struct {
  dp_node *normalization, *relu, *relu_gradient, *gradient;
} chain;

static void mark_before(const dp_graph *graph, int32_t from, bool *marked) {
  for (int32_t i = from; i >= 0; i--)
    for (int k = 0; k < graph->nodes[i]->n_inputs && marked[i]; k++) {
      const dp_value *x = graph->nodes[i]->inputs[k];
      if (x && x->producer) marked[x->producer->id] = true;
    }
}

static void look_at(work *w) {
  const dp_graph *graph = w->graph;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k]) w->uses[graph->nodes[i]->inputs[k]->id]++;
  for (int i = 0; i < graph->n_updates; i++) w->uses[graph->updates[i].value->id]++;
  for (int i = 0; i < graph->n_outputs; i++) {
    const dp_value *v = graph->outputs[i].value;
    w->uses[v->id]++;
    if (v->producer) w->forward[v->producer->id] = true;
  }
  mark_before(graph, graph->n_nodes - 1, w->forward);
}

// ---- what can be one node -------------------------------------------------------------------------------------------

static bool has_16_bits(const dp_value *v) { return dp_type_bytes(v->type->dtype) == 2; }

static bool is_chain(const work *w, dp_node *gradient, chain *c) {
  if (!dp_fuse_is_named(gradient, "dp", "BatchNormalizationGrad")) return false;
  *c = (chain){.gradient = gradient, .relu_gradient = gradient->inputs[DY]->producer};
  if (!dp_fuse_is_named(c->relu_gradient, "dp", "ReluGrad") || w->uses[gradient->inputs[DY]->id] != 1) return false;
  c->relu = c->relu_gradient->inputs[1]->producer;
  if (!dp_fuse_is_named(c->relu, "", "Relu") || w->uses[c->relu->inputs[0]->id] != 1) return false;
  c->normalization = c->relu->inputs[0]->producer;
  const dp_node *n = c->normalization;
  return dp_fuse_is_named(n, "", "BatchNormalization") && has_16_bits(n->inputs[X]) && !has_16_bits(n->inputs[SCALE]) &&
         n->n_outputs > SAVED_INVSTD && n->inputs[X] == gradient->inputs[X] &&
         n->inputs[SCALE] == gradient->inputs[SCALE] && n->outputs[SAVED_MEAN] == gradient->inputs[MEAN] &&
         n->outputs[SAVED_INVSTD] == gradient->inputs[INVSTD] &&
         !dp_fuse_is_named(c->relu_gradient->inputs[0]->producer, "", "Add");
}

// Whether no user of Relu's result in the backward pass but its gradient has to come before such gradients, and it is
// kept for nobody.
static bool can_come_first(const work *w, const chain *c) {
  const dp_value *y = c->relu->outputs[0];
  int32_t seen = 0;
  for (int32_t i = 0; i < w->n_nodes; i++)
    for (int k = 0; k < w->graph->nodes[i]->n_inputs; k++) {
      if (w->graph->nodes[i]->inputs[k] != y) continue;
      seen++;
      if (!w->forward[i] && w->graph->nodes[i] != c->relu_gradient && w->before[i]) return false;
    }
  return seen == w->uses[y->id];
}

// ---- the pass -------------------------------------------------------------------------------------------------------

// late: users of the forward pass keep the first.
static void replace(work *w, const dp_value *from, dp_value *to, bool late) {
  for (int32_t i = 0; i < w->n_nodes; i++)
    for (int k = 0; k < w->graph->nodes[i]->n_inputs; k++)
      if (w->graph->nodes[i]->inputs[k] == from && !(late && w->forward[i])) w->graph->nodes[i]->inputs[k] = to;
}

static void replace_at_end(dp_graph *graph, const dp_value *from, dp_value *to) {
  for (int i = 0; i < graph->n_outputs; i++)
    if (graph->outputs[i].value == from) graph->outputs[i].value = to;
  for (int i = 0; i < graph->n_updates; i++)
    if (graph->updates[i].value == from) graph->updates[i].value = to;
}

static dp_status make(work *w, const chain *c) {
  dp_value *const *n = c->normalization->inputs, *const *g = c->gradient->inputs;
  dp_value *in[] = {g[X], g[SCALE], n[BIAS], g[MEAN], g[INVSTD], c->relu_gradient->inputs[0]};
  dp_builder b = {.graph = w->graph, .prefix = c->gradient->name};
  dp_value *dx = dp_build(&b, "dp.BatchNormalizationReluGrad", 6, in, 4, 0, NULL);
  DP_TRY(b.status);
  w->instead[c->gradient->id] = dx->producer;
  dx->producer->device = c->gradient->device;
  dx->producer->stage = c->gradient->stage;
  replace(w, c->relu->outputs[0], dx->producer->outputs[AGAIN], true);
  for (int k = 0; k < c->gradient->n_outputs; k++) {
    if (!c->gradient->outputs[k]) continue;
    replace(w, c->gradient->outputs[k], dx->producer->outputs[k], false);
    replace_at_end(w->graph, c->gradient->outputs[k], dx->producer->outputs[k]);
  }
  return DP_OK;
}

// Puts what was made where the gradients are, which nobody uses any more: the pass `dce` drops them.
static void put_in_order(work *w, dp_arena *scratch) {
  dp_node **order = dp_alloc_n(scratch, (size_t)w->graph->n_nodes + 1, sizeof *order);
  int32_t count = 0;
  for (int32_t i = 0; i < w->n_nodes; i++) {
    if (w->instead[i]) order[count++] = w->instead[i];
    order[count++] = w->graph->nodes[i];
  }
  dp_graph_reorder(w->graph, order);
  dp_regions_put_in_order(w->graph, scratch);
}

static dp_status run_graph(dp_graph *graph, dp_arena *scratch) {
  const size_t nodes = (size_t)graph->n_nodes + 1;
  work w = {.graph = graph,
            .n_nodes = graph->n_nodes,
            .forward = dp_alloc_n(scratch, nodes, sizeof *w.forward),
            .before = dp_alloc_n(scratch, nodes, sizeof *w.before),
            .uses = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof *w.uses),
            .instead = dp_alloc_n(scratch, nodes, sizeof(dp_node *))};
  look_at(&w);
  chain c, *found = NULL;
  int32_t count = 0;
  for (int32_t i = 0; i < w.n_nodes; i++)
    if (is_chain(&w, graph->nodes[i], &c)) {
      w.before[i] = true;
      DP_PUSH(scratch, found, count, c);
    }
  mark_before(graph, w.n_nodes - 1, w.before);
  for (int32_t i = 0; i < count; i++)
    if (!can_come_first(&w, &found[i])) found[i].gradient = NULL;
  for (int32_t i = 0; i < count; i++)
    if (found[i].gradient) DP_TRY(make(&w, &found[i]));
  graph->unchanged = graph->n_nodes == w.n_nodes;
  if (!graph->unchanged) put_in_order(&w, scratch);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  dp_graph *graph = dp_pass_train(compile);
  bool divided = false;
  for (int a = 0; a < compile->model->mesh.n_axes; a++) divided |= compile->model->mesh.axes[a].size > 1;
  compile->unchanged = !graph || divided || compile->options->no_fuse || !compile->options->target->channel_ends;
  if (compile->unchanged) return DP_OK;
  dp_arena *scratch = dp_arena_create(0);
  if (!scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
  const dp_status status = run_graph(graph, scratch);
  dp_arena_destroy(scratch);
  return status;
}

const dp_pass dp_pass_batch_gradients = {
    .name = "batch_gradients",
    .what = "gradients of batch normalizations take along that of Relu and make its result again",
    .needs = DP_HAS_GRADIENTS,
    .run = run,
};
