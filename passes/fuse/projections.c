// projections: attention becomes a region with the Split and the Reshapes that make its queries, keys and values, and
// its gradient with the Reshapes and the Concat behind it too. One product often makes all three, and takes their
// gradients together. Where the target's kernels read and write parts of such a tensor (dp_target.projections), what
// stands in between moves nothing.
//
// Attention and its gradient take the same parts. Each region divides the whole by itself, so that only the whole is
// kept from one to the other: nodes that others take too are copied.
#include "passes/base/pass.h"
#include "passes/fuse/groups.h"
#include "passes/fuse/regions.h"

enum { PARTS = 3, HEADS = 2 };  // Q, K, V; the dim of theirs from which on they are rows

typedef struct {
  dp_graph *graph;
  int32_t *uses;     // (values) as operands, outputs of the program, and what variables become
  dp_node **user;    // (values) the last node that takes it
  int32_t *segment;  // (nodes) the number of transfers between stages before it
  dp_value **map;    // (values) what the current attention's copies make; each itself between two
  int32_t *group;    // (nodes, copies) the attention whose region it belongs to: its own number, if it is in none
  int32_t n_order;
  dp_node **order;  // (nodes, copies) from the last to the first
  bool *unused;     // (nodes) of what attention took, and nobody takes any more
} work;

// The nodes between an attention's Q, K, V, or their gradients, and the whole. views: of each part, from the attention
// on.
typedef struct {
  dp_node *join;
  int n_views[PARTS];
  dp_node *views[PARTS][DP_PROJECTION_VIEWS];
} parts;

// ---- finding --------------------------------------------------------------------------------------------------------

static bool is_gradient(const dp_node *node) { return dp_fuse_is_named(node, "dp", "ScaledDotProductAttentionGrad"); }

static bool is_attention(const dp_node *node) {
  return is_gradient(node) || dp_fuse_is_named(node, "dp", "ScaledDotProductAttention");
}

// Whether the node computes, in the device's memory, what `like` does: of the same micro-batches.
static bool is_plain(const dp_node *node, const dp_node *like) {
  if (!dp_fuse_is_plain(node)) return false;
  for (int k = 0; k < node->n_outputs; k++) {
    const dp_value *y = node->outputs[k];
    if (y && (y->micro_first != like->outputs[0]->micro_first || y->micro_count != like->outputs[0]->micro_count))
      return false;
  }
  return true;
}

// The node that alone takes the value, once; NULL: there is none.
static dp_node *user_of(const work *w, const dp_value *v) { return w->uses[v->id] == 1 ? w->user[v->id] : NULL; }

// Whether the dims of `whole` from `axis` on are rows as long as the part's from `HEADS` on.
static bool is_row(const dp_value *part, const dp_value *whole, int axis) {
  dp_dim rows, row;
  return dp_shape_product(&part->type->shape, HEADS, part->type->shape.rank, &rows) &&
         dp_shape_product(&whole->type->shape, axis, whole->type->shape.rank, &row) && dp_dim_equal(rows, row) &&
         !dp_dim_is_symbolic(row);
}

static int axis_of(const dp_node *node, const dp_value *whole) {
  const int64_t axis = dp_node_int(node, "axis", 0);
  return (int)(axis < 0 ? axis + whole->type->shape.rank : axis);
}

static int count_of(dp_value *const values[PARTS], const dp_value *v) {
  int count = 0;
  for (int i = 0; i < PARTS; i++) count += values[i] == v;
  return count;
}

// Whether each end is one of the node's, which has no others, and each of the node's is one end. ends: of the parts,
// behind their views.
static bool are_all(const dp_node *attention, dp_value *const *attended, const dp_node *node, int count,
                    dp_value *const *own, dp_value *const *ends, const dp_value *whole) {
  if (count != PARTS || !is_plain(node, attention)) return false;
  for (int i = 0; i < PARTS; i++)
    if (count_of(own, ends[i]) != 1 || count_of(ends, own[i]) != 1 ||
        !is_row(attended[i], ends[i], axis_of(node, whole)))
      return false;
  return true;
}

