// unbind: nodes that each take one index of a dim, and together all of them, become one Split. So queries, keys and
// values leave the product that makes all three, whose gradient is one Concat, not a sum of tensors that are mostly 0.
// A Transpose before them goes behind the Split, where attention reads through it.
#include "ir/graph/builder.h"
#include "passes/base/pass.h"
#include "passes/simplify/rewrite.h"

// What a node takes: x at an index of a dim, which its result lacks.
typedef struct {
  dp_value *x;  // NULL: it is no such node
  int axis;
  int64_t index;
} part;

typedef struct {
  dp_graph *graph;
  dp_rewrite rewrite;
  part *parts;      // by node id
  dp_node **first;  // by value id: the last node that takes a part of it
  dp_node **next;   // by node id: the one before
  dp_value **made;  // by node id: what replaces its result
  bool *refused;    // by node id: not all indices are taken
} work;

// ---- finding --------------------------------------------------------------------------------------------------------

static int axis_of(const dp_node *node) {
  const int64_t axis = dp_node_int(node, "axis", 0);
  return (int)(axis < 0 ? axis + node->inputs[0]->type->shape.rank : axis);
}

static dp_shape without(const dp_shape *shape, int axis) {
  dp_shape rest = {0};
  for (int d = 0; d < shape->rank; d++)
    if (d != axis) rest.dims[rest.rank++] = shape->dims[d];
  return rest;
}

// A Gather with one known index.
static part gathered(const dp_node *node) {
  const part none = {0};
  const dp_value *index = node->inputs[1];
  if (index->kind != DP_VALUE_CONSTANT || index->type->shape.rank || dp_node_attr(node, DP_ATTR_PADDING)) return none;
  part p = {node->inputs[0], axis_of(node), (int64_t)dp_element_get(index->type->dtype, index->constant->data)};
  const dp_dim extent = p.x->type->shape.dims[p.axis];
  if (dp_dim_is_symbolic(extent)) return none;
  if (p.index < 0) p.index += extent.offset;
  return p.index >= 0 && p.index < extent.offset ? p : none;
}

// A view of one of the results of a Split into single indices of something transposed, without their dim.
static part squeezed(const dp_node *node) {
  const part none = {0};
  const dp_value *y = node->inputs[0];
  const dp_node *split = y->producer;
  if (!dp_rewrite_is(split, "Split") || !dp_rewrite_is(split->inputs[0]->producer, "Transpose")) return none;
  const part p = {split->inputs[0], axis_of(split), y->result};
  const dp_shape rest = without(&y->type->shape, p.axis);
  for (int k = 0; k < split->n_outputs; k++)
    if (!split->outputs[k] || !dp_dim_is(split->outputs[k]->type->shape.dims[p.axis], 1)) return none;
  return dp_shape_equal(&rest, &node->outputs[0]->type->shape) ? p : none;
}

static part part_of(const dp_node *node) {
  if (dp_rewrite_is(node, "Gather")) return gathered(node);
  if (dp_op_is(node->op, DP_OP_VIEW) && !node->n_constraints) return squeezed(node);
  return (part){0};
}

// The next node from `node` on that takes a part of what p is one of.
static dp_node *same(const work *w, dp_node *node, const part *p) {
  while (node && w->parts[node->id].axis != p->axis) node = w->next[node->id];
  return node;
}

// Whether such nodes take every index, on one device and stage. If not, all of them are refused, so that nobody asks
// again.
static bool is_whole(work *w, const dp_node *node, const part *p) {
  bool taken[DP_MAX_REPEATED] = {false}, together = true;
  const int64_t extent = p->x->type->shape.dims[p->axis].offset;
  dp_node *const all = same(w, w->first[p->x->id], p);
  int64_t count = 0;
  for (dp_node *n = all; n && extent <= DP_MAX_REPEATED; n = same(w, w->next[n->id], p)) {
    together &= n->device == node->device && n->stage == node->stage;
    count += !taken[w->parts[n->id].index];
    taken[w->parts[n->id].index] = true;
  }
  if (together && count == extent) return true;
  for (dp_node *n = all; n; n = same(w, w->next[n->id], p)) w->refused[n->id] = true;
  return false;
}

// ---- making ---------------------------------------------------------------------------------------------------------

// The dim of the transpose's operand that is dim `d` of its result.
static int dim_before(const dp_node *transpose, int d) {
  size_t count;
  const int64_t *perm = dp_node_ints(transpose, "perm", &count);
  return perm ? (int)perm[d] : transpose->inputs[0]->type->shape.rank - 1 - d;
}

