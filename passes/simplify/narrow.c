// narrow: what only moves elements moves the narrower ones. A Cast to a wider float goes behind it, one to a narrower
// float before it. Where models of 16 bits turn positions in float32, halves of rows are divided and joined in 16 bits.
//
// A Cast to a narrower float and one back right behind it stay together: so --comm-precision says in which type a
// gradient is added up (passes/place/rules.c).
#include "ir/graph/builder.h"
#include "passes/base/pass.h"
#include "passes/simplify/rewrite.h"

enum { MOST_VIEWS = 8 };  // between a Cast and what moves

typedef struct {
  dp_graph *graph;
  dp_arena *scratch;
  dp_rewrite rewrite;
  dp_builder builder;
  int32_t *uses;   // by id: how often nodes, outputs and updates name the value
  bool *rises;     // by id: a Cast makes it wider
  int32_t n_uses;  // what was added since has no entry
} narrowing;

static bool is_view(const dp_node *node) { return node && dp_op_is(node->op, DP_OP_VIEW) && !node->n_constraints; }

// The maker of a value that has no other user than the one at hand; NULL: it has, or there is none.
static dp_node *only_for(const narrowing *w, const dp_value *x) {
  return x->id < w->n_uses && w->uses[x->id] == 1 ? x->producer : NULL;
}

static bool widens(const dp_node *node) { return dp_op_widening(node) > 0 && !node->n_constraints; }

static bool narrows(const dp_node *node) { return dp_op_widening(node) < 0 && !node->n_constraints; }

// `made` with the views that lead from the result of `from` to x. One by one: where N stands twice, the first shape and
// the last may not be comparable.
static dp_value *with_views(narrowing *w, dp_value *made, const dp_node *from, const dp_value *x) {
  const dp_shape *shapes[MOST_VIEWS];
  int count = 0;
  for (; x->producer != from; x = x->producer->inputs[0]) shapes[count++] = &x->type->shape;
  while (count-- > 0) made = dp_build_reshape(&w->builder, made, shapes[count]);
  return made;
}

// ---- a Cast to a wider type, before what moves ----------------------------------------------------------------------

// The Cast that x, or what x is a view of, comes from, if it only serves x; NULL: there is none.
static const dp_node *widened(const narrowing *w, const dp_value *x) {
  const dp_node *node = only_for(w, x);
  for (int i = 0; is_view(node) && i < MOST_VIEWS; i++) node = only_for(w, node->inputs[0]);
  return widens(node) && !narrows(node->inputs[0]->producer) ? node : NULL;
}

// The operand of x's Cast, with the views that follow that.
static dp_value *before_cast(narrowing *w, dp_value *x) {
  const dp_node *cast = widened(w, x);
  return with_views(w, cast->inputs[0], cast, x);
}

static bool takes_narrow(const narrowing *w, const dp_node *node) {
  if (!dp_rewrite_is(node, "Split") && !dp_rewrite_is(node, "Slice") && !dp_rewrite_is(node, "Transpose") &&
      !dp_rewrite_is(node, "Concat"))
    return false;
  const dp_node *first = node->inputs[0] ? widened(w, node->inputs[0]) : NULL;
  for (int k = 0; k < node->n_inputs; k++) {
    const dp_node *cast = node->inputs[k] ? widened(w, node->inputs[k]) : NULL;
    if (!cast || cast->inputs[0]->type->dtype != first->inputs[0]->type->dtype) return false;
  }
  return true;
}

// The same node on what the Casts read, with a Cast of each result.
static void widen_behind(narrowing *w, const dp_node *node) {
  dp_value **inputs = dp_alloc_n(w->scratch, (size_t)node->n_inputs, sizeof *inputs);
  for (int k = 0; k < node->n_inputs; k++) inputs[k] = before_cast(w, node->inputs[k]);
  const dp_node *moved =
      dp_build(&w->builder, node->op->name, node->n_inputs, inputs, node->n_outputs, node->n_attrs, node->attrs)
          ->producer;
  for (int k = 0; k < node->n_outputs && !w->builder.status; k++)
    if (node->outputs[k])
      dp_rewrite_replace(&w->rewrite, node->outputs[k],
                         dp_build_cast(&w->builder, moved->outputs[k], node->outputs[k]->type->dtype));
}

