// See regions.h.
#include "passes/fuse/regions.h"

#include <string.h>

#include "passes/schedule/issue_order.h"

typedef struct {
  int32_t n_members;
  dp_node **members;  // in order
} region;

typedef struct {
  dp_graph *graph;
  const int32_t *group_of;  // (nodes)
  bool *needed;             // (values) used by a node of another group, as an output, or as a variable's new value
  bool *keep_value;         // (values)
  int32_t *made_in;         // (values) the group of the node that computes it; -1: none
  dp_value **map;           // (values) to the body's; NULL between regions
  int32_t n_operands, n_results;
  dp_value **operands, **results;  // of one region
} making;

static void find_needed(making *r) {
  const dp_graph *graph = r->graph;
  for (int32_t v = 0; v < graph->n_values; v++) {
    const dp_node *producer = graph->values[v]->producer;
    r->made_in[v] = producer ? r->group_of[producer->id] : -1;
  }
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++) {
      const dp_value *x = graph->nodes[i]->inputs[k];
      if (x && r->made_in[x->id] != r->group_of[i]) r->needed[x->id] = true;
    }
  for (int i = 0; i < graph->n_outputs; i++) r->needed[graph->outputs[i].value->id] = true;
  for (int i = 0; i < graph->n_updates; i++) r->needed[graph->updates[i].value->id] = true;
}

// What a region's members take from outside, in the order of use, as inputs of the body.
static void add_operands(making *r, const region *all, int32_t group, dp_graph *body) {
  r->n_operands = 0;
  for (int32_t m = 0; m < all->n_members; m++)
    for (int k = 0; k < all->members[m]->n_inputs; k++) {
      dp_value *x = all->members[m]->inputs[k];
      if (!x || r->map[x->id] || r->made_in[x->id] == group) continue;
      dp_graph_copy_as_input(body, x, r->map);
      r->operands[r->n_operands++] = x;
    }
}

static void add_members(making *r, const region *all, dp_graph *body) {
  r->n_results = 0;
  for (int32_t m = 0; m < all->n_members; m++)
    for (int k = 0; k < all->members[m]->n_outputs; k++) {
      dp_value *y = all->members[m]->outputs[k];
      if (!y) continue;
      r->keep_value[y->id] = r->needed[y->id];
      if (r->needed[y->id]) r->results[r->n_results++] = y;
    }
  for (int32_t m = 0; m < all->n_members; m++) dp_graph_move_node(body, all->members[m], r->needed, r->map);
  for (int32_t i = 0; i < r->n_results; i++) dp_graph_add_output(body, r->results[i]->name, r->map[r->results[i]->id]);
}

static void forget(making *r) {
  for (int32_t i = 0; i < r->n_operands; i++) r->map[r->operands[i]->id] = NULL;
  for (int32_t i = 0; i < r->n_results; i++) r->map[r->results[i]->id] = NULL;
}

// Whether any result is needed; otherwise the node is dropped.
static bool is_needed(const making *r, const region *all) {
  for (int32_t m = 0; m < all->n_members; m++)
    for (int k = 0; k < all->members[m]->n_outputs; k++)
      if (all->members[m]->outputs[k] && r->needed[all->members[m]->outputs[k]->id]) return true;
  return false;
}

static dp_node *make_region(making *r, const region *all) {
  dp_graph *graph = r->graph, *body = dp_graph_create_within(graph, "region");
  const dp_node *last = all->members[all->n_members - 1];
  const char *name = last->name;
  body->logical = graph->logical;
  add_operands(r, all, r->group_of[last->id], body);
  add_members(r, all, body);
  forget(r);
  dp_graph_finish(body);
  dp_node *node =
      dp_graph_add_node(graph, dp_op_find("dp", "Region"), name, r->n_operands, r->operands, 0, NULL, 0, NULL);
  dp_node_set_results(node, r->n_results, r->results);
  node->body = body;
  return node;
}

