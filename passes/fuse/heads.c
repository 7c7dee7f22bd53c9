// heads: the product that makes the scores of a loss, the loss, its gradient and the products that take this become one
// region, whose kernel computes it for some rows after others (ir/kernel/head.h). So the scores of all rows, the
// largest values of a network with many classes, never exist at once.
//
// A head is found from its loss: the product that its scores come from, and then everything that uses scores or what is
// made of them, in the graph's order. It is one only if all of that can be computed in chunks, and if nothing outside
// stands between two of its nodes. The loss's gradient is computed where the loss is, which needs that the gradient of
// the loss itself depends on no score, as in every sum and mean.
#include "ir/kernel/head.h"
#include "passes/base/pass.h"
#include "passes/fuse/regions.h"
#include "passes/schedule/issue_order.h"

typedef struct {
  dp_graph *graph;
  dp_arena *scratch;
  dp_issue_order_edges before, after;
  bool *kept;         // (values) outputs of the program, and what variables become
  int32_t *group_of;  // (nodes)
  // Of one head.
  uint8_t *standing;   // (values) dp_head_standing
  uint8_t *is_member;  // (nodes)
  uint8_t *depends;    // (nodes) no member, and depends on one
  int n_members, n_pending, n_values;
  int32_t members[DP_HEAD_MEMBERS], values[DP_HEAD_VALUES];
  int32_t pending[DP_HEAD_MEMBERS];  // nodes that use what members make, not looked at yet
} work;

// ---- one member -----------------------------------------------------------------------------------------------------

static bool is_plain(const dp_node *node, const dp_node *like) {
  const dp_value *y = node->n_outputs ? node->outputs[0] : NULL;
  if (!node->logical || !y || node->n_waits || node->signal >= 0 || y->space != DP_SPACE_TRANSIENT) return false;
  for (int k = 1; k < node->n_outputs; k++)
    if (node->outputs[k]) return false;
  return y->micro_first == like->outputs[0]->micro_first && y->micro_count == like->outputs[0]->micro_count;
}

static bool set_standing(work *w, const dp_value *v, dp_head_standing standing) {
  if (!w->standing[v->id]) {
    if (w->n_values == DP_HEAD_VALUES) return false;
    w->values[w->n_values++] = v->id;
  }
  w->standing[v->id] = (uint8_t)standing;
  return true;
}

// Whether rows that are read together with the result's have its extents.
static bool fits(const work *w, const dp_node *node) {
  const dp_shape *y = &node->outputs[0]->type->shape;
  for (int i = 0; i < node->n_inputs; i++) {
    const dp_value *x = node->inputs[i];
    if (!x) continue;
    const dp_shape *shape = &x->type->shape;
    if (x->space == DP_SPACE_HOST_INPUT) return false;
    if (w->standing[x->id] != DP_HEAD_ROWS) continue;
    if (dp_op_is_pointwise(node->op) && !dp_shape_equal(shape, y)) return false;
    if (dp_op_is(node->op, DP_OP_VIEW) &&
        (shape->rank < 2 || y->rank < 2 || !dp_dim_equal(shape->dims[shape->rank - 1], y->dims[y->rank - 1])))
      return false;
  }
  return true;
}

// Labels that are refused are named by where they stand, which a chunk knows if they are one range of the batch.
static bool is_one_range(const dp_graph *graph, const dp_value *labels) {
  for (int a = 0; a < graph->model->mesh.n_axes; a++)
    if (labels->placements[a].kind == DP_SHARD && labels->placements[a].outer != 1) return false;
  return true;
}

static bool uses(const dp_node *node, const dp_value *v) {
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] == v) return true;
  return false;
}

static bool add_users(work *w, const dp_node *node) {
  for (int32_t e = w->after.first[node->id]; e < w->after.first[node->id + 1]; e++) {
    const int32_t user = w->after.before[e];
    bool known = w->is_member[user] || !uses(w->graph->nodes[user], node->outputs[0]);
    for (int i = 0; i < w->n_pending; i++) known |= w->pending[i] == user;
    if (known) continue;
    if (w->n_pending == DP_HEAD_MEMBERS) return false;
    w->pending[w->n_pending++] = user;
  }
  return true;
}

static bool add_member(work *w, const dp_node *node) {
  const dp_node *first = w->n_members ? w->graph->nodes[w->members[0]] : node;
  dp_head_member m = {.op = node->op, .node = node, .n_inputs = node->n_inputs};
  if (!is_plain(node, first) || w->n_members == DP_HEAD_MEMBERS || node->n_inputs > DP_MAX_OPERANDS) return false;
  for (int i = 0; i < node->n_inputs; i++) {
    const dp_value *x = node->inputs[i];
    m.rank[i] = x ? x->type->shape.rank : -1;
    m.inputs[i] = x ? (dp_head_standing)w->standing[x->id] : DP_HEAD_UNKNOWN;
  }
  if (!dp_head_takes(&m)) return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] && !set_standing(w, node->inputs[i], m.inputs[i])) return false;
  if (!set_standing(w, node->outputs[0], m.output) || !fits(w, node)) return false;
  if (dp_head_is_loss(node->op) && !is_one_range(w->graph, node->inputs[1])) return false;
  w->is_member[node->id] = true;
  w->members[w->n_members++] = node->id;
  return true;
}

// ---- a head ---------------------------------------------------------------------------------------------------------

// Whether users of the node's result belong to the head: of scores, and of rows as long. What a product or a sum makes
// of them is small.
static bool leads_on(const work *w, const dp_node *node) {
  const dp_value *y = node->outputs[0], *scores = w->graph->nodes[w->members[0]]->outputs[0];
  const dp_shape *of = &y->type->shape, *all = &scores->type->shape;
  if (y == scores) return true;
  return w->standing[y->id] == DP_HEAD_ROWS && !dp_op_is(node->op, DP_OP_PRODUCT) && of->rank > 1 &&
         dp_dim_equal(of->dims[of->rank - 1], all->dims[all->rank - 1]);
}

