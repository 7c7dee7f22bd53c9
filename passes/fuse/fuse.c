// fuse: pointwise nodes over the same extents become regions. Each is computed in one pass over memory, and values that
// only its members use are never stored.
//
// Nodes are visited from the last to the first. A node joins the region of its earliest user, so that what only the
// backward pass needs is computed there and not kept through the forward pass. The depth of a region is one more than
// the largest depth of whatever needs it. Regions of equal depth cannot depend on each other, so a node may join the
// regions of its earliest users into one, if all of them are regions that it fits. This makes no cycle. In a pipeline
// no region extends across a Send or a Recv, since stages have agreed on the order of these.
#include "passes/base/pass.h"
#include "passes/fuse/regions.h"
#include "passes/schedule/issue_order.h"

enum { MAX_MEMBERS = 32, MAX_OPERANDS = 64 };

// A node by itself, or a region.
typedef struct {
  int32_t merged_into;  // another group; -1: none
  int32_t depth;
  int32_t n_members, n_operands;
  const dp_node *first;  // a member that others must match; NULL: nothing may join
  int32_t segment;
  int32_t seen_by;  // the last node that asked to join it
} group;

typedef struct {
  dp_graph *graph;
  dp_arena *scratch;
  dp_issue_order_edges before, after;
  int32_t *segment;   // (nodes) the number of transfers between stages before it
  int32_t *group_of;  // (nodes)
  int32_t n_groups;
  group *groups;
} work;

// ---- what can be fused ----------------------------------------------------------------------------------------------

static bool is_pointwise(const dp_node *node) {
  const uint32_t others = DP_OP_RANDOM | DP_OP_UPDATE | DP_OP_COMMUNICATION | DP_OP_POSITIONAL;
  return dp_op_is(node->op, DP_OP_ELEMENTWISE) && !(node->op->flags & others);
}

// Whether the operand has the result's extents, or 1 where it is broadcast.
static bool fits(const dp_shape *operand, const dp_shape *result) {
  const int missing = result->rank - operand->rank;
  for (int i = 0; i < operand->rank; i++)
    if (missing < 0 ||
        (!dp_dim_equal(operand->dims[i], dp_dim_of(1)) && !dp_dim_equal(operand->dims[i], result->dims[i + missing])))
      return false;
  return true;
}

// The types that every kernel computes in. For other types a node converts to these and back.
static bool is_computed_in(const dp_value *v) { return (DP_BIT(v->type.dtype) & DP_UPCAST) != 0; }

static bool can_fuse(const dp_node *node) {
  if (!is_pointwise(node) || !node->logical || node->n_outputs != 1 || node->n_waits || node->signal >= 0) return false;
  const dp_value *y = node->outputs[0];
  if (y->space != DP_SPACE_TRANSIENT || !is_computed_in(y)) return false;
  for (int i = 0; i < node->n_inputs; i++) {
    const dp_value *x = node->inputs[i];
    if (x && (!is_computed_in(x) || !fits(&x->type.shape, &y->type.shape) || x->space == DP_SPACE_HOST_INPUT))
      return false;
  }
  return true;
}

static bool same_extents(const dp_graph *graph, const dp_value *a, const dp_value *b) {
  if (!dp_shape_equal(&a->type.shape, &b->type.shape) || a->micro_first != b->micro_first ||
      a->micro_count != b->micro_count)
    return false;
  for (int i = 0; i < graph->model->mesh.n_axes; i++) {
    const dp_placement p = a->placements[i], q = b->placements[i];
    // A partial result has the whole tensor's extents.
    if (!dp_placement_equal(p, q) && (p.kind == DP_SHARD || q.kind == DP_SHARD)) return false;
  }
  return true;
}

// ---- groups ---------------------------------------------------------------------------------------------------------

static int32_t find(work *w, int32_t node) {
  int32_t *g = &w->group_of[node];
  while (w->groups[*g].merged_into >= 0) *g = w->groups[*g].merged_into;
  return *g;
}

