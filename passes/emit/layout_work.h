// What the pass layout knows of each graph while it works, and walks from node to node. Private to the pass layout.
#ifndef DP_PASSES_EMIT_LAYOUT_WORK_H
#define DP_PASSES_EMIT_LAYOUT_WORK_H

#include "passes/base/pass.h"
#include "passes/emit/layout_ends.h"

typedef struct dp_layout_work dp_layout_work;

// A variable's value in a graph, as the program finds it or leaves it.
typedef struct {
  dp_layout_work *work;
  dp_value *value;
} dp_layout_use;

typedef struct {
  int n_uses;
  dp_layout_use *uses;  // in all graphs
} dp_layout_variable;

// Of one graph. Graphs share variables, and so `variables`.
struct dp_layout_work {
  const dp_compile *compile;
  dp_graph *graph;
  dp_arena *scratch;
  int threads;
  dp_layout_variable *variables;
  int32_t *variable_of;              // (values) -1: of none
  const dp_layout_end_role **roles;  // (nodes)
  bool *bound;                       // (values) it is plain, whatever it is
  bool *weight;                      // (values) as layout_weights.c says
  bool *reached;                     // (values) by the last walk
  bool *touched;                     // (groups of a node) room of the walk
  int32_t *first, *users;            // the nodes that read value v: users[first[v]] .. users[first[v + 1] - 1]
  int32_t n_open, *open;             // nodes to be looked at
  bool *is_open;                     // (nodes)
};

// Finds users, variables and roles. Of `work` compile, graph, scratch, threads and variables are given.
void dp_layout_begin(dp_layout_work *work);
void dp_layout_open(dp_layout_work *work, int32_t node);
void dp_layout_open_around(dp_layout_work *work, const dp_value *v);  // the nodes that have it
const dp_node *dp_layout_take(dp_layout_work *work);                  // one that is open
// Sets the value's layout, and that of all values of its variable in all graphs; opens the nodes that have them.
void dp_layout_set(dp_layout_work *work, dp_value *v, dp_layout layout);
// Walks from the nodes that are open, in all graphs, to values for which `may` says yes, by nodes to whatever belongs
// together there and by variables to other graphs; what it comes to is `reached`.
void dp_layout_walk(dp_layout_work *works, int n_works, bool (*may)(const dp_layout_work *work, const dp_value *v));

// layout_weights.c: marks weights, once what is bound is known.
void dp_layout_find_weights(dp_layout_work *works, int n_works);

#endif