// ---- a Cast to a narrower type, behind what moves -------------------------------------------------------------------

// What moves, and serves only the Cast, perhaps through views; NULL: there is none.
static const dp_node *moved_before(const narrowing *w, const dp_node *cast) {
  if (!narrows(cast) || cast->outputs[0]->id >= w->n_uses || w->rises[cast->outputs[0]->id]) return NULL;
  const dp_node *node = only_for(w, cast->inputs[0]);
  for (int i = 0; is_view(node) && i < MOST_VIEWS; i++) node = only_for(w, node->inputs[0]);
  return dp_rewrite_is(node, "Transpose") || dp_rewrite_is(node, "Concat") ? node : NULL;
}

static void narrow_before(narrowing *w, const dp_node *cast, const dp_node *node) {
  dp_value **inputs = dp_alloc_n(w->scratch, (size_t)node->n_inputs, sizeof *inputs);
  for (int k = 0; k < node->n_inputs; k++)
    inputs[k] = dp_build_cast(&w->builder, node->inputs[k], cast->outputs[0]->type->dtype);
  dp_value *moved = dp_build(&w->builder, node->op->name, node->n_inputs, inputs, 1, node->n_attrs, node->attrs);
  moved = with_views(w, moved, node, cast->inputs[0]);
  if (!w->builder.status) dp_rewrite_replace(&w->rewrite, cast->outputs[0], moved);
}

// ---- the walk -------------------------------------------------------------------------------------------------------

static void count_uses(narrowing *w) {
  const dp_graph *graph = w->graph;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    for (int k = 0; k < node->n_inputs; k++)
      if (node->inputs[k]) w->uses[node->inputs[k]->id]++;
    if (widens(node)) w->rises[node->inputs[0]->id] = true;
  }
  for (int i = 0; i < graph->n_outputs; i++) w->uses[graph->outputs[i].value->id]++;
  for (int i = 0; i < graph->n_updates; i++) w->uses[graph->updates[i].value->id]++;
}

static bool rewrite_node(narrowing *w, const dp_node *node) {
  if (takes_narrow(w, node)) {
    widen_behind(w, node);
    return true;
  }
  const dp_node *mover = moved_before(w, node);
  if (mover) narrow_before(w, node, mover);
  return mover;
}

static dp_status narrow_all(dp_graph *graph, dp_arena *scratch) {
  const int32_t n_old = graph->n_nodes;
  narrowing w = {.graph = graph, .scratch = scratch, .rewrite = dp_rewrite_begin(graph), .n_uses = graph->n_values};
  w.uses = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof *w.uses);
  w.rises = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof *w.rises);
  count_uses(&w);
  dp_node **order = NULL;
  int32_t count = 0;
  for (int32_t i = 0; i < n_old && !w.builder.status; i++) {
    dp_node *node = graph->nodes[i];
    const int32_t first = graph->n_nodes;
    dp_rewrite_operands(&w.rewrite, node);
    w.builder = (dp_builder){.graph = graph, .prefix = node->name};
    if (rewrite_node(&w, node))
      dp_rewrite_drop(&w.rewrite, node);
    else
      DP_PUSH(scratch, order, count, node);
    dp_rewrite_follow(graph, first, node);
    for (int32_t k = first; k < graph->n_nodes; k++) DP_PUSH(scratch, order, count, graph->nodes[k]);
  }
  if (w.builder.status) return w.builder.status;
  graph->unchanged = dp_rewrite_did_nothing(&w.rewrite);
  dp_rewrite_end(&w.rewrite);
  if (!graph->unchanged) dp_graph_reorder(graph, order);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  dp_arena *scratch = dp_arena_create(0);
  if (!scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
  dp_status status = DP_OK;
  for (int i = 0; i < compile->model->n_graphs && !status; i++) status = narrow_all(compile->model->graphs[i], scratch);
  dp_arena_destroy(scratch);
  return status;
}

const dp_pass dp_pass_narrow = {
    .name = "narrow",
    .what = "what only moves elements moves the narrower ones",
    .needs = DP_HAS_PROGRAMS,
    .run = run,
};
