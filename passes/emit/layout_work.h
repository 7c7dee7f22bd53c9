// What the pass layout knows of each graph while it works, and walks from node to node. Private to the pass layout.
#ifndef DP_PASSES_EMIT_LAYOUT_WORK_H
#define DP_PASSES_EMIT_LAYOUT_WORK_H

#include "passes/base/pass.h"
#include "passes/emit/layout_ends.h"

typedef struct dp_layout_work dp_layout_work;

// A value in one of the graphs.
typedef struct {
  dp_layout_work *work;
  dp_value *value;
} dp_layout_use;

// Values that have one layout (layout_shares.c).
typedef struct {
  int n_uses;
  dp_layout_use *uses;
  int32_t joined;  // the share that has them instead; -1: this one
} dp_layout_share;

typedef struct {
  int32_t count;
  dp_layout_share *all;
} dp_layout_shares;

// Of one graph. `shares` is of all of them.
struct dp_layout_work {
  const dp_compile *compile;
  dp_graph *graph;
  dp_arena *scratch;
  int threads;
  dp_layout layout;  // what is chosen where it can be
  dp_layout_shares *shares;
  int32_t *share_of;                 // (values) -1: none
  const dp_layout_end_role **roles;  // (nodes)
  bool *bound;                       // (values) it is plain, whatever it is
  bool *weight;                      // (values) as layout_weights.c says
  bool *reached;                     // (values) by the last walk
  bool *touched;                     // (groups of a node) room of the walk
  int32_t *first, *users;            // the nodes that read value v: users[first[v]] .. users[first[v + 1] - 1]
  int32_t n_open, *open;             // nodes to be looked at
  bool *is_open;                     // (nodes)
};

// Finds users and roles. Of `work` compile, graph, scratch, threads, layout and shares are given.
void dp_layout_begin(dp_layout_work *work);
void dp_layout_find_shares(dp_layout_work *works, int n_works);  // layout_shares.c
void dp_layout_open(dp_layout_work *work, int32_t node);
void dp_layout_open_around(dp_layout_work *work, const dp_value *v);  // the nodes that have it
const dp_node *dp_layout_take(dp_layout_work *work);                  // one that is open
// The uses of the value's share, or its own, which is put to `own`. Returns how many.
int dp_layout_uses(dp_layout_work *work, dp_value *v, dp_layout_use *own, const dp_layout_use **uses);
// Sets the layout of the value and of its share; opens the nodes that have them.
void dp_layout_set(dp_layout_work *work, dp_value *v, dp_layout layout);
// Walks from the nodes that are open, in all graphs, to values for which `may` says yes, by nodes to whatever belongs
// together there and by shares to other graphs; what it comes to is `reached`.
void dp_layout_walk(dp_layout_work *works, int n_works, bool (*may)(const dp_layout_work *work, const dp_value *v));

// layout_weights.c: marks weights, once what is bound is known.
void dp_layout_find_weights(dp_layout_work *works, int n_works);

#endif
