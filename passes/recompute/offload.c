// offload: what waits for a later use waits in memory of the host, by --offload: `optimizer`, the optimizer's state
// from one step to the next; `activations`, values of the forward pass until the backward pass reads them.
//
// An Offload follows the node that makes such a value, a Fetch precedes its first use after that. The pass `streams`
// decides how far copies and computing may be apart. What is smaller than the target's offload_bytes stays, and so do
// the values that the backward pass would fetch as soon as they are away: those of the last two nodes that make some.
#include <string.h>

#include "passes/base/pass.h"
#include "passes/recompute/sequence.h"

enum { LAST_MAKERS = 2 };  // whose values stay

typedef struct {
  dp_graph *graph;
  dp_arena *scratch;
  const bool *forward;   // (nodes)
  int32_t n_values;      // of the graph as it was
  const bool *chosen;    // (values) activations to be offloaded
  const bool *stored;    // (values) new values of variables that are stored on the host
  dp_value **offloaded;  // (values) where it is meanwhile; NULL: not offloaded yet
  dp_value **fetched;    // (values) where it is again; NULL: not fetched
  int32_t count;
  dp_node **nodes;  // in their new order
} offloading;

static uint64_t bytes_of(const dp_model *model, const dp_variable *p) {
  return (uint64_t)dp_local_max_count(&p->type->shape, p->placements, &model->mesh, model->batch) *
         dp_type_bytes(p->type->dtype);
}

static void choose_variables(dp_model *model, bool optimizer, uint64_t least) {
  for (int32_t i = 0; i < model->n_variables; i++) {
    dp_variable *p = &model->variables[i];
    p->offloaded = optimizer && p->kind == DP_STATE && p->type->shape.rank && bytes_of(model, p) >= least;
  }
}

// ---- activations ----------------------------------------------------------------------------------------------------

static bool can_wait(const dp_recompute_work *w, const dp_value *x, double least) {
  const dp_node *maker = x->producer;
  const bool joined = x->micro_count > 1;  // parts of several micro-batches, or a sum of theirs
  return maker && w->forward[maker->id] && maker->logical && x->type->shape.rank && !joined && w->bytes[x->id] >= least;
}

// Values of the forward pass that the backward pass reads, but for those that are made last.
static void choose_activations(const dp_recompute_work *w, double least, bool *chosen) {
  const dp_graph *graph = w->graph;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs && !w->forward[i]; k++) {
      const dp_value *x = graph->nodes[i]->inputs[k];
      if (x && can_wait(w, x, least)) chosen[x->id] = true;
    }
  int makers = 0;
  for (int32_t i = graph->n_nodes; i-- > 0 && makers < LAST_MAKERS;) {
    bool makes = false;
    for (int k = 0; k < graph->nodes[i]->n_outputs; k++) {
      const dp_value *y = graph->nodes[i]->outputs[k];
      if (!y || !chosen[y->id]) continue;
      makes = true;
      chosen[y->id] = false;
    }
    makers += makes;
  }
}

// ---- moving ---------------------------------------------------------------------------------------------------------

static void put(offloading *o, dp_node *node) { o->nodes[o->count++] = node; }

static dp_value *move(offloading *o, const char *op, dp_value *x, dp_space space, const dp_node *beside) {
  dp_node *node = dp_graph_add_node(o->graph, dp_op_find("dp", op), dp_printf(o->scratch, "%s/%s", x->name, op), 1, &x,
                                    1, NULL, 0, NULL);
  node->device = beside->device;
  node->stage = beside->stage;
  dp_value *y = node->outputs[0];
  y->type = x->type;
  y->logical = x->logical;
  y->placements = x->placements;
  y->micro_first = x->micro_first;
  y->micro_count = x->micro_count;
  y->space = space;
  put(o, node);
  return y;
}

