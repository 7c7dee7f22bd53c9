// channels: on targets that compute them along, a batch normalization becomes one region with what alone takes its
// result: the sum with a residual, Relu, or both in this order; and its gradient with the gradient of Relu that it is
// computed from, and the sum of two gradients that alone this takes. What Relu's gradient makes may have other users.
//
// All members of a region follow each other, so what any of them takes from outside must be there before the first, or
// be a variable that is brought for it. Then regions cannot wait for each other. Of two normalizations that are added,
// the later one makes the region.
#include "passes/base/pass.h"
#include "passes/fuse/groups.h"
#include "passes/fuse/regions.h"

enum { NOBODY = -1, SEVERAL = -2 };
enum { DY = 4 };            // of the gradient of a batch normalization
enum { MOST_MEMBERS = 3 };  // of a region

typedef struct {
  const dp_graph *graph;
  int32_t *user;      // (values) the node that alone uses it, once; NOBODY; or SEVERAL, an output among them
  int32_t *segment;   // (nodes) the number of transfers between stages before it
  int32_t *group_of;  // (nodes) the first member of its region; NOBODY: it is in none
} work;

// The members of a region, in order.
typedef struct {
  int count;
  const dp_node *members[MOST_MEMBERS];
} chain;

static bool is_normalization(const dp_node *node) {
  return dp_fuse_is_named(node, "", "BatchNormalization") || dp_fuse_is_named(node, "dp", "GroupedBatchNormalization");
}

static bool is_gradient(const dp_node *node) {
  return dp_fuse_is_named(node, "dp", "BatchNormalizationGrad") ||
         dp_fuse_is_named(node, "dp", "GroupedBatchNormalizationGrad");
}

static void use(work *w, const dp_value *v, int32_t node) {
  if (v) w->user[v->id] = w->user[v->id] == NOBODY ? node : SEVERAL;
}

static void find_users(work *w) {
  for (int32_t v = 0; v < w->graph->n_values; v++) w->user[v] = NOBODY;
  for (int32_t i = 0; i < w->graph->n_nodes; i++)
    for (int k = 0; k < w->graph->nodes[i]->n_inputs; k++) use(w, w->graph->nodes[i]->inputs[k], i);
  for (int i = 0; i < w->graph->n_outputs; i++) use(w, w->graph->outputs[i].value, SEVERAL);
  for (int i = 0; i < w->graph->n_updates; i++) use(w, w->graph->updates[i].value, SEVERAL);
}

// The node that alone uses the value; NULL: there is none.
static const dp_node *user_of(const work *w, const dp_value *v) {
  return w->user[v->id] >= 0 ? w->graph->nodes[w->user[v->id]] : NULL;
}

// Whether two values have the same type, samples and placements.
static bool alike(const work *w, const dp_value *a, const dp_value *b) {
  if (a->type->dtype != b->type->dtype || !dp_shape_equal(&a->type->shape, &b->type->shape)) return false;
  for (int x = 0; x < w->graph->model->mesh.n_axes; x++)
    if (!dp_placement_equal(a->placements[x], b->placements[x])) return false;
  return a->micro_first == b->micro_first && a->micro_count == b->micro_count;
}

// Whether the node is in no region, computes on the device, and its operands and its result are like the value.
static bool is_like(const work *w, const dp_node *node, const dp_value *v) {
  if (!dp_fuse_is_plain(node) || w->group_of[node->id] != NOBODY) return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]->space == DP_SPACE_HOST_INPUT || !alike(w, node->inputs[i], v)) return false;
  return alike(w, node->outputs[0], v);
}

static bool is_member(const chain *c, const dp_node *node) {
  for (int m = 0; m < c->count; m++)
    if (c->members[m] == node) return true;
  return false;
}

// Whether the node takes a variable alone, such as one that gathers it. Then it is in no region here, and it can come
// before any.
static bool brings_variable(const dp_node *node) {
  return node->n_inputs == 1 && !node->n_waits && node->inputs[0]->kind == DP_VALUE_VARIABLE;
}