static bool takes(const work *w, const group *g, const dp_node *node) {
  return g->first && g->segment == w->segment[node->id] &&
         same_extents(w->graph, g->first->outputs[0], node->outputs[0]);
}

// Whether a member of the group uses some result of `node` as an operand, and not only reads a variable before it is
// overwritten.
static bool feeds(work *w, const dp_node *node, int32_t g) {
  for (int32_t e = w->after.first[node->id]; e < w->after.first[node->id + 1]; e++) {
    const dp_node *user = w->graph->nodes[w->after.before[e]];
    for (int k = 0; k < user->n_inputs && find(w, user->id) == g; k++)
      if (user->inputs[k] && user->inputs[k]->producer == node) return true;
  }
  return false;
}

static void add_node(work *w, const dp_node *node) {
  int32_t depth = -1, found = -1, n_members = 1, n_operands = node->n_inputs + node->n_outputs;
  const int32_t first = w->after.first[node->id], end = w->after.first[node->id + 1];
  for (int32_t e = first; e < end; e++)
    depth = (int32_t)dp_max_i64(depth, w->groups[find(w, w->after.before[e])].depth);
  bool joins = can_fuse(node);
  for (int32_t e = first; e < end && joins; e++) {
    const int32_t g = find(w, w->after.before[e]);
    if (w->groups[g].depth < depth) continue;
    joins = takes(w, &w->groups[g], node) && feeds(w, node, g);
    if (w->groups[g].seen_by == node->id) continue;
    w->groups[g].seen_by = node->id;
    n_members += w->groups[g].n_members;
    n_operands += w->groups[g].n_operands;
    found = g;
  }
  if (joins && found >= 0 && n_members <= MAX_MEMBERS && n_operands <= MAX_OPERANDS) {
    for (int32_t e = first; e < end; e++) {
      const int32_t g = find(w, w->after.before[e]);
      if (w->groups[g].depth == depth && g != found) w->groups[g].merged_into = found;
    }
    w->group_of[node->id] = found;
    w->groups[found].n_members = n_members;
    w->groups[found].n_operands = n_operands;
    return;
  }
  const group one = {.merged_into = -1,
                     .depth = depth + 1,
                     .n_members = 1,
                     .n_operands = node->n_inputs + node->n_outputs,
                     .first = can_fuse(node) ? node : NULL,
                     .segment = w->segment[node->id],
                     .seen_by = -1};
  DP_PUSH(w->scratch, w->groups, w->n_groups, one);
  w->group_of[node->id] = w->n_groups - 1;
}

static void find_groups(work *w) {
  const int32_t n = w->graph->n_nodes;
  w->segment = dp_alloc_n(w->scratch, (size_t)n + 1, sizeof *w->segment);
  w->group_of = dp_alloc_n(w->scratch, (size_t)n + 1, sizeof *w->group_of);
  for (int32_t i = 0; i < n; i++) w->segment[i + 1] = w->segment[i] + dp_regions_is_transfer(w->graph->nodes[i]);
  for (int32_t i = n; i-- > 0;) add_node(w, w->graph->nodes[i]);
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static dp_status run(dp_compile *compile) {
  compile->unchanged = compile->options->no_fuse;
  for (int i = 0; i < compile->model->n_graphs && !compile->options->no_fuse; i++) {
    dp_graph *graph = compile->model->graphs[i];
    dp_arena *scratch = dp_arena_create(0);
    if (!scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
    work w = {.graph = graph, .scratch = scratch};
    dp_regions_put_in_order(graph, scratch);
    w.before = dp_issue_order_edges_make(scratch, graph);
    w.after = dp_issue_order_edges_turn(scratch, &w.before, graph->n_nodes);
    find_groups(&w);
    for (int32_t k = 0; k < graph->n_nodes; k++) w.group_of[k] = find(&w, k);
    dp_regions_make(graph, scratch, w.n_groups, w.group_of);
    dp_arena_destroy(scratch);
  }
  return DP_OK;
}

const dp_pass dp_pass_fuse = {
    .name = "fuse",
    .what = "pointwise nodes over the same extents become regions",
    .needs = DP_HAS_ROLES,
    .run = run,
};
