// fuse: nodes that work on the same rows become regions: pointwise ones, whose rows are single elements, and what
// reduces or normalizes the last dims. Each region is computed in one pass over memory, and values that only its
// members use are never stored.
//
// Where the target gains by it, a region also has what stands at its ends: products that its rows are computed from,
// also where a Reshape stands in between, convolutions that its single elements are computed from, and reductions of
// its rows' values over other dims, such as the gradients of biases (reductions.c). The gradients of
// LayerNormalization and RMSNormalization are then members too: they make rows, and sums over rows beside, which only
// nodes of other regions or such reductions take.
//
// Batch normalizations and their gradients work on channels. Pointwise nodes around them join them where a channel
// fits the cache, so that these become regions too, with all other members pointwise.
//
// Nodes are visited from the last to the first. A node joins the region of its earliest user, so that what only the
// backward pass needs is computed there and not kept through the forward pass. The depth of a region is one more than
// the largest depth of whatever needs it. Regions of equal depth cannot depend on each other, so a node may join the
// regions of its earliest users into one, if all of them are regions that it fits. This makes no cycle. In a pipeline
// no region extends across a Send or a Recv, since stages have agreed on the order of these.
#include "passes/base/pass.h"
#include "passes/cost/cost_model.h"
#include "passes/fuse/gradient_casts.h"
#include "passes/fuse/groups.h"
#include "passes/fuse/regions.h"

enum { MAX_ROW = 16384 };  // elements

typedef dp_fuse_frame frame;
typedef dp_fuse_group group;
typedef dp_fuse_work work;

// ---- what can be fused ----------------------------------------------------------------------------------------------

static frame frame_of_value(const dp_graph *graph, const dp_value *v) {
  frame f = {.shape = v->type->shape,
             .row = v->type->shape.rank,
             .micro_first = v->micro_first,
             .micro_count = v->micro_count};
  for (int a = 0; a < graph->model->mesh.n_axes; a++) f.placements[a] = &v->placements[a];
  return f;
}

