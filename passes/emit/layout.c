// layout: images in 16 bits lie channels-last, in NHWC, around convolutions, for targets whose convolutions gain by it,
// and so do the weights of these convolutions, wherever they are: as variables, in 16 bits, as gradients, as state.
//
// A value of rank 4 in 16 bits may lie so if it is on a device: what comes from the host or goes to it is plain, and so
// is what stages of a pipeline send each other. Such values begin in NHWC where nodes connect them with a convolution.
// Where no kernel takes a node's operands and results as they lie, those in NHWC become plain, and so on until each
// node has a kernel. What devices exchange keeps its layout. What is then connected with no convolution in NHWC becomes
// plain too. No node converts one layout into the other by itself: kernels of elementwise nodes take each operand and
// result as it lies, so that the Cast of a weight that is plain makes it NHWC, and that of its gradient makes it plain.
//
// Weights (layout_weights.c) go the same way, with all graphs together, as a variable has one layout for all of them.
// They gain only if nothing turns them: where a node has tensors of a weight's shape and one of them is plain, those
// that are weights become plain.
#include <string.h>

#include "passes/base/pass.h"
#include "passes/emit/kernels.h"
#include "passes/emit/layout_work.h"

static bool is_image(const dp_value *v) {
  return v->kind == DP_VALUE_RESULT && (v->space == DP_SPACE_TRANSIENT || v->space == DP_SPACE_OFFLOAD) &&
         v->type.shape.rank == 4 && (v->type.dtype == DP_BFLOAT16 || v->type.dtype == DP_FLOAT16);
}

// Planes of one element lie alike in both layouts.
static bool has_planes(const dp_value *v) {
  return !dp_dim_is(v->type.shape.dims[2], 1) || !dp_dim_is(v->type.shape.dims[3], 1);
}

static bool is_one_of(const dp_node *node, const char *const *names) {
  while (*names && strcmp(node->op->name, *names)) names++;
  return *names != NULL;
}

static bool is_convolution(const dp_node *node) {
  static const char *const names[] = {"Conv", "ConvGradInput", "ConvGradWeight", NULL};
  for (int32_t m = 0; node->body && m < node->body->n_nodes; m++)
    if (is_one_of(node->body->nodes[m], names)) return true;
  return is_one_of(node, names);
}

static bool is_between_stages(const dp_node *node) {
  static const char *const names[] = {"Send", "Recv", NULL};
  return is_one_of(node, names);
}

// What goes to the host, and what stages send each other.
static void find_bound(dp_layout_work *w) {
  const dp_graph *graph = w->graph;
  for (int i = 0; i < graph->n_outputs; i++) w->bound[graph->outputs[i].value->id] = true;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; is_between_stages(graph->nodes[i]) && k < dp_layout_ends(graph->nodes[i]); k++)
      if (dp_layout_end(graph->nodes[i], k)) w->bound[dp_layout_end(graph->nodes[i], k)->id] = true;
}

