// layout: around convolutions images lie as these gain by, on targets that say so: in 16 bits channels-last, in NHWC;
// in plans for inference those in float32 in blocks of channels.
//
// A value of rank 4 may lie so if it exists between two nodes alone: inputs, outputs and variables are plain, and so is
// what stages of a pipeline send each other, whose graphs are looked at one by one. Such values begin in that layout
// where nodes connect them with a convolution. Where no kernel takes a node's operands and results as they lie, they
// become plain, and so on until each node has a kernel. What devices exchange keeps its layout. What is then connected
// with no convolution that has another layout becomes plain too. No node converts one layout into the other by itself.
// Of NHWC, kernels of elementwise nodes take each operand and result as it lies, so that the Cast of a weight in
// float32 makes it NHWC, and that of its gradient makes it plain again. Of blocks, convolutions do: they read plain
// images and write blocks, or read blocks and write a plain image.
#include <string.h>

#include "passes/base/pass.h"
#include "passes/cost/largest_shard.h"
#include "passes/emit/kernels.h"

typedef struct {
  const dp_compile *compile;
  dp_graph *graph;
  dp_arena *scratch;
  int threads;
  dp_layout layout;        // what is chosen where it can be
  bool *free;              // (values) it may lie so
  int32_t *first, *users;  // the nodes that read value v: users[first[v]] .. users[first[v + 1] - 1]
  int32_t n_open, *open;   // nodes to be looked at
  bool *is_open;           // (nodes)
} work;

// ---- the graph ------------------------------------------------------------------------------------------------------

// Whether the layout is one for a value of these extents.
static bool has_room(const work *w, const dp_value *v) {
  const int64_t block = dp_layout_block(w->layout);
  const dp_local shard = dp_largest_shard_of(w->compile->model, v);
  dp_local plain;
  return block ? dp_local_in_blocks(&shard, block, &plain) : shard.rank == 4;
}

static bool is_image(const work *w, const dp_value *v) {
  const uint32_t types = dp_layout_block(w->layout) ? DP_BIT(DP_FLOAT32) : DP_BIT(DP_BFLOAT16) | DP_BIT(DP_FLOAT16);
  return v->kind == DP_VALUE_RESULT && (v->space == DP_SPACE_TRANSIENT || v->space == DP_SPACE_OFFLOAD) &&
         DP_BIT(v->type.dtype) & types && has_room(w, v);
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

// Operand k of the node, or the result after its operands.
static dp_value *end_of(const dp_node *node, int k) {
  return k < node->n_inputs ? node->inputs[k] : node->outputs[k - node->n_inputs];
}

static int ends_of(const dp_node *node) { return node->n_inputs + node->n_outputs; }

static void find_users(work *w) {
  const dp_graph *graph = w->graph;
  int32_t total = 0;
  w->first = dp_alloc_n(w->scratch, (size_t)graph->n_values + 2, sizeof *w->first);
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k]) w->first[graph->nodes[i]->inputs[k]->id + 2]++, total++;
  for (int32_t v = 0; v < graph->n_values; v++) w->first[v + 2] += w->first[v + 1];
  w->users = dp_alloc_n(w->scratch, (size_t)total, sizeof *w->users);
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k]) w->users[w->first[graph->nodes[i]->inputs[k]->id + 1]++] = i;
}

static void find_free(work *w) {
  const dp_graph *graph = w->graph;
  w->free = dp_alloc_n(w->scratch, (size_t)graph->n_values, sizeof *w->free);
  for (int32_t v = 0; v < graph->n_values; v++) w->free[v] = is_image(w, graph->values[v]);
  for (int i = 0; i < graph->n_outputs; i++) w->free[graph->outputs[i].value->id] = false;
  for (int i = 0; i < graph->n_updates; i++) w->free[graph->updates[i].value->id] = false;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; is_between_stages(graph->nodes[i]) && k < ends_of(graph->nodes[i]); k++)
      if (end_of(graph->nodes[i], k)) w->free[end_of(graph->nodes[i], k)->id] = false;
}

// ---- what is to be looked at ----------------------------------------------------------------------------------------

static void open_node(work *w, int32_t node) {
  if (w->is_open[node]) return;
  w->is_open[node] = true;
  w->open[w->n_open++] = node;
}

static const dp_node *take_open(work *w) {
  const int32_t node = w->open[--w->n_open];
  w->is_open[node] = false;
  return w->graph->nodes[node];
}

static void set(work *w, dp_value *v, dp_layout layout) {
  v->layout = layout;
  open_node(w, v->producer->id);
  for (int32_t u = w->first[v->id]; u < w->first[v->id + 1]; u++) open_node(w, w->users[u]);
}

// ---- the pass -------------------------------------------------------------------------------------------------------

// What nodes connect with a convolution.
static void begin(work *w) {
  for (int32_t i = 0; i < w->graph->n_nodes; i++)
    if (is_convolution(w->graph->nodes[i])) open_node(w, i);
  while (w->n_open) {
    const dp_node *node = take_open(w);
    for (int k = 0; k < ends_of(node); k++) {
      dp_value *v = end_of(node, k);
      if (v && w->free[v->id] && v->layout == DP_LAYOUT_PLAIN) set(w, v, w->layout);
    }
  }
}

static bool has_images(const dp_node *node) {
  for (int k = 0; k < ends_of(node); k++)
    if (end_of(node, k) && end_of(node, k)->layout != DP_LAYOUT_PLAIN) return true;
  return false;
}