// Makes the frame cover another one. Where only one of them has extent 1, rows begin there at the latest.
bool dp_fuse_cover(const dp_graph *graph, frame *f, const frame *other) {
  bool extends[DP_MAX_RANK], extended[DP_MAX_RANK];  // (dims) this frame has extent 1 there, or the other one
  if (other->shape.rank != f->shape.rank || other->micro_first != f->micro_first ||
      other->micro_count != f->micro_count)
    return false;
  f->row = (int)dp_min_i64(f->row, other->row);
  f->channels |= other->channels;
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

// The frame of a node that works on channels: of the operand that has these in dim 1, and of its results with as many
// dims. Others are statistics of channels.
static bool frame_of_channels(const dp_graph *graph, const dp_node *node, frame *f) {
  *f = frame_of_value(graph, node->inputs[0]);
  f->channels = true;
  for (int k = 0; k < node->n_outputs; k++) {
    if (!node->outputs[k] || node->outputs[k]->type->shape.rank != f->shape.rank) continue;
    const frame result = frame_of_value(graph, node->outputs[k]);
    if (!dp_fuse_cover(graph, f, &result)) return false;
  }
  return true;
}

// The frame of a node by itself: of its results but for sums over rows, and of the operand that it takes rows of.
static bool frame_of(const dp_graph *graph, const dp_node *node, frame *f) {
  if (dp_op_is(node->op, DP_OP_CHANNELS)) return frame_of_channels(graph, node, f);
  const bool sums = node->op->row_beside_sums != NULL;
  *f = frame_of_value(graph, node->outputs[0]);
  for (int k = 1; k < node->n_outputs && !sums; k++) {
    if (!node->outputs[k]) continue;
    const frame result = frame_of_value(graph, node->outputs[k]);
    if (!dp_fuse_cover(graph, f, &result)) return false;
  }
  if (dp_op_is_pointwise(node->op)) return true;
  if (!node->inputs[0]) return false;
  const frame rows = frame_of_value(graph, node->inputs[0]);
  if (!dp_fuse_cover(graph, f, &rows)) return false;
  const int row = sums ? node->op->row_beside_sums(node, f->shape.rank) : dp_op_row(node, f->shape.rank);
  f->row = (int)dp_min_i64(f->row, row);
  return f->row > 0;
}

bool dp_fuse_is_good(const frame *f) {
  int64_t elements = 1;
  if (f->channels) return f->row == f->shape.rank;
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

// The types that kernels of regions compute in. Floats of 16 bits are converted as they are read and written.
static bool is_computed_in(const dp_value *v) {
  const uint32_t types = DP_UPCAST | DP_FLOATS;
  return (DP_BIT(v->type->dtype) & types) != 0;
}

bool dp_fuse_is_named(const dp_node *node, const char *domain, const char *name) {
  return node && !strcmp(node->op->domain, domain) && !strcmp(node->op->name, name);
}

bool dp_fuse_is_plain(const dp_node *node) {
  if (!node->logical || !node->n_outputs || node->n_waits || node->signal >= 0) return false;
  for (int k = 0; k < node->n_outputs; k++) {
    const dp_value *y = node->outputs[k];
    if (y ? y->space != DP_SPACE_TRANSIENT || !is_computed_in(y) : !k) return false;
  }
  return true;
}

static bool is_product(const dp_node *node) {
  return node && dp_op_is(node->op, DP_OP_PRODUCT) && dp_fuse_is_plain(node);
}

static bool is_convolution(const dp_node *node) {
  return dp_op_is(node->op, DP_OP_CONVOLUTION) && dp_fuse_is_plain(node);
}

static bool needs_whole_operands(const dp_node *node) {
  return dp_op_is(node->op, DP_OP_PRODUCT) || dp_op_is(node->op, DP_OP_CONVOLUTION);
}

static bool is_view(const dp_node *node) { return dp_op_is(node->op, DP_OP_VIEW) && dp_fuse_is_plain(node); }

// Whether the node works on channels, and the target's kernels do: each fits the cache.
static bool has_channels(const work *w, const dp_node *node) {
  if (!dp_op_is(node->op, DP_OP_CHANNELS) || !(w->channel_bytes > 0)) return false;
  const dp_value *x = node->inputs[0];
  const dp_mesh *mesh = &w->graph->model->mesh;
  double channels = (double)x->type->shape.dims[1].offset;
  for (int a = 0; a < mesh->n_axes; a++)
    if (x->placements[a].kind == DP_SHARD && x->placements[a].dim == 1) channels /= (double)mesh->axes[a].size;
  return dp_cost_model_bytes(w->graph->model, x) <= w->channel_bytes * channels;
}

// Whether the node makes rows in a way that the target's kernels of regions know.
static bool has_rows(const work *w, const dp_node *node) {
  return dp_op_is_pointwise(node->op) || node->op->row || (w->producers && node->op->row_beside_sums);
}

bool dp_fuse_can(const work *w, const dp_node *node, frame *f) {
  const bool channels = has_channels(w, node);
  if (w->gradient_casts && w->gradient_casts[node->id]) return false;
  if (!dp_fuse_is_plain(node) || (!has_rows(w, node) && !channels)) return false;
  if (!frame_of(w->graph, node, f) || !dp_fuse_is_good(f)) return false;
  for (int i = 0; i < node->n_inputs; i++) {
    const dp_value *x = node->inputs[i];
    if (!x) continue;
    const bool statistics = channels && x->type->shape.rank != f->shape.rank;
    if (!is_computed_in(x) || x->space == DP_SPACE_HOST_INPUT || !(statistics || fits(&x->type->shape, &f->shape)))
      return false;
  }
  return true;
}

// ---- groups ---------------------------------------------------------------------------------------------------------

static bool takes(const work *w, const group *g, const dp_node *node, frame *both) {
  return g->open && g->segment == w->segment[node->id] && dp_fuse_cover(w->graph, both, &g->frame) &&
         dp_fuse_is_good(both);
}

// Whether members of the group use some result of `node` as an operand, and do not only read a variable before it is
// overwritten, and none of them needs operands that are whole.
static bool feeds(work *w, const dp_node *node, int32_t g) {
  bool found = false;
  for (int32_t e = w->after.first[node->id]; e < w->after.first[node->id + 1]; e++) {
    const dp_node *user = w->graph->nodes[w->after.before[e]];
    if (dp_fuse_find(w, user->id) != g) continue;
    if (needs_whole_operands(user)) return false;
    for (int k = 0; k < user->n_inputs; k++) found |= user->inputs[k] && user->inputs[k]->producer == node;
  }
  return found;
}

// The group of the node's earliest user; -1: it has none.
static int32_t earliest(work *w, const dp_node *node) {
  int32_t found = -1;
  for (int32_t e = w->after.first[node->id]; e < w->after.first[node->id + 1]; e++) {
    const int32_t g = dp_fuse_find(w, w->after.before[e]);
    if (found < 0 || w->groups[g].depth > w->groups[found].depth) found = g;
  }
  return found;
}

// How a node may join the region of its users: with a frame of its own, or with that of the region, as what comes
// before rows; a convolution, before rows of single elements, which may lie in any layout.
static bool can_join(work *w, const dp_node *node, bool open, frame *own) {
  if (open) return true;
  const int32_t g = earliest(w, node);
  if (!w->producers || g < 0 || !w->groups[g].open) return false;
  *own = w->groups[g].frame;
  if (is_product(node)) return true;
  if (is_convolution(node)) return own->row == own->shape.rank;
  if (!is_view(node) || !is_product(node->inputs[0]->producer) || !dp_fuse_has_one_user(w, node->inputs[0]->producer))
    return false;
  *own = frame_of_value(w->graph, node->outputs[0]);
  return true;
}

static void add_node(work *w, const dp_node *node) {
  int32_t depth = -1, found = -1, n_members = 1, n_operands = node->n_inputs + node->n_outputs;
  const int32_t first = w->after.first[node->id], end = w->after.first[node->id + 1];
  for (int32_t e = first; e < end; e++)
    depth = (int32_t)dp_max_i64(depth, w->groups[dp_fuse_find(w, w->after.before[e])].depth);
  frame own = {0};
  const bool open = dp_fuse_can(w, node, &own);
  bool joins = can_join(w, node, open, &own);
  frame both = own;
  for (int32_t e = first; e < end && joins; e++) {
    const int32_t g = dp_fuse_find(w, w->after.before[e]);
    if (w->groups[g].depth < depth) continue;
    if (w->groups[g].seen_by == node->id) continue;
    joins = takes(w, &w->groups[g], node, &both) && feeds(w, node, g);
    w->groups[g].seen_by = node->id;
    n_members += w->groups[g].n_members;
    n_operands += w->groups[g].n_operands;
    found = g;
  }
  if (joins && found >= 0 && n_members <= DP_FUSE_MEMBERS && n_operands <= DP_FUSE_OPERANDS) {
    for (int32_t e = first; e < end; e++) {
      const int32_t g = dp_fuse_find(w, w->after.before[e]);
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
  w->segment = dp_regions_segments(w->graph, w->scratch);
  w->group_of = dp_alloc_n(w->scratch, (size_t)n + 1, sizeof *w->group_of);
  for (int32_t i = n; i-- > 0;) add_node(w, w->graph->nodes[i]);
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static dp_status fuse(dp_compile *compile, dp_graph *graph, dp_arena *scratch) {
  work w = {.graph = graph,
            .scratch = scratch,
            .producers = compile->options->target->producers,
            .channel_bytes = compile->options->target->channel_bytes};
  dp_regions_put_in_order(graph, scratch);
  if (compile->options->target->gradient_casts) w.gradient_casts = dp_gradient_casts(graph, scratch);
  w.before = dp_issue_order_edges_make(scratch, graph);
  w.after = dp_issue_order_edges_turn(scratch, &w.before, graph->n_nodes);
  find_groups(&w);
  if (w.producers) {
    dp_fuse_reductions(&w);
    dp_fuse_repeats(&w);
  }
  for (int32_t k = 0; k < graph->n_nodes; k++) w.group_of[k] = dp_fuse_find(&w, k);
  dp_regions_make(graph, scratch, w.n_groups, w.group_of);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  compile->unchanged = compile->options->no_fuse;
  return compile->unchanged ? DP_OK : dp_pass_each_graph(compile, fuse);
}

const dp_pass dp_pass_fuse = {
    .name = "fuse",
    .what = "nodes that work on the same rows become regions",
    .needs = DP_HAS_ROLES,
    .run = run,
};
