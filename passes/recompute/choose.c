// See choose.h. The choices that are tried have two parameters: nodes up to a price in time for each byte of their
// results are computed again, except that one is kept whenever what the backward pass reads since the last kept one
// comes to a limit. So cheap nodes can be had again alone, and segments between kept values of any length (Chen et al.,
// "Training Deep Nets with Sublinear Memory Cost", 2016). From the best choice, single nodes are kept or dropped while
// that makes it better.
#include "passes/recompute/choose.h"

#include <stdlib.h>
#include <string.h>

enum { PRICES = 12, LIMITS = 16, MAX_DEPTH = 8, MAX_STEPS = 2000000 };

typedef struct {
  const dp_recompute_work *w;
  double target;
  size_t n;                  // nodes
  int32_t *leader;           // (nodes) the first node with the same logical node
  bool *read_late;           // (nodes) by the backward pass
  double *result_bytes;      // (nodes)
  double *price;             // (nodes) ns for each byte
  bool *tried, *best;        // (nodes)
  int64_t trials;            // that are left to improve the best
  dp_recompute_estimate at;  // of the best
} choice;

static bool is_better(const choice *c, dp_recompute_estimate a, dp_recompute_estimate b) {
  const bool a_fits = a.bytes <= c->target, b_fits = b.bytes <= c->target;
  if (a_fits != b_fits) return a_fits;
  return a_fits ? a.ns < b.ns || (a.ns <= b.ns && a.bytes < b.bytes)
                : a.bytes < b.bytes || (a.bytes <= b.bytes && a.held < b.held);
}

static bool try_it(choice *c) {
  const dp_recompute_estimate found = dp_recompute_weigh(c->w, c->tried);
  if (!is_better(c, found, c->at)) return false;
  c->at = found;
  memcpy(c->best, c->tried, c->n * sizeof *c->best);
  return true;
}

static void segment(choice *c, double price, double limit) {
  double since = 0;
  for (size_t i = 0; i < c->n; i++) {
    if (c->leader[i] != (int32_t)i) {
      c->tried[i] = c->tried[c->leader[i]];
      continue;
    }
    c->tried[i] = c->w->candidate[i] && c->price[i] <= price;
    if (!c->tried[i] || !c->read_late[i]) continue;
    since += c->result_bytes[i];
    if (since <= limit) continue;
    c->tried[i] = false;
    since = 0;
  }
}