// The transpose's permutation without `axis` of its result; *moves: whether that still moves something.
static dp_attr permutation_without(dp_graph *graph, const dp_node *transpose, int axis, bool *moves) {
  const int rank = transpose->inputs[0]->type->shape.rank, gone = dim_before(transpose, axis);
  int64_t rest[DP_MAX_RANK];
  int n = 0;
  *moves = false;
  for (int d = 0; d < rank; d++) {
    const int from = dim_before(transpose, d);
    if (d == axis) continue;
    rest[n] = from - (from > gone);
    *moves |= rest[n] != n;
    n++;
  }
  return dp_attr_ints(graph->arena, "perm", rest, (size_t)n);
}

// What replaces each of the nodes that take x apart.
static dp_status divide(work *w, const dp_node *node, const part *p) {
  dp_builder b = {.graph = w->graph, .prefix = node->name};
  dp_value *x = dp_rewrite_find(&w->rewrite, p->x);
  const dp_node *transpose = dp_rewrite_is(x->producer, "Transpose") ? x->producer : NULL;
  const int axis = transpose ? dim_before(transpose, p->axis) : p->axis;
  const int extent = (int)x->type->shape.dims[p->axis].offset;
  bool moves = false;
  dp_attr perm = {0}, along = dp_attr_int("axis", axis);
  if (transpose) {
    perm = permutation_without(w->graph, transpose, p->axis, &moves);
    x = transpose->inputs[0];
  }
  const dp_shape rest = without(&x->type->shape, axis);
  const dp_value *split = extent > 1 ? dp_build(&b, "Split", 1, &x, extent, 1, &along) : x;
  dp_value *made[DP_MAX_REPEATED];
  for (int i = 0; i < extent && !b.status; i++) {
    made[i] = dp_build_reshape(&b, extent > 1 ? split->producer->outputs[i] : x, &rest);
    if (moves) made[i] = dp_build(&b, "Transpose", 1, &made[i], 1, 1, &perm);
  }
  for (dp_node *n = same(w, w->first[p->x->id], p); n && !b.status; n = same(w, w->next[n->id], p))
    w->made[n->id] = made[w->parts[n->id].index];
  return b.status;
}

static work begin(dp_graph *graph, dp_arena *scratch) {
  const size_t n_nodes = (size_t)graph->n_nodes + 1;
  work w = {.graph = graph,
            .parts = dp_alloc_n(scratch, n_nodes, sizeof *w.parts),
            .first = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof *w.first),
            .next = dp_alloc_n(scratch, n_nodes, sizeof *w.next),
            .made = dp_alloc_n(scratch, n_nodes, sizeof *w.made),
            .refused = dp_alloc_n(scratch, n_nodes, sizeof *w.refused)};
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const part p = w.parts[i] = part_of(graph->nodes[i]);
    if (!p.x) continue;
    w.next[i] = w.first[p.x->id];
    w.first[p.x->id] = graph->nodes[i];
  }
  w.rewrite = dp_rewrite_begin(graph);
  return w;
}

static dp_status divide_all(dp_graph *graph, dp_arena *scratch) {
  const int32_t n_old = graph->n_nodes;
  work w = begin(graph, scratch);
  // For each of the nodes a Reshape and a Transpose, and for all of them a Split.
  dp_node **order = dp_alloc_n(scratch, (size_t)n_old * 4 + 1, sizeof *order);
  int32_t count = 0;
  for (int32_t i = 0; i < n_old; i++) {
    dp_node *node = graph->nodes[i];
    const int32_t first = graph->n_nodes;
    const part *p = &w.parts[node->id];
    dp_rewrite_operands(&w.rewrite, node);
    if (p->x && !w.made[node->id] && !w.refused[node->id] && is_whole(&w, node, p)) DP_TRY(divide(&w, node, p));
    dp_rewrite_follow(graph, first, node);
    for (int32_t k = first; k < graph->n_nodes; k++) order[count++] = graph->nodes[k];
    if (!w.made[node->id]) {
      order[count++] = node;
      continue;
    }
    dp_rewrite_replace(&w.rewrite, node->outputs[0], w.made[node->id]);
    dp_rewrite_drop(&w.rewrite, node);
  }
  graph->unchanged = dp_rewrite_did_nothing(&w.rewrite);
  dp_rewrite_end(&w.rewrite);
  if (!graph->unchanged) dp_graph_reorder(graph, order);
  return DP_OK;
}

static dp_status run_graph(dp_compile *compile, dp_graph *graph, dp_arena *scratch) {
  (void)compile;
  return divide_all(graph, scratch);
}

static dp_status run(dp_compile *compile) { return dp_pass_each_graph(compile, run_graph); }

const dp_pass dp_pass_unbind = {
    .name = "unbind",
    .what = "what takes each index of a dim by itself becomes one Split",
    .needs = DP_HAS_PROGRAMS,
    .run = run,
};
