// What the parts of the pass `roles` share: passes/roles*.c. See roles.c.
#ifndef DP_PASSES_PIPELINE_ROLES_H
#define DP_PASSES_PIPELINE_ROLES_H

#include "ir/graph/op.h"
#include "passes/base/pass.h"

// A node on one stage. What reads parameters or the host is there once for each stage that uses it.
typedef struct {
  dp_node *node;
  int stage;
  bool from_host;  // a transfer: it goes where its first user needs it
  bool backward;   // comes after what a higher stage computes
  int micro;       // the micro-batch, the last if several; -1: of all of them
  int32_t place;   // in the order of all stages; from the host: its first user's; -1: none yet
  int run;         // of its stage: how many runs (roles_order.c) there were before the one that it is in
} dp_roles_item;

// What a stage gets from another one or from the host, once: before its first user.
typedef struct dp_roles_arrival {
  int stage;
  const dp_value *value;  // of the stage `from`
  int from;               // -1: of the host, by the node of `item`
  int32_t item;           // from the host: itself; else what computes the value, or -1: nothing, it is persistent
  int run;                // of the first user
  struct dp_roles_arrival *next;  // at the same place of the order
} dp_roles_arrival;

// One of the computation of a stage's runs each: the first. `places` of run r, in the order of all stages.
typedef struct {
  int count;
  int32_t *places;
} dp_roles_runs;

typedef struct {
  dp_graph *graph;  // of all stages
  dp_arena *scratch;
  int n_stages, m;  // micro-batches
  int32_t n_items;  // in the graph's order
  dp_roles_item *items;
  int32_t *first;  // (nodes + 1) the items of node i are first[i] .. first[i + 1]
  // Set by dp_roles_order_make.
  int32_t n_order;
  int32_t *order;               // (n_order) items that are not from the host
  dp_roles_arrival **arrivals;  // (n_order + 1) those that come right before place i, the first of a list
  dp_roles_runs *runs;          // (stages)
} dp_roles;

// ---- roles.c --------------------------------------------------------------------------------------------------------

// Which item computes a result where `stage` can use it: on that stage if there is one.
int32_t dp_roles_item_of(const dp_roles *roles, const dp_value *value, int stage);
// The stage from which `stage` has an operand: itself, or another.
int dp_roles_source(const dp_roles *roles, const dp_value *value, int stage);
// Has a node wait for an event of one that comes before it.
void dp_roles_wait(dp_node *node, dp_node *before);
// Whether the stage has the variable.
bool dp_roles_is_storage(const dp_variable *variable, int stage);

// ---- roles_tasks.c --------------------------------------------------------------------------------------------------

// All that a stage does of a micro-batch, forward or backward.
typedef struct {
  int stage, micro;
  bool backward;
  double start;  // on the simulated clock
} dp_roles_task;

// Says of each item which task it is of.
void dp_roles_tasks_find(dp_roles *roles);
// The tasks in an order in which all stages can work: those of the schedule. 0 of them when the stages depend on each
// other in ways that it has no place for, or there is nothing of single micro-batches.
int32_t dp_roles_tasks_order(const dp_roles *roles, bool gpipe, dp_roles_task **tasks);

// ---- roles_order.c --------------------------------------------------------------------------------------------------

void dp_roles_order_make(dp_roles *roles, bool gpipe);

// ---- roles_split.c --------------------------------------------------------------------------------------------------

// A graph for each stage, with transfers between them and the events that hold them apart. graphs: (stages)
dp_status dp_roles_split_make(const dp_roles *roles, dp_graph **graphs) DP_MUST_USE;

#endif