// Inside a region with such images others lie so too, whatever their type, and what its convolutions make.
static void lay_inside(const work *w, const dp_node *region) {
  const bool images = has_images(region);
  for (int32_t v = 0; region->body && v < region->body->n_values; v++) {
    dp_value *inside = region->body->values[v];
    const bool image = inside->kind == DP_VALUE_RESULT && has_room(w, inside) &&
                       (has_planes(inside) || is_convolution(inside->producer));
    inside->layout = images && image ? w->layout : DP_LAYOUT_PLAIN;
  }
  for (int i = 0; region->body && i < region->body->n_outputs; i++)
    region->body->outputs[i].value->layout = DP_LAYOUT_PLAIN;  // that of the region's result is heeded
}

static bool has_kernel(const work *w, const dp_node *node) {
  lay_inside(w, node);
  const dp_kernel_spec spec = dp_kernels_spec(w->compile, w->threads, w->scratch, node);
  return dp_kernels_select(w->compile, &spec) != NULL;
}

static void make_plain(work *w, dp_value *v) {
  if (v && v->layout != DP_LAYOUT_PLAIN) set(w, v, DP_LAYOUT_PLAIN);
}

// What operand k of a communication becomes: several may go together to one result. NULL: a Send's.
static dp_value *moved_to(const dp_node *node, int k) {
  return node->n_outputs ? node->outputs[k < node->n_outputs ? k : 0] : NULL;
}

static void settle_communication(work *w, const dp_node *node) {
  for (int k = 0; k < node->n_inputs; k++) {
    dp_value *from = node->inputs[k], *to = moved_to(node, k);
    if (!to || from->layout == to->layout) continue;
    make_plain(w, from);
    make_plain(w, to);
  }
}

static void settle(work *w) {
  for (int32_t i = 0; i < w->graph->n_nodes; i++)
    if (has_images(w->graph->nodes[i])) open_node(w, i);
  while (w->n_open) {
    const dp_node *node = take_open(w);
    if (dp_op_is(node->op, DP_OP_COMMUNICATION))
      settle_communication(w, node);
    else if (has_images(node) && !has_kernel(w, node))
      for (int k = 0; k < ends_of(node); k++) make_plain(w, end_of(node, k));
  }
}

// Keeps what is connected with a convolution of such images.
static void end(work *w) {
  const dp_graph *graph = w->graph;
  bool *kept = dp_alloc_n(w->scratch, (size_t)graph->n_values, sizeof *kept);
  for (int32_t i = 0; i < graph->n_nodes; i++)
    if (is_convolution(graph->nodes[i]) && has_images(graph->nodes[i])) open_node(w, i);
  while (w->n_open) {
    const dp_node *node = take_open(w);
    for (int k = 0; k < ends_of(node); k++) {
      dp_value *v = end_of(node, k);
      if (!v || v->layout == DP_LAYOUT_PLAIN || kept[v->id]) continue;
      kept[v->id] = true;
      set(w, v, w->layout);
    }
  }
  for (int32_t v = 0; v < graph->n_values; v++)
    if (!kept[v]) graph->values[v]->layout = DP_LAYOUT_PLAIN;
}

static bool fits(const work *w, const dp_node *node) {
  if (!dp_op_is(node->op, DP_OP_COMMUNICATION)) return has_kernel(w, node);
  for (int k = 0; k < node->n_inputs; k++)
    if (moved_to(node, k) && node->inputs[k]->layout != moved_to(node, k)->layout) return false;
  return true;
}

// Planes of one element are plain where kernels take them so, and can then be reshaped where they are.
static void spare_single(const work *w) {
  for (int32_t i = 0; i < w->graph->n_values; i++) {
    dp_value *v = w->graph->values[i];
    if (v->layout == DP_LAYOUT_PLAIN || has_planes(v)) continue;
    v->layout = DP_LAYOUT_PLAIN;
    bool all = fits(w, v->producer);
    for (int32_t u = w->first[v->id]; u < w->first[v->id + 1] && all; u++) all = fits(w, w->graph->nodes[w->users[u]]);
    if (!all) v->layout = w->layout;
  }
}

static dp_layout layout_of(const dp_options *options) {
  const dp_target *target = options->target;
  if (options->layout && !strcmp(options->layout, "plain")) return DP_LAYOUT_PLAIN;
  if (target->channels_last) return DP_LAYOUT_NHWC;
  if (!target->blocks || !dp_options_infers(options)) return DP_LAYOUT_PLAIN;
  return target->blocks(options->isa ? options->isa : target->isa());
}

static dp_status choose(dp_compile *compile, dp_graph *graph, dp_arena *scratch) {
  work w = {.compile = compile,
            .graph = graph,
            .scratch = scratch,
            .threads = dp_kernels_threads(compile),
            .layout = layout_of(compile->options)};
  w.open = dp_alloc_n(scratch, (size_t)graph->n_nodes, sizeof *w.open);
  w.is_open = dp_alloc_n(scratch, (size_t)graph->n_nodes, sizeof *w.is_open);
  find_users(&w);
  find_free(&w);
  begin(&w);
  settle(&w);
  end(&w);
  spare_single(&w);
  for (int32_t i = 0; i < graph->n_nodes; i++) lay_inside(&w, graph->nodes[i]);
  graph->unchanged = true;
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  compile->unchanged = layout_of(compile->options) == DP_LAYOUT_PLAIN;
  if (compile->unchanged) return DP_OK;
  DP_TRY(dp_kernels_hold_isa(compile));
  return dp_pass_each_graph(compile, choose);
}

const dp_pass dp_pass_layout = {
    .name = "layout",
    .what = "around convolutions images lie channels-last, or in blocks of channels",
    .needs = DP_HAS_STREAMS,
    .run = run,
};
