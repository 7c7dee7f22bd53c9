// layout: around convolutions images lie as these gain by, on targets that say so: in 16 bits channels-last, in NHWC,
// and so do the weights of these convolutions, wherever they are: as variables, in 16 bits, as gradients, as state; in
// plans for inference images in float32 lie in blocks of channels.
//
// An image may lie so if it is on a device: what comes from the host or goes to it is plain. What stages of a pipeline
// send each other lies alike on both (layout_shares.c). Images begin in that layout where nodes connect them with a
// convolution. Where no kernel takes a node's operands and results as they lie, they become plain, and so on until each
// node has a kernel. What devices exchange keeps its layout. What is then connected with no convolution that has
// another layout becomes plain too. No node converts one layout into the other by itself. Of NHWC, kernels of
// elementwise nodes take each operand and result as it lies, so that the Cast of a weight that is plain makes it NHWC,
// and that of its gradient makes it plain. Of blocks, convolutions do: they read plain images and write blocks, or read
// blocks and write a plain image.
//
// Weights in NHWC (layout_weights.c) go the same way, with all graphs together, as a variable has one layout for all of
// them. They gain only if nothing turns them: where a node has tensors of a weight's shape and one of them is plain,
// those that are weights become plain.
#include <string.h>

#include "passes/base/pass.h"
#include "passes/cost/largest_shard.h"
#include "passes/emit/kernels.h"
#include "passes/emit/layout_work.h"

// Whether the layout is one for a value of these extents.
static bool has_room(const dp_layout_work *w, const dp_value *v) {
  const int64_t block = dp_layout_block(w->layout);
  if (!block) return v->type->shape.rank == 4;
  const dp_local shard = dp_largest_shard_of(w->compile->model, v);
  dp_local plain;
  return dp_local_in_blocks(&shard, block, &plain);
}

static bool is_image(const dp_layout_work *w, const dp_value *v) {
  const uint32_t types = dp_layout_block(w->layout) ? DP_BIT(DP_FLOAT32) : DP_BIT(DP_BFLOAT16) | DP_BIT(DP_FLOAT16);
  return v->kind == DP_VALUE_RESULT && (v->space == DP_SPACE_TRANSIENT || v->space == DP_SPACE_OFFLOAD) &&
         DP_BIT(v->type->dtype) & types && has_room(w, v);
}