// The first node of those that wait; it is taken off.
static int32_t next_pending(work *w) {
  int first = 0;
  for (int i = 1; i < w->n_pending; i++)
    if (w->pending[i] < w->pending[first]) first = i;
  const int32_t node = w->pending[first];
  w->pending[first] = w->pending[--w->n_pending];
  return node;
}

static bool grow(work *w, const dp_node *product) {
  if (!add_member(w, product)) return false;
  for (const dp_node *node = product;; node = w->graph->nodes[next_pending(w)]) {
    if (node != product && !add_member(w, node)) return false;
    if (leads_on(w, node) && (w->kept[node->outputs[0]->id] || !add_users(w, node))) return false;
    if (!w->n_pending) return true;
  }
}

// Whether some node outside depends on a member, and a member on it.
static bool is_crossed(work *w) {
  const int32_t first = w->members[0], last = w->members[w->n_members - 1];
  bool crossed = false;
  for (int32_t i = first; i <= last; i++) {
    bool depends = false;
    for (int32_t e = w->before.first[i]; e < w->before.first[i + 1]; e++) {
      const int32_t b = w->before.before[e];
      depends |= b >= first && (w->depends[b] || (w->is_member[b] && !w->is_member[i]));
    }
    crossed |= depends && w->is_member[i];
    w->depends[i] = depends;
  }
  for (int32_t i = first; i <= last; i++) w->depends[i] = false;
  return crossed;
}

static void forget(work *w) {
  for (int i = 0; i < w->n_values; i++) w->standing[w->values[i]] = DP_HEAD_UNKNOWN;
  for (int i = 0; i < w->n_members; i++) w->is_member[w->members[i]] = false;
  w->n_members = w->n_pending = w->n_values = 0;
}

// ---- finding them ---------------------------------------------------------------------------------------------------

// The product that makes the scores of a loss; NULL: none does, or they are not large.
static const dp_node *product_of(const dp_graph *graph, const dp_node *loss, double bytes) {
  if (!dp_head_is_loss(loss->op) || dp_cost_model_bytes(graph->model, loss->inputs[0]) < bytes) return NULL;
  const dp_node *node = loss->inputs[0]->producer;
  while (node && (dp_op_is(node->op, DP_OP_VIEW) || dp_op_is_pointwise(node->op)))
    node = node->n_inputs && node->inputs[0] ? node->inputs[0]->producer : NULL;
  if (!node || !dp_op_is(node->op, DP_OP_PRODUCT) || node->n_inputs < 2 || !node->inputs[1]) return NULL;
  // Every chunk reads the weights, so there have to be fewer of them than scores.
  const double scores = dp_cost_model_bytes(graph->model, node->outputs[0]);
  return scores >= 2 * dp_cost_model_bytes(graph->model, node->inputs[1]) ? node : NULL;
}

static bool has_candidates(const dp_graph *graph, double bytes) {
  for (int32_t i = 0; i < graph->n_nodes; i++)
    if (product_of(graph, graph->nodes[i], bytes)) return true;
  return false;
}

static void find_heads(work *w, double bytes) {
  for (int32_t i = 0; i < w->graph->n_nodes; i++) w->group_of[i] = i;
  for (int32_t i = 0; i < w->graph->n_nodes; i++) {
    const dp_node *product = product_of(w->graph, w->graph->nodes[i], bytes);
    if (!product || w->group_of[i] != i) continue;
    if (grow(w, product) && w->is_member[i] && !is_crossed(w))
      for (int m = 0; m < w->n_members; m++) w->group_of[w->members[m]] = product->id;
    forget(w);
  }
}

static dp_status run_graph(dp_compile *compile, dp_graph *graph, dp_arena *scratch) {
  const double bytes = compile->options->target->chunk_bytes;
  graph->unchanged = !has_candidates(graph, bytes);
  if (graph->unchanged) return DP_OK;
  const size_t n_nodes = (size_t)graph->n_nodes + 1, n_values = (size_t)graph->n_values + 1;
  work w = {.graph = graph,
            .scratch = scratch,
            .kept = dp_alloc_n(scratch, n_values, sizeof(bool)),
            .group_of = dp_alloc_n(scratch, n_nodes, sizeof(int32_t)),
            .standing = dp_alloc_n(scratch, n_values, sizeof(uint8_t)),
            .is_member = dp_alloc_n(scratch, n_nodes, sizeof(uint8_t)),
            .depends = dp_alloc_n(scratch, n_nodes, sizeof(uint8_t))};
  dp_regions_put_in_order(graph, scratch);
  w.before = dp_issue_order_edges_make(scratch, graph);
  w.after = dp_issue_order_edges_turn(scratch, &w.before, graph->n_nodes);
  for (int i = 0; i < graph->n_outputs; i++) w.kept[graph->outputs[i].value->id] = true;
  for (int i = 0; i < graph->n_updates; i++) w.kept[graph->updates[i].value->id] = true;
  find_heads(&w, bytes);
  dp_regions_make(graph, scratch, graph->n_nodes, w.group_of);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  compile->unchanged = compile->options->no_fuse || !(compile->options->target->chunk_bytes > 0);
  return compile->unchanged ? DP_OK : dp_pass_each_graph(compile, run_graph);
}

const dp_pass dp_pass_heads = {
    .name = "heads",
    .what = "products and losses of many classes become regions that are computed in chunks",
    .needs = DP_HAS_ROLES,
    .run = run,
};