// Whether all that the members take from outside is there before the first of them, or can be.
static bool can_follow(const work *w, const chain *c) {
  const int32_t first = c->members[0]->id;
  if (w->segment[first] != w->segment[c->members[c->count - 1]->id]) return false;
  for (int m = 0; m < c->count; m++)
    for (int k = 0; k < c->members[m]->n_inputs; k++) {
      const dp_value *x = c->members[m]->inputs[k];
      if (!x || !x->producer || is_member(c, x->producer) || brings_variable(x->producer)) continue;
      if (x->producer->id > first) return false;
    }
  return true;
}

static void take(work *w, const chain *c) {
  for (int m = 0; m < c->count && c->count > 1; m++) w->group_of[c->members[m]->id] = c->members[0]->id;
}

static void push(chain *c, const dp_node *node) { c->members[c->count++] = node; }

static void take_normalization(work *w, const dp_node *node) {
  chain c = {1, {node}};
  const dp_node *next = user_of(w, node->outputs[0]);
  if (dp_fuse_is_named(next, "", "Add") && is_like(w, next, node->outputs[0])) {
    push(&c, next);
    if (!can_follow(w, &c)) return;
    next = user_of(w, next->outputs[0]);
  }
  if (dp_fuse_is_named(next, "", "Relu") && is_like(w, next, node->outputs[0])) push(&c, next);
  if (can_follow(w, &c)) take(w, &c);
}

static void take_gradient(work *w, const dp_node *node) {
  const dp_node *relu = node->inputs[DY]->producer;
  if (!dp_fuse_is_named(relu, "dp", "ReluGrad") || !is_like(w, relu, node->inputs[DY])) return;
  const dp_node *sum = relu->inputs[0]->producer;
  const chain both = {3, {sum, relu, node}}, alone = {2, {relu, node}};
  if (dp_fuse_is_named(sum, "", "Add") && user_of(w, relu->inputs[0]) == relu && is_like(w, sum, node->inputs[DY]) &&
      can_follow(w, &both))
    take(w, &both);
  else if (can_follow(w, &alone))
    take(w, &alone);
}

static dp_status run_graph(dp_compile *compile, dp_graph *graph, dp_arena *scratch) {
  (void)compile;
  graph->unchanged = true;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    graph->unchanged &= !is_normalization(graph->nodes[i]) && !is_gradient(graph->nodes[i]);
  if (graph->unchanged) return DP_OK;
  dp_regions_put_in_order(graph, scratch);
  const size_t n_nodes = (size_t)graph->n_nodes + 1;
  work w = {.graph = graph,
            .user = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof *w.user),
            .segment = dp_regions_segments(graph, scratch),
            .group_of = dp_alloc_n(scratch, n_nodes, sizeof *w.group_of)};
  find_users(&w);
  for (int32_t i = 0; i < graph->n_nodes; i++) w.group_of[i] = NOBODY;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    if (!dp_fuse_is_plain(graph->nodes[i])) continue;
    if (is_normalization(graph->nodes[i])) take_normalization(&w, graph->nodes[i]);
    if (is_gradient(graph->nodes[i])) take_gradient(&w, graph->nodes[i]);
  }
  for (int32_t i = 0; i < graph->n_nodes; i++)
    if (w.group_of[i] == NOBODY) w.group_of[i] = i;
  dp_regions_make(graph, scratch, graph->n_nodes, w.group_of);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  compile->unchanged = compile->options->no_fuse || !compile->options->target->channel_ends;
  return compile->unchanged ? DP_OK : dp_pass_each_graph(compile, run_graph);
}

const dp_pass dp_pass_channels = {
    .name = "channels",
    .what = "batch normalizations and their gradients become regions with Relu and sums next to them",
    .needs = DP_HAS_ROLES,
    .run = run,
};