static bool has_images(const dp_node *node) {
  for (int k = 0; k < dp_layout_ends(node); k++)
    if (dp_layout_end(node, k) && dp_layout_end(node, k)->layout != DP_LAYOUT_PLAIN) return true;
  return false;
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static bool may_be_nhwc(const dp_layout_work *w, const dp_value *v) {
  return w->weight[v->id] || (w->variable_of[v->id] < 0 && is_image(v) && !w->bound[v->id]);
}

static bool is_nhwc(const dp_layout_work *w, const dp_value *v) {
  (void)w;
  return v->layout == DP_LAYOUT_NHWC;
}

// What nodes connect with a convolution.
static void begin(dp_layout_work *works, int n_works) {
  for (int g = 0; g < n_works; g++)
    for (int32_t i = 0; i < works[g].graph->n_nodes; i++)
      if (is_convolution(works[g].graph->nodes[i])) dp_layout_open(&works[g], i);
  dp_layout_walk(works, n_works, may_be_nhwc);
  for (int g = 0; g < n_works; g++)
    for (int32_t v = 0; v < works[g].graph->n_values; v++)
      works[g].graph->values[v]->layout = works[g].reached[v] ? DP_LAYOUT_NHWC : DP_LAYOUT_PLAIN;
}

// Inside a region with images in NHWC others lie so too, whatever their type, and what its convolutions make.
static void lay_inside(const dp_node *region) {
  const bool nhwc = has_images(region);
  for (int32_t v = 0; region->body && v < region->body->n_values; v++) {
    dp_value *inside = region->body->values[v];
    const bool image = inside->kind == DP_VALUE_RESULT && inside->type.shape.rank == 4 &&
                       (has_planes(inside) || is_convolution(inside->producer));
    inside->layout = nhwc && image ? DP_LAYOUT_NHWC : DP_LAYOUT_PLAIN;
  }
  for (int i = 0; region->body && i < region->body->n_outputs; i++)
    region->body->outputs[i].value->layout = DP_LAYOUT_PLAIN;  // that of the region's result is heeded
}

static bool has_kernel(const dp_layout_work *w, const dp_node *node) {
  lay_inside(node);
  const dp_kernel_spec spec = dp_kernels_spec(w->compile, w->threads, w->scratch, node);
  return dp_kernels_select(w->compile, &spec) != NULL;
}

static void make_plain(dp_layout_work *w, dp_value *v) {
  if (v && v->layout != DP_LAYOUT_PLAIN) dp_layout_set(w, v, DP_LAYOUT_PLAIN);
}

static void settle_communication(dp_layout_work *w, const dp_node *node) {
  for (int k = 0; k < node->n_inputs; k++) {
    dp_value *from = node->inputs[k], *to = dp_layout_moved_to(node, k);
    if (!to || from->layout == to->layout) continue;
    make_plain(w, from);
    make_plain(w, to);
  }
}

// An update's old and new values lie alike, and in NHWC only if the gradient does too.
static void settle_update(dp_layout_work *w, const dp_node *node, const dp_layout_end_role *roles) {
  const int count = dp_layout_ends(node);
  for (int k = 0; k < count; k++)
    if (roles[k].group >= 0) w->touched[roles[k].group] = false;
  for (int k = 0; k < count; k++)
    if (roles[k].group >= 0 && dp_layout_end(node, k)->layout == DP_LAYOUT_PLAIN) w->touched[roles[k].group] = true;
  for (int k = 0; k < count; k++)
    if (roles[k].group >= 0 && roles[k].stored && w->touched[roles[k].group]) make_plain(w, dp_layout_end(node, k));
}

// Whether the node has a float tensor of that shape that is plain. Others say which elements of a gradient are finite,
// and are small.
static bool has_plain(const dp_node *node, const dp_shape *shape) {
  for (int k = 0; k < dp_layout_ends(node); k++) {
    const dp_value *v = dp_layout_end(node, k);
    if (v && v->layout == DP_LAYOUT_PLAIN && dp_type_is_float(v->type.dtype) && dp_shape_equal(&v->type.shape, shape))
      return true;
  }
  return false;
}

static void settle_weights(dp_layout_work *w, const dp_node *node) {
  for (int k = 0; k < dp_layout_ends(node); k++) {
    dp_value *v = dp_layout_end(node, k);
    if (v && w->weight[v->id] && v->layout != DP_LAYOUT_PLAIN && has_plain(node, &v->type.shape)) make_plain(w, v);
  }
}

static void settle_node(dp_layout_work *w, const dp_node *node) {
  if (dp_op_is(node->op, DP_OP_COMMUNICATION)) {
    settle_communication(w, node);
    return;
  }
  if (w->roles[node->id])
    settle_update(w, node, w->roles[node->id]);
  else
    settle_weights(w, node);
  if (!has_images(node) || has_kernel(w, node)) return;
  for (int k = 0; k < dp_layout_ends(node); k++) make_plain(w, dp_layout_end(node, k));
}

static void settle(dp_layout_work *works, int n_works) {
  for (int g = 0; g < n_works; g++)
    for (int32_t i = 0; i < works[g].graph->n_nodes; i++)
      if (has_images(works[g].graph->nodes[i])) dp_layout_open(&works[g], i);
  for (bool again = true; again;) {
    again = false;
    for (int g = 0; g < n_works; g++)
      for (; works[g].n_open; again = true) settle_node(&works[g], dp_layout_take(&works[g]));
  }
}

// Keeps what is connected with a convolution in NHWC.
static void end(dp_layout_work *works, int n_works) {
  for (int g = 0; g < n_works; g++)
    for (int32_t i = 0; i < works[g].graph->n_nodes; i++)
      if (is_convolution(works[g].graph->nodes[i]) && has_images(works[g].graph->nodes[i]))
        dp_layout_open(&works[g], i);
  dp_layout_walk(works, n_works, is_nhwc);
  for (int g = 0; g < n_works; g++)
    for (int32_t v = 0; v < works[g].graph->n_values; v++)
      if (!works[g].reached[v]) works[g].graph->values[v]->layout = DP_LAYOUT_PLAIN;
}

static bool fits(const dp_layout_work *w, const dp_node *node) {
  if (!dp_op_is(node->op, DP_OP_COMMUNICATION)) return has_kernel(w, node);
  for (int k = 0; k < node->n_inputs; k++)
    if (dp_layout_moved_to(node, k) && node->inputs[k]->layout != dp_layout_moved_to(node, k)->layout) return false;
  return true;
}

// Planes of one element are plain where kernels take them so, and can then be reshaped where they are.
static void spare_single(const dp_layout_work *w) {
  for (int32_t i = 0; i < w->graph->n_values; i++) {
    dp_value *v = w->graph->values[i];
    if (v->layout == DP_LAYOUT_PLAIN || has_planes(v)) continue;
    v->layout = DP_LAYOUT_PLAIN;
    bool all = fits(w, v->producer);
    for (int32_t u = w->first[v->id]; u < w->first[v->id + 1] && all; u++) all = fits(w, w->graph->nodes[w->users[u]]);
    if (!all) v->layout = DP_LAYOUT_NHWC;
  }
}

static void choose(dp_layout_work *works, int n_works) {
  for (int g = 0; g < n_works; g++) {
    dp_layout_begin(&works[g]);
    find_bound(&works[g]);
  }
  dp_layout_find_weights(works, n_works);
  begin(works, n_works);
  settle(works, n_works);
  end(works, n_works);
  for (int g = 0; g < n_works; g++) {
    spare_single(&works[g]);
    for (int32_t i = 0; i < works[g].graph->n_nodes; i++) lay_inside(works[g].graph->nodes[i]);
    works[g].graph->unchanged = true;
  }
}

static dp_status choose_all(void *arg) {
  dp_layout_work *first = arg;
  dp_model *model = first->compile->model;
  dp_layout_work *works = dp_alloc_n(first->scratch, (size_t)model->n_graphs, sizeof *works);
  first->variables = dp_alloc_n(first->scratch, (size_t)model->n_variables, sizeof *first->variables);
  for (int g = 0; g < model->n_graphs; g++) {
    works[g] = *first;
    works[g].graph = model->graphs[g];
  }
  choose(works, model->n_graphs);
  for (int32_t p = 0; p < model->n_variables; p++)
    if (first->variables[p].n_uses) model->variables[p].layout = first->variables[p].uses[0].value->layout;
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  const char *asked = compile->options->layout;
  compile->unchanged = !compile->options->target->channels_last || (asked && !strcmp(asked, "plain"));
  if (compile->unchanged) return DP_OK;
  dp_arena *scratch = dp_arena_create(0);
  if (!scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
  dp_layout_work first = {.compile = compile, .scratch = scratch, .threads = dp_kernels_threads(compile)};
  dp_status status = dp_arena_run(scratch, choose_all, &first);
  dp_arena_destroy(scratch);
  return status;
}

const dp_pass dp_pass_layout = {
    .name = "layout",
    .what = "images in 16 bits, and weights, lie channels-last around convolutions",
    .needs = DP_HAS_STREAMS,
    .run = run,
};