static int rising(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

// Different prices, spread evenly over those of the candidates.
static int find_prices(const choice *c, double prices[PRICES]) {
  double *all = dp_alloc_n(c->w->scratch, c->n + 1, sizeof *all);
  int count = 0;
  size_t n = 0;
  for (size_t i = 0; i < c->n; i++)
    if (c->w->candidate[i] && c->result_bytes[i] > 0) all[n++] = c->price[i];
  qsort(all, n, sizeof *all, rising);
  for (size_t k = 1; k <= PRICES && n; k++) {
    const double price = all[k * n / PRICES ? k * n / PRICES - 1 : 0];
    if (!count || prices[count - 1] < price) prices[count++] = price;
  }
  return count;
}

typedef struct {
  double ns;
  int32_t node;
} longest;

static int by_ns(const void *a, const void *b) {
  const longest *x = a, *y = b;
  if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
  return (x->node > y->node) - (x->node < y->node);
}

static void set_alike(choice *c, int32_t node, bool drop) {
  for (size_t i = 0; i < c->n; i++)
    if (c->leader[i] == c->leader[node]) c->tried[i] = drop;
}

// Changes one node. What it is computed from, if nothing else of the backward pass reads that, is had again with it.
static void flip(choice *c, int32_t node) {
  const bool drop = !c->tried[node];
  set_alike(c, node, drop);
  for (int depth = 0; depth < MAX_DEPTH && drop; depth++) {
    const dp_value *x = c->w->graph->nodes[node]->n_inputs ? c->w->graph->nodes[node]->inputs[0] : NULL;
    if (!x || !x->producer || !c->w->candidate[x->producer->id] || c->read_late[x->producer->id]) return;
    node = x->producer->id;
    set_alike(c, node, true);
  }
}

static bool try_flips(choice *c, int32_t a, int32_t b) {
  c->trials--;
  memcpy(c->tried, c->best, c->n * sizeof *c->tried);
  flip(c, a);
  if (b >= 0) flip(c, b);
  return try_it(c);
}

// Single nodes are kept or dropped, the longest first, or one kept for another dropped, until nothing makes it better.
static void improve(choice *c) {
  longest *nodes = dp_alloc_n(c->w->scratch, c->n + 1, sizeof *nodes);
  size_t count = 0;
  for (size_t i = 0; i < c->n; i++)
    if (c->read_late[i] && c->w->candidate[i] && c->leader[i] == (int32_t)i)
      nodes[count++] = (longest){c->w->ns[i], (int32_t)i};
  qsort(nodes, count, sizeof *nodes, by_ns);
  for (bool better = true; better && c->trials > 0;) {
    better = false;
    for (size_t k = 0; k < count && c->trials > 0; k++) better |= try_flips(c, nodes[k].node, -1);
    for (size_t k = 0; k < count && !better; k++)
      for (size_t l = 0; l < count && c->trials > 0 && c->best[nodes[k].node]; l++)
        if (!c->best[nodes[l].node]) better |= try_flips(c, nodes[k].node, nodes[l].node);
  }
}

static void find_leaders(choice *c) {
  const dp_graph *graph = c->w->graph;
  int32_t *first = dp_alloc_n(c->w->scratch, (size_t)graph->logical->n_nodes + 1, sizeof *first);
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const dp_node *node = graph->nodes[i];
    c->leader[i] = i;
    if (node->logical && first[node->logical->id])
      c->leader[i] = first[node->logical->id] - 1;
    else if (node->logical)
      first[node->logical->id] = i + 1;
    for (int k = 0; k < node->n_inputs && !c->w->forward[i]; k++)
      if (node->inputs[k] && node->inputs[k]->producer) c->read_late[node->inputs[k]->producer->id] = true;
    for (int k = 0; k < node->n_outputs; k++)
      if (node->outputs[k]) c->result_bytes[i] += c->w->bytes[node->outputs[k]->id];
    c->price[i] = c->result_bytes[i] > 0 ? c->w->ns[i] / c->result_bytes[i] : 0;
  }
}

void dp_recompute_choose(const dp_recompute_work *w, double bytes, bool *drop) {
  dp_arena *scratch = w->scratch;
  const size_t n = (size_t)w->graph->n_nodes;
  choice c = {.w = w,
              .target = bytes,
              .n = n,
              .trials = MAX_STEPS / (int64_t)(n + 500),
              .leader = dp_alloc_n(scratch, n + 1, sizeof(int32_t)),
              .read_late = dp_alloc_n(scratch, n + 1, sizeof(bool)),
              .result_bytes = dp_alloc_n(scratch, n + 1, sizeof(double)),
              .price = dp_alloc_n(scratch, n + 1, sizeof(double)),
              .tried = dp_alloc_n(scratch, n + 1, sizeof(bool)),
              .best = drop};
  c.at = dp_recompute_weigh(w, drop);
  if (c.at.bytes <= bytes) return;
  find_leaders(&c);
  double all = 0, prices[PRICES];
  for (size_t i = 0; i < n; i++) all += w->candidate[i] ? c.result_bytes[i] : 0;
  const int n_prices = find_prices(&c, prices);
  for (int p = 0; p < n_prices; p++) {
    double limit = all;
    for (int l = 0; l < LIMITS; l++, limit /= 1.5) {
      segment(&c, prices[p], limit);
      try_it(&c);
    }
  }
  improve(&c);
}
