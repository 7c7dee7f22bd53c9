// fuse: nodes that work on the same rows become regions: pointwise ones, whose rows are single elements, and what
// reduces or normalizes the last dims. Each region is computed in one pass over memory, and values that only its
// members use are never stored.
//
// Nodes are visited from the last to the first. A node joins the region of its earliest user, so that what only the
// backward pass needs is computed there and not kept through the forward pass. The depth of a region is one more than
// the largest depth of whatever needs it. Regions of equal depth cannot depend on each other, so a node may join the
// regions of its earliest users into one, if all of them are regions that it fits. This makes no cycle. In a pipeline
// no region extends across a Send or a Recv, since stages have agreed on the order of these.
#include "passes/base/pass.h"
#include "passes/fuse/regions.h"
#include "passes/schedule/issue_order.h"

enum { MAX_MEMBERS = 32, MAX_OPERANDS = 64, MAX_ROW = 16384 };  // MAX_ROW: elements

// What the members of a region have in common: the extents of their largest values, how these are placed, and the first
// dim of a row.
typedef struct {
  dp_shape shape;
  int row, micro_first, micro_count;
  const dp_placement *placements[DP_MAX_MESH];
} frame;

// A node by itself, or a region.
typedef struct {
  int32_t merged_into;  // another group; -1: none
  int32_t depth;
  int32_t n_members, n_operands;
  bool open;  // nodes may join
  frame frame;
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

static frame frame_of_value(const dp_graph *graph, const dp_value *v) {
  frame f = {
      .shape = v->type.shape, .row = v->type.shape.rank, .micro_first = v->micro_first, .micro_count = v->micro_count};
  for (int a = 0; a < graph->model->mesh.n_axes; a++) f.placements[a] = &v->placements[a];
  return f;
}

// Makes the frame cover another one. Where only one of them has extent 1, rows begin there at the latest.
static bool cover(const dp_graph *graph, frame *f, const frame *other) {
  bool extends[DP_MAX_RANK], extended[DP_MAX_RANK];  // (dims) this frame has extent 1 there, or the other one
  if (other->shape.rank != f->shape.rank || other->micro_first != f->micro_first ||
      other->micro_count != f->micro_count)
    return false;
  f->row = (int)dp_min_i64(f->row, other->row);
  for (int i = 0; i < f->shape.rank; i++) {
    const dp_dim here = f->shape.dims[i], there = other->shape.dims[i], one = dp_dim_of(1);
    const bool equal = dp_dim_equal(here, there);
    extends[i] = !equal && dp_dim_equal(here, one);
    extended[i] = !equal && dp_dim_equal(there, one);
    if (!equal && !extends[i] && !extended[i]) return false;
    if (!equal) f->row = (int)dp_min_i64(f->row, i);
    if (extends[i]) f->shape.dims[i] = there;
  }
  for (int a = 0; a < graph->model->mesh.n_axes; a++) {
    const dp_placement here = *f->placements[a], there = *other->placements[a];
    // A partial value has the whole tensor's extents.
    if (dp_placement_equal(here, there) || (here.kind != DP_SHARD && there.kind != DP_SHARD)) continue;
    // Only one is sharded: along a dim that the other does not have.
    if (here.kind == there.kind || !(here.kind == DP_SHARD ? extended[here.dim] : extends[there.dim])) return false;
    if (there.kind == DP_SHARD) f->placements[a] = other->placements[a];
  }
  return true;
}

// The frame of a node by itself: of its results, and of the operand that it takes rows of.
static bool frame_of(const dp_graph *graph, const dp_node *node, frame *f) {
  *f = frame_of_value(graph, node->outputs[0]);
  for (int k = 1; k < node->n_outputs; k++) {
    if (!node->outputs[k]) continue;
    const frame result = frame_of_value(graph, node->outputs[k]);
    if (!cover(graph, f, &result)) return false;
  }
  if (dp_op_is_pointwise(node->op)) return true;
  if (!node->inputs[0]) return false;
  const frame rows = frame_of_value(graph, node->inputs[0]);
  if (!cover(graph, f, &rows)) return false;
  f->row = (int)dp_min_i64(f->row, dp_op_row(node, f->shape.rank));
  return f->row > 0;
}

// Whether there are rows, and they are short enough for the cache.
static bool is_good(const frame *f) {
  int64_t elements = 1;
  if (!f->row && f->shape.rank) return false;
  for (int i = f->row; i < f->shape.rank && elements <= MAX_ROW; i++) {
    const dp_dim dim = f->shape.dims[i];
    if (dp_dim_is_symbolic(dim) || dim.offset > MAX_ROW) return false;
    elements *= dim.offset;
  }
  return elements <= MAX_ROW;
}

// Whether the operand has the frame's extents, or 1 where it is broadcast.
static bool fits(const dp_shape *operand, const dp_shape *all) {
  const int missing = all->rank - operand->rank;
  for (int i = 0; i < operand->rank; i++)
    if (missing < 0 ||
        (!dp_dim_equal(operand->dims[i], dp_dim_of(1)) && !dp_dim_equal(operand->dims[i], all->dims[i + missing])))
      return false;
  return true;
}

// The types that every kernel computes in. For other types a node converts to these and back.
static bool is_computed_in(const dp_value *v) { return (DP_BIT(v->type.dtype) & DP_UPCAST) != 0; }

// Whether the node may be a member; its frame.
static bool can_fuse(const dp_graph *graph, const dp_node *node, frame *f) {
  if (!node->logical || !node->n_outputs || node->n_waits || node->signal >= 0) return false;
  if (!dp_op_is_pointwise(node->op) && !node->op->row) return false;
  for (int k = 0; k < node->n_outputs; k++) {
    const dp_value *y = node->outputs[k];
    if (y ? y->space != DP_SPACE_TRANSIENT || !is_computed_in(y) : !k) return false;
  }
  if (!frame_of(graph, node, f) || !is_good(f)) return false;
  for (int i = 0; i < node->n_inputs; i++) {
    const dp_value *x = node->inputs[i];
    if (x && (!is_computed_in(x) || !fits(&x->type.shape, &f->shape) || x->space == DP_SPACE_HOST_INPUT)) return false;
  }
  return true;
}

// ---- groups ---------------------------------------------------------------------------------------------------------

static int32_t find(work *w, int32_t node) {
  int32_t *g = &w->group_of[node];
  while (w->groups[*g].merged_into >= 0) *g = w->groups[*g].merged_into;
  return *g;
}

static bool takes(const work *w, const group *g, const dp_node *node, frame *both) {
  return g->open && g->segment == w->segment[node->id] && cover(w->graph, both, &g->frame) && is_good(both);
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
  frame own = {0};
  const bool open = can_fuse(w->graph, node, &own);
  bool joins = open;
  frame both = own;
  for (int32_t e = first; e < end && joins; e++) {
    const int32_t g = find(w, w->after.before[e]);
    if (w->groups[g].depth < depth) continue;
    if (w->groups[g].seen_by == node->id) continue;
    joins = takes(w, &w->groups[g], node, &both) && feeds(w, node, g);
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
    w->groups[found].frame = both;
    return;
  }
  const group one = {.merged_into = -1,
                     .depth = depth + 1,
                     .n_members = 1,
                     .n_operands = node->n_inputs + node->n_outputs,
                     .open = open,
                     .frame = own,
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
    .what = "nodes that work on the same rows become regions",
    .needs = DP_HAS_ROLES,
    .run = run,
};