// Whether the node finds the value on the host. The forward pass still has it on the device.
static bool is_away(const offloading *o, const dp_node *node, const dp_value *x) {
  if (x->id >= o->n_values) return false;
  if (x->kind == DP_VALUE_VARIABLE) return x->space == DP_SPACE_OFFLOAD;
  return o->chosen[x->id] && o->offloaded[x->id] && !o->forward[node->id];
}

static void fetch_operands(offloading *o, dp_node *node) {
  for (int k = 0; k < node->n_inputs; k++) {
    dp_value *x = node->inputs[k];
    if (!x || !is_away(o, node, x)) continue;
    dp_value **fetched = &o->fetched[x->id];
    if (!*fetched)
      *fetched = move(o, "Fetch", x->kind == DP_VALUE_VARIABLE ? x : o->offloaded[x->id], DP_SPACE_TRANSIENT, node);
    node->inputs[k] = *fetched;
  }
}

static void offload_results(offloading *o, const dp_node *node) {
  for (int k = 0; k < node->n_outputs; k++) {
    dp_value *y = node->outputs[k];
    if (!y || (!o->chosen[y->id] && !o->stored[y->id])) continue;
    y->space = DP_SPACE_TRANSIENT;
    o->offloaded[y->id] = move(o, "Offload", y, DP_SPACE_OFFLOAD, node);
  }
}

static dp_status run_graph(dp_compile *compile, dp_graph *graph, dp_arena *scratch) {
  const dp_target *target = compile->options->target;
  const size_t n = (size_t)graph->n_values + 1;
  const int32_t n_nodes = graph->n_nodes;
  const dp_variable *variables = graph->model->variables;
  const dp_recompute_work w = dp_recompute_begin(graph, scratch, &target->costs);
  bool *chosen = dp_alloc_n(scratch, n, sizeof *chosen), *stored = dp_alloc_n(scratch, n, sizeof *stored);
  if (dp_options_offloads(compile->options, "activations")) choose_activations(&w, target->offload_bytes, chosen);
  for (int i = 0; i < graph->n_updates; i++)
    stored[graph->updates[i].value->id] = variables[graph->updates[i].variable].offloaded;
  for (int32_t v = 0; v < graph->n_values; v++) {
    dp_value *value = graph->values[v];
    if (value->kind == DP_VALUE_VARIABLE && variables[value->variable].offloaded) value->space = DP_SPACE_OFFLOAD;
  }
  offloading o = {.graph = graph,
                  .scratch = scratch,
                  .forward = w.forward,
                  .n_values = graph->n_values,
                  .chosen = chosen,
                  .stored = stored,
                  .offloaded = dp_alloc_n(scratch, n, sizeof(dp_value *)),
                  .fetched = dp_alloc_n(scratch, n, sizeof(dp_value *)),
                  .nodes = dp_alloc_n(scratch, 2 * n + (size_t)n_nodes, sizeof(dp_node *))};
  dp_node **nodes = dp_memdup(scratch, graph->nodes, (size_t)n_nodes * sizeof *nodes);
  for (int32_t i = 0; i < n_nodes; i++) {
    fetch_operands(&o, nodes[i]);
    put(&o, nodes[i]);
    offload_results(&o, nodes[i]);
  }
  for (int i = 0; i < graph->n_updates; i++)
    if (stored[graph->updates[i].value->id]) graph->updates[i].value = o.offloaded[graph->updates[i].value->id];
  dp_graph_reorder(graph, o.nodes);
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  const dp_options *options = compile->options;
  const bool optimizer = dp_options_offloads(options, "optimizer");
  choose_variables(compile->model, optimizer, (uint64_t)options->target->offload_bytes);
  compile->unchanged = !optimizer && !dp_options_offloads(options, "activations");
  return compile->unchanged ? DP_OK : dp_pass_each_graph(compile, run_graph);
}

const dp_pass dp_pass_offload = {
    .name = "offload",
    .what = "moves what --offload names to memory of the host between two uses",
    .needs = DP_HAS_ROLES,
    .run = run,
};
