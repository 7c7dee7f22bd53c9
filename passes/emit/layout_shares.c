// What has one layout though it is in several graphs: a variable, wherever a program finds it or leaves it; and what a
// stage of a pipeline sends and another receives.
#include <string.h>

#include "passes/emit/layout_work.h"
#include "passes/memory/storage.h"

static int32_t new_share(dp_layout_work *w) {
  const dp_layout_share empty = {.joined = -1};
  DP_PUSH(w->scratch, w->shares->all, w->shares->count, empty);
  return w->shares->count - 1;
}

static void push(dp_layout_work *w, int32_t share, dp_layout_use use) {
  dp_layout_share *s = &w->shares->all[share];
  use.work->share_of[use.value->id] = share;
  DP_PUSH(w->scratch, s->uses, s->n_uses, use);
}

// Adds a value to a share, or all of the share that it has already.
static void add(dp_layout_work *w, dp_value *v, int32_t share) {
  while (w->shares->all[share].joined >= 0) share = w->shares->all[share].joined;
  const int32_t before = w->share_of[v->id];
  if (before == share) return;
  if (before < 0) {
    push(w, share, (dp_layout_use){w, v});
    return;
  }
  dp_layout_share *from = &w->shares->all[before];
  for (int i = 0; i < from->n_uses; i++) push(w, share, from->uses[i]);
  from->n_uses = 0;
  from->joined = share;
}

static void add_variables(dp_layout_work *w) {
  const dp_graph *graph = w->graph;
  for (int32_t v = 0; v < graph->n_values; v++)
    if (graph->values[v]->kind == DP_VALUE_VARIABLE) add(w, graph->values[v], graph->values[v]->variable);
  for (int i = 0; i < graph->n_updates; i++) add(w, graph->updates[i].value, graph->updates[i].variable);
}

static dp_value *transferred(const dp_node *node) {
  if (!strcmp(node->op->name, "Send")) return node->inputs[0];
  return strcmp(node->op->name, "Recv") ? NULL : node->outputs[0];
}

// A channel of a program joins one Send and one Recv. of_channel: (channels) the share plus 1; 0: none yet.
static void add_transfers(dp_layout_work *w, int32_t *of_channel) {
  for (int32_t i = 0; i < w->graph->n_nodes; i++) {
    const dp_node *node = w->graph->nodes[i];
    dp_value *v = transferred(node);
    if (!v) continue;
    int32_t *share = &of_channel[dp_node_int(node, "channel", 0)];
    if (!*share) *share = (w->share_of[v->id] < 0 ? new_share(w) : w->share_of[v->id]) + 1;
    add(w, v, *share - 1);
  }
}

static int64_t channels_of(const dp_layout_work *works, int n_works) {
  int64_t last = 0;
  for (int g = 0; g < n_works; g++)
    for (int32_t i = 0; i < works[g].graph->n_nodes; i++)
      if (transferred(works[g].graph->nodes[i]))
        last = dp_max_i64(last, dp_node_int(works[g].graph->nodes[i], "channel", 0));
  return last + 1;
}

void dp_layout_find_shares(dp_layout_work *works, int n_works) {
  for (int g = 0; g < n_works; g++) {
    dp_layout_work *w = &works[g];
    w->share_of = dp_alloc_n(w->scratch, (size_t)w->graph->n_values, sizeof *w->share_of);
    for (int32_t v = 0; v < w->graph->n_values; v++) w->share_of[v] = -1;
  }
  // Variables have the first shares, by number.
  for (int32_t p = 0; n_works && p < works->compile->model->n_variables; p++) new_share(works);
  for (int g = 0; g < n_works; g++) add_variables(&works[g]);
  const size_t n_channels = (size_t)channels_of(works, n_works);
  int32_t *of_channel = NULL;
  for (int g = 0; g < n_works; g++) {
    if (!g || !dp_memory_same_program(works[g].graph, works[g - 1].graph))
      of_channel = dp_alloc_n(works->scratch, n_channels, sizeof *of_channel);
    add_transfers(&works[g], of_channel);
  }
}