static bool find_split(const dp_node *attention, parts *p) {
  dp_value *const *attended = attention->inputs + is_gradient(attention);
  dp_value *ends[PARTS];
  *p = (parts){0};
  for (int i = 0; i < PARTS; i++) {
    const dp_value *v = attended[i];
    while (v->producer && dp_op_is(v->producer->op, DP_OP_VIEW)) {
      if (p->n_views[i] == DP_PROJECTION_VIEWS || !is_plain(v->producer, attention)) return false;
      p->views[i][p->n_views[i]++] = v->producer;
      v = v->producer->inputs[0];
    }
    if (!v->producer || (i && v->producer != p->join)) return false;
    p->join = v->producer;
    ends[i] = p->join->outputs[v->result];
  }
  return dp_fuse_is_named(p->join, "", "Split") &&
         are_all(attention, attended, p->join, p->join->n_outputs, p->join->outputs, ends, p->join->inputs[0]);
}

static bool find_concat(const work *w, const dp_node *attention, parts *p) {
  dp_value *ends[PARTS];
  *p = (parts){0};
  for (int i = 0; i < PARTS; i++) {
    dp_value *v = attention->outputs[i];
    dp_node *user = v ? user_of(w, v) : NULL;
    for (; user && dp_op_is(user->op, DP_OP_VIEW); user = user_of(w, v)) {
      if (p->n_views[i] == DP_PROJECTION_VIEWS || !is_plain(user, attention)) return false;
      p->views[i][p->n_views[i]++] = user;
      v = user->outputs[0];
    }
    if (!user || (i && user != p->join) || w->segment[user->id] != w->segment[attention->id]) return false;
    p->join = user;
    ends[i] = v;
  }
  return dp_fuse_is_named(p->join, "", "Concat") &&
         are_all(attention, attention->outputs, p->join, p->join->n_inputs, p->join->inputs, ends, p->join->outputs[0]);
}

// ---- joining --------------------------------------------------------------------------------------------------------

static void take(work *w, dp_node *node, const dp_node *attention) { w->group[node->id] = attention->id; }

static void take_all(work *w, const parts *p, const dp_node *attention) {
  take(w, p->join, attention);
  for (int i = 0; i < PARTS; i++)
    for (int k = 0; k < p->n_views[i]; k++) take(w, p->views[i][k], attention);
}

// Whether the attention alone takes what these nodes make.
static bool is_alone(const work *w, dp_value *const *attended, const dp_node *attention, const parts *p) {
  bool alone = w->segment[p->join->id] == w->segment[attention->id];
  for (int i = 0; i < PARTS; i++) {
    alone &= w->uses[attended[i]->id] == 1;
    for (int k = 0; k < p->n_views[i]; k++) alone &= w->uses[p->views[i][k]->inputs[0]->id] == 1;
  }
  return alone;
}

static dp_node *copy(work *w, const dp_node *node, const dp_node *attention) {
  dp_node *made = dp_graph_copy_node_as(w->graph, node, "/again", w->map);
  take(w, made, attention);
  return made;
}

// One takes the value no more. What nobody takes is not computed, back to the join, which makes all results or none.
static void release(work *w, const dp_value *v, const dp_node *join) {
  dp_node *maker = v->producer;
  bool unused = --w->uses[v->id] == 0;
  for (int k = 0; k < maker->n_outputs; k++) unused &= !w->uses[maker->outputs[k]->id];
  w->unused[maker->id] = unused;
  if (unused && maker != join) release(w, maker->inputs[0], join);
}

// The attention takes copies, which stand before it.
static void take_copies(work *w, dp_value **attended, const dp_node *attention, const parts *p) {
  dp_node *made[1 + PARTS * DP_PROJECTION_VIEWS];
  int count = 0;
  made[count++] = copy(w, p->join, attention);
  for (int i = 0; i < PARTS; i++) {
    for (int k = p->n_views[i]; k-- > 0;) made[count++] = copy(w, p->views[i][k], attention);
    release(w, attended[i], p->join);
    attended[i] = w->map[attended[i]->id];
  }
  while (count) w->order[w->n_order++] = made[--count];
  for (int k = 0; k < PARTS; k++) w->map[p->join->outputs[k]->id] = p->join->outputs[k];
  for (int i = 0; i < PARTS; i++)
    for (int k = 0; k < p->n_views[i]; k++) w->map[p->views[i][k]->outputs[0]->id] = p->views[i][k]->outputs[0];
}