bool dp_regions_is_transfer(const dp_node *node) {
  return !strcmp(node->op->domain, "dp") && (!strcmp(node->op->name, "Send") || !strcmp(node->op->name, "Recv"));
}

int32_t *dp_regions_segments(const dp_graph *graph, dp_arena *arena) {
  int32_t *segments = dp_alloc_n(arena, (size_t)graph->n_nodes + 1, sizeof *segments);
  for (int32_t i = 0; i < graph->n_nodes; i++) segments[i + 1] = segments[i] + dp_regions_is_transfer(graph->nodes[i]);
  return segments;
}

void dp_regions_put_in_order(dp_graph *graph, dp_arena *scratch) {
  const dp_issue_order_edges edges = dp_issue_order_edges_make(scratch, graph);
  dp_graph_reorder(graph, dp_issue_order_none(scratch, graph, &edges));
}

static void drop_results(making *r, const region *all) {
  for (int32_t m = 0; m < all->n_members; m++)
    for (int k = 0; k < all->members[m]->n_outputs; k++)
      if (all->members[m]->outputs[k]) r->keep_value[all->members[m]->outputs[k]->id] = false;
}

static bool reads_variables_alone(const region *all) {
  for (int32_t m = 0; m < all->n_members; m++)
    for (int k = 0; k < all->members[m]->n_inputs; k++)
      if (all->members[m]->inputs[k] && all->members[m]->inputs[k]->producer) return false;
  return true;
}

// The member that a region stands in for in the order: a product, since what it reads need not be kept beyond it; the
// first one where nothing has to come before; else the last.
static const dp_node *leader(const region *all) {
  for (int32_t m = 0; m < all->n_members; m++)
    if (dp_op_is(all->members[m]->op, DP_OP_PRODUCT)) return all->members[m];
  return all->members[reads_variables_alone(all) ? 0 : all->n_members - 1];
}

void dp_regions_make(dp_graph *graph, dp_arena *scratch, int32_t n_groups, const int32_t *group_of) {
  const int32_t n = graph->n_nodes;
  const size_t n_values = (size_t)graph->n_values + 1;
  making r = {.graph = graph,
              .group_of = group_of,
              .needed = dp_alloc_n(scratch, n_values, sizeof(bool)),
              .keep_value = dp_alloc_n(scratch, n_values, sizeof(bool)),
              .made_in = dp_alloc_n(scratch, n_values, sizeof(int32_t)),
              .map = dp_alloc_n(scratch, n_values, sizeof(dp_value *)),
              .operands = dp_alloc_n(scratch, n_values, sizeof(dp_value *)),
              .results = dp_alloc_n(scratch, n_values, sizeof(dp_value *))};
  memset(r.keep_value, true, n_values);
  region *of_group = dp_alloc_n(scratch, (size_t)n_groups + 1, sizeof *of_group);
  find_needed(&r);
  for (int32_t i = 0; i < n; i++) {
    region *all = &of_group[group_of[i]];
    DP_PUSH(scratch, all->members, all->n_members, graph->nodes[i]);
  }
  dp_node **order = dp_alloc_n(scratch, (size_t)n + 1, sizeof *order);
  bool *keep_node = dp_alloc_n(scratch, 2 * (size_t)n + 1, sizeof *keep_node);
  memset(keep_node, true, 2 * (size_t)n + 1);
  int32_t n_kept = 0;
  for (int32_t i = 0; i < n; i++) {
    const region *all = &of_group[group_of[i]];
    dp_node *node = graph->nodes[i];
    keep_node[i] = all->n_members == 1;
    if (all->n_members == 1) order[n_kept++] = node;
    if (all->n_members == 1 || leader(all) != node) continue;
    if (is_needed(&r, all))
      order[n_kept++] = make_region(&r, all);
    else
      drop_results(&r, all);
  }
  if (n_kept == n) return;
  dp_graph_prune(graph, keep_node, r.keep_value);
  dp_graph_reorder(graph, order);
  dp_regions_put_in_order(graph, scratch);
}
