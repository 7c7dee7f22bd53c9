// See layout_work.h.
#include "passes/emit/layout_work.h"

#include <string.h>

static void find_users(dp_layout_work *w) {
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

void dp_layout_begin(dp_layout_work *w) {
  const size_t n_values = (size_t)w->graph->n_values, n_nodes = (size_t)w->graph->n_nodes;
  int most = 0;
  find_users(w);
  w->roles = dp_alloc_n(w->scratch, n_nodes, sizeof *w->roles);
  for (size_t i = 0; i < n_nodes; i++) {
    const dp_node *node = w->graph->nodes[i];
    const int groups = dp_layout_ends(node) + (node->body ? node->body->n_nodes : 0);
    if (groups > most) most = groups;
    w->roles[i] = dp_layout_roles(w->scratch, node);
  }
  w->bound = dp_alloc_n(w->scratch, n_values, sizeof *w->bound);
  w->weight = dp_alloc_n(w->scratch, n_values, sizeof *w->weight);
  w->reached = dp_alloc_n(w->scratch, n_values, sizeof *w->reached);
  w->touched = dp_alloc_n(w->scratch, (size_t)most, sizeof *w->touched);
  w->open = dp_alloc_n(w->scratch, n_nodes, sizeof *w->open);
  w->is_open = dp_alloc_n(w->scratch, n_nodes, sizeof *w->is_open);
}

// ---- what is to be looked at ----------------------------------------------------------------------------------------

void dp_layout_open(dp_layout_work *w, int32_t node) {
  if (w->is_open[node]) return;
  w->is_open[node] = true;
  w->open[w->n_open++] = node;
}

const dp_node *dp_layout_take(dp_layout_work *w) {
  const int32_t node = w->open[--w->n_open];
  w->is_open[node] = false;
  return w->graph->nodes[node];
}

void dp_layout_open_around(dp_layout_work *w, const dp_value *v) {
  if (v->producer) dp_layout_open(w, v->producer->id);
  for (int32_t u = w->first[v->id]; u < w->first[v->id + 1]; u++) dp_layout_open(w, w->users[u]);
}

int dp_layout_uses(dp_layout_work *w, dp_value *v, dp_layout_use *own, const dp_layout_use **uses) {
  const int32_t share = w->share_of[v->id];
  *own = (dp_layout_use){w, v};
  *uses = share < 0 ? own : w->shares->all[share].uses;
  return share < 0 ? 1 : w->shares->all[share].n_uses;
}

void dp_layout_set(dp_layout_work *w, dp_value *v, dp_layout layout) {
  dp_layout_use own;
  const dp_layout_use *uses;
  const int n_uses = dp_layout_uses(w, v, &own, &uses);
  for (int i = 0; i < n_uses; i++) {
    if (uses[i].value->layout == layout) continue;
    uses[i].value->layout = layout;
    dp_layout_open_around(uses[i].work, uses[i].value);
  }
}

// ---- walks ----------------------------------------------------------------------------------------------------------

static void reach(dp_layout_work *w, dp_value *v) {
  dp_layout_use own;
  const dp_layout_use *uses;
  const int n_uses = dp_layout_uses(w, v, &own, &uses);
  for (int i = 0; i < n_uses; i++) {
    bool *reached = &uses[i].work->reached[uses[i].value->id];
    if (*reached) continue;
    *reached = true;
    dp_layout_open_around(uses[i].work, uses[i].value);
  }
}

// Marks the groups of the node that have been reached.
static void touch(dp_layout_work *w, const dp_node *node, const dp_layout_end_role *roles) {
  for (int k = 0; k < dp_layout_ends(node); k++)
    if (roles[k].group >= 0) w->touched[roles[k].group] = false;
  for (int k = 0; k < dp_layout_ends(node); k++)
    if (roles[k].group >= 0 && w->reached[dp_layout_end(node, k)->id]) w->touched[roles[k].group] = true;
}

static void walk_from(dp_layout_work *w, const dp_node *node,
                      bool (*may)(const dp_layout_work *work, const dp_value *v)) {
  const dp_layout_end_role *roles = w->roles[node->id];
  if (roles) touch(w, node, roles);
  for (int k = 0; k < dp_layout_ends(node); k++) {
    dp_value *v = dp_layout_end(node, k);
    if (v && may(w, v) && (!roles || (roles[k].group >= 0 && w->touched[roles[k].group]))) reach(w, v);
  }
}

void dp_layout_walk(dp_layout_work *works, int n_works, bool (*may)(const dp_layout_work *work, const dp_value *v)) {
  for (int i = 0; i < n_works; i++) memset(works[i].reached, 0, (size_t)works[i].graph->n_values);
  for (bool again = true; again;) {
    again = false;
    for (int i = 0; i < n_works; i++)
      for (; works[i].n_open; again = true) walk_from(&works[i], dp_layout_take(&works[i]), may);
  }
}