static void join(work *w, dp_node *attention) {
  dp_value **attended = attention->inputs + is_gradient(attention);
  parts p;
  if (!is_plain(attention, attention)) return;
  if (is_gradient(attention) && find_concat(w, attention, &p)) take_all(w, &p, attention);
  if (!find_split(attention, &p)) return;
  if (is_alone(w, attended, attention, &p))
    take_all(w, &p, attention);
  else
    take_copies(w, attended, attention, &p);
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static void count_uses(work *w) {
  const dp_graph *graph = w->graph;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++) {
      const dp_value *x = graph->nodes[i]->inputs[k];
      if (!x) continue;
      w->uses[x->id]++;
      w->user[x->id] = graph->nodes[i];
    }
  for (int i = 0; i < graph->n_outputs; i++) w->uses[graph->outputs[i].value->id] += 2;
  for (int i = 0; i < graph->n_updates; i++) w->uses[graph->updates[i].value->id] += 2;
}

// The nodes as they are to stand, without the unused ones. Returns their groups.
static int32_t *put_in_order(work *w, dp_arena *scratch) {
  dp_graph *graph = w->graph;
  const size_t n_order = (size_t)w->n_order + 1, n_values = (size_t)graph->n_values + 1;
  dp_node **order = dp_alloc_n(graph->arena, n_order, sizeof *order);
  int32_t *group_of = dp_alloc_n(scratch, n_order, sizeof *group_of), n = 0;
  bool *keep_node = dp_alloc_n(scratch, n_order, sizeof *keep_node);
  bool *keep_value = dp_alloc_n(scratch, n_values, sizeof *keep_value);
  for (int32_t v = 0; v < graph->n_values; v++) keep_value[v] = true;
  for (int32_t i = 0; i < w->n_order; i++) {
    dp_node *node = order[i] = w->order[w->n_order - 1 - i];
    keep_node[i] = !w->unused[node->id];
    if (keep_node[i]) group_of[n++] = w->group[node->id];
    for (int k = 0; k < node->n_outputs && !keep_node[i]; k++) keep_value[node->outputs[k]->id] = false;
  }
  dp_graph_reorder(graph, order);
  dp_graph_prune(graph, keep_node, keep_value);
  return group_of;
}

static dp_status run_graph(dp_compile *compile, dp_graph *graph, dp_arena *scratch) {
  (void)compile;
  int32_t n_attentions = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++) n_attentions += is_attention(graph->nodes[i]);
  graph->unchanged = !n_attentions;
  if (graph->unchanged) return DP_OK;
  dp_regions_put_in_order(graph, scratch);
  const int32_t n = graph->n_nodes, most = n + n_attentions * (1 + PARTS * DP_PROJECTION_VIEWS);
  const size_t n_values = (size_t)graph->n_values + 1;
  work w = {.graph = graph,
            .uses = dp_alloc_n(scratch, n_values, sizeof *w.uses),
            .user = dp_alloc_n(scratch, n_values, sizeof *w.user),
            .segment = dp_regions_segments(graph, scratch),
            .map = dp_alloc_n(scratch, n_values, sizeof *w.map),
            .group = dp_alloc_n(scratch, (size_t)most, sizeof *w.group),
            .order = dp_alloc_n(scratch, (size_t)most, sizeof *w.order),
            .unused = dp_alloc_n(scratch, (size_t)most, sizeof *w.unused)};
  count_uses(&w);
  for (int32_t v = 0; v < graph->n_values; v++) w.map[v] = graph->values[v];
  for (int32_t i = 0; i < most; i++) w.group[i] = i;
  for (int32_t i = n; i-- > 0;) {
    dp_node *node = graph->nodes[i];
    w.order[w.n_order++] = node;
    if (is_attention(node)) join(&w, node);
  }
  dp_regions_make(graph, scratch, most, put_in_order(&w, scratch));
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  compile->unchanged = compile->options->no_fuse || !compile->options->target->projections;
  return compile->unchanged ? DP_OK : dp_pass_each_graph(compile, run_graph);
}

const dp_pass dp_pass_projections = {
    .name = "projections",
    .what = "attention reads queries, keys and values where one product leaves them",
    .needs = DP_HAS_ROLES,
    .run = run,
};