// Planes of one element lie alike in all layouts.
static bool has_planes(const dp_value *v) {
  return !dp_dim_is(v->type->shape.dims[2], 1) || !dp_dim_is(v->type->shape.dims[3], 1);
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

// What goes to the host.
static void find_bound(dp_layout_work *w) {
  for (int i = 0; i < w->graph->n_outputs; i++) w->bound[w->graph->outputs[i].value->id] = true;
}

static bool may_turn(const dp_layout_work *w, const dp_value *v) {
  return w->weight[v->id] || (is_image(w, v) && !w->bound[v->id]);
}

// Values that have one layout are bound together.
static void bind_shares(const dp_layout_shares *shares) {
  for (int32_t s = 0; s < shares->count; s++) {
    const dp_layout_share *share = &shares->all[s];
    bool all = true;
    for (int i = 0; i < share->n_uses; i++) all = all && may_turn(share->uses[i].work, share->uses[i].value);
    for (int i = 0; i < share->n_uses && !all; i++) {
      share->uses[i].work->bound[share->uses[i].value->id] = true;
      share->uses[i].work->weight[share->uses[i].value->id] = false;
    }
  }
}

static bool has_images(const dp_node *node) {
  for (int k = 0; k < dp_layout_ends(node); k++)
    if (dp_layout_end(node, k) && dp_layout_end(node, k)->layout != DP_LAYOUT_PLAIN) return true;
  return false;
}

// ---- the pass -------------------------------------------------------------------------------------------------------

static bool is_turned(const dp_layout_work *w, const dp_value *v) {
  (void)w;
  return v->layout != DP_LAYOUT_PLAIN;
}

// What nodes connect with a convolution.
static void begin(dp_layout_work *works, int n_works) {
  for (int g = 0; g < n_works; g++)
    for (int32_t i = 0; i < works[g].graph->n_nodes; i++)
      if (is_convolution(works[g].graph->nodes[i])) dp_layout_open(&works[g], i);
  dp_layout_walk(works, n_works, may_turn);
  for (int g = 0; g < n_works; g++)
    for (int32_t v = 0; v < works[g].graph->n_values; v++)
      works[g].graph->values[v]->layout = works[g].reached[v] ? works[g].layout : DP_LAYOUT_PLAIN;
}

// Whether a member takes and makes images in one layout, also where their planes have one element.
static bool has_channels(const dp_node *region) {
  for (int32_t m = 0; region->body && m < region->body->n_nodes; m++)
    if (dp_op_is(region->body->nodes[m]->op, DP_OP_CHANNELS)) return true;
  return false;
}

// Inside a region with such images others lie so too, whatever their type, and what its convolutions make.
static void lay_inside(const dp_layout_work *w, const dp_node *region) {
  const bool images = has_images(region), single = has_channels(region);
  for (int32_t v = 0; region->body && v < region->body->n_values; v++) {
    dp_value *inside = region->body->values[v];
    const bool image = inside->kind == DP_VALUE_RESULT && has_room(w, inside) &&
                       (single || has_planes(inside) || is_convolution(inside->producer));
    inside->layout = images && image ? w->layout : DP_LAYOUT_PLAIN;
  }
  for (int i = 0; region->body && i < region->body->n_outputs; i++)
    region->body->outputs[i].value->layout = DP_LAYOUT_PLAIN;  // that of the region's result is heeded
}

static bool has_kernel(const dp_layout_work *w, const dp_node *node) {
  lay_inside(w, node);
  const dp_kernel_spec spec = dp_kernels_spec(w->compile, w->threads, w->scratch, node);
  return dp_kernels_select(w->compile, &spec) != NULL;
}

static void make_plain(dp_layout_work *w, dp_value *v) {
  if (v && v->layout != DP_LAYOUT_PLAIN) dp_layout_set(w, v, DP_LAYOUT_PLAIN);
}

static void settle_communication(dp_layout_work *w, const dp_node *node) {
  for (int k = 0; k < node->n_inputs; k++) {
    if (!dp_layout_is_turned(node, k)) continue;
    make_plain(w, node->inputs[k]);
    make_plain(w, dp_layout_moved_to(node, k));
  }
}

// An update's old and new values lie alike, and turned only if the gradient does too.
static void settle_update(dp_layout_work *w, const dp_node *node, const dp_layout_end_role *roles) {
  const int count = dp_layout_ends(node);
  for (int k = 0; k < count; k++)
    if (roles[k].group >= 0) w->touched[roles[k].group] = false;
  for (int k = 0; k < count; k++)
    if (roles[k].group >= 0 && dp_layout_end(node, k)->layout == DP_LAYOUT_PLAIN) w->touched[roles[k].group] = true;
  for (int k = 0; k < count; k++)
    if (roles[k].group >= 0 && roles[k].stored && w->touched[roles[k].group]) make_plain(w, dp_layout_end(node, k));
}

// Whether the node has a tensor of that shape that is plain.
static bool has_plain(const dp_node *node, const dp_shape *shape) {
  for (int k = 0; k < dp_layout_ends(node); k++) {
    const dp_value *v = dp_layout_end(node, k);
    if (v && v->layout == DP_LAYOUT_PLAIN && dp_shape_equal(&v->type->shape, shape)) return true;
  }
  return false;
}

static void settle_weights(dp_layout_work *w, const dp_node *node) {
  for (int k = 0; k < dp_layout_ends(node); k++) {
    dp_value *v = dp_layout_end(node, k);
    if (v && w->weight[v->id] && v->layout != DP_LAYOUT_PLAIN && has_plain(node, &v->type->shape)) make_plain(w, v);
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

// Keeps what is connected with a convolution of such images.
static void end(dp_layout_work *works, int n_works) {
  for (int g = 0; g < n_works; g++)
    for (int32_t i = 0; i < works[g].graph->n_nodes; i++)
      if (is_convolution(works[g].graph->nodes[i]) && has_images(works[g].graph->nodes[i]))
        dp_layout_open(&works[g], i);
  dp_layout_walk(works, n_works, is_turned);
  for (int g = 0; g < n_works; g++)
    for (int32_t v = 0; v < works[g].graph->n_values; v++)
      if (!works[g].reached[v]) works[g].graph->values[v]->layout = DP_LAYOUT_PLAIN;
}

static bool fits(const dp_layout_work *w, const dp_node *node) {
  if (!dp_op_is(node->op, DP_OP_COMMUNICATION)) return has_kernel(w, node);
  for (int k = 0; k < node->n_inputs; k++)
    if (dp_layout_is_turned(node, k)) return false;
  return true;
}

static bool fits_around(const dp_layout_work *w, const dp_value *v) {
  bool all = !v->producer || fits(w, v->producer);
  for (int32_t u = w->first[v->id]; u < w->first[v->id + 1] && all; u++) all = fits(w, w->graph->nodes[w->users[u]]);
  return all;
}

// Planes of one element are plain where kernels take them so, and can then be reshaped where they are.
static void spare_single(dp_layout_work *w) {
  for (int32_t v = 0; v < w->graph->n_values; v++) {
    if (w->graph->values[v]->layout == DP_LAYOUT_PLAIN || has_planes(w->graph->values[v])) continue;
    dp_layout_use own;
    const dp_layout_use *uses;
    const int n_uses = dp_layout_uses(w, w->graph->values[v], &own, &uses);
    bool all = true;
    for (int i = 0; i < n_uses; i++) uses[i].value->layout = DP_LAYOUT_PLAIN;
    for (int i = 0; i < n_uses && all; i++) all = fits_around(uses[i].work, uses[i].value);
    for (int i = 0; i < n_uses && !all; i++) uses[i].value->layout = w->layout;
  }
}

// A variable lies as its values in graphs do.
static void keep(const dp_layout_work *w) {
  dp_variable *variables = w->compile->model->variables;
  for (int32_t v = 0; v < w->graph->n_values; v++)
    if (w->graph->values[v]->kind == DP_VALUE_VARIABLE)
      variables[w->graph->values[v]->variable].layout = w->graph->values[v]->layout;
  for (int i = 0; i < w->graph->n_updates; i++)
    variables[w->graph->updates[i].variable].layout = w->graph->updates[i].value->layout;
}

static void choose(dp_layout_work *works, int n_works) {
  for (int g = 0; g < n_works; g++) {
    dp_layout_begin(&works[g]);
    find_bound(&works[g]);
  }
  dp_layout_find_shares(works, n_works);
  if (works->layout == DP_LAYOUT_NHWC) dp_layout_find_weights(works, n_works);
  bind_shares(works->shares);
  begin(works, n_works);
  settle(works, n_works);
  end(works, n_works);
  for (int g = 0; g < n_works; g++) {
    spare_single(&works[g]);
    keep(&works[g]);
    for (int32_t i = 0; i < works[g].graph->n_nodes; i++) lay_inside(&works[g], works[g].graph->nodes[i]);
    works[g].graph->unchanged = true;
  }
}

static dp_status choose_all(void *arg) {
  dp_layout_work *first = arg;
  dp_model *model = first->compile->model;
  dp_layout_work *works = dp_alloc_n(first->scratch, (size_t)model->n_graphs, sizeof *works);
  first->shares = dp_alloc(first->scratch, sizeof *first->shares);
  for (int g = 0; g < model->n_graphs; g++) {
    works[g] = *first;
    works[g].graph = model->graphs[g];
  }
  if (model->n_graphs) choose(works, model->n_graphs);
  return DP_OK;
}

static dp_layout layout_of(const dp_options *options) {
  const dp_target *target = options->target;
  if (options->layout && !strcmp(options->layout, "plain")) return DP_LAYOUT_PLAIN;
  if (target->channels_last) return DP_LAYOUT_NHWC;
  if (!target->blocks || !dp_options_infers(options)) return DP_LAYOUT_PLAIN;
  return target->blocks(options->isa ? options->isa : target->isa());
}

static dp_status run(dp_compile *compile) {
  const dp_layout layout = layout_of(compile->options);
  for (int32_t p = 0; p < compile->model->n_variables; p++) compile->model->variables[p].layout = DP_LAYOUT_PLAIN;
  compile->unchanged = layout == DP_LAYOUT_PLAIN;
  if (compile->unchanged) return DP_OK;
  DP_TRY(dp_kernels_hold_isa(compile));
  dp_arena *scratch = dp_arena_create(0);
  if (!scratch) return dp_fail(DP_EX_MEMORY, "out of memory");
  dp_layout_work first = {
      .compile = compile, .scratch = scratch, .threads = dp_kernels_threads(compile), .layout = layout};
  dp_status status = dp_arena_run(scratch, choose_all, &first);
  dp_arena_destroy(scratch);
  return status;
}

const dp_pass dp_pass_layout = {
    .name = "layout",
    .what = "around convolutions images lie channels-last, their weights with them, or in blocks of channels",
    .needs = DP_HAS_STREAMS,
    .run = run,
};
