// Shared by the parts of the pass `roles`: passes/pipeline/roles*.c. See roles.c.
#ifndef DP_PASSES_PIPELINE_ROLES_H
#define DP_PASSES_PIPELINE_ROLES_H

#include "ir/graph/op.h"
#include "passes/base/pass.h"

// A node on one stage. Nodes that read parameters or the host exist once for each stage that uses them.
typedef struct {
  dp_node *node;
  int stage;
  bool from_host;  // a transfer; it goes where its first user needs it
  bool backward;   // depends on a higher stage's computation
  int micro;       // its micro-batch, the last if several; -1: all of them
  int32_t
      position;  // position in the order of all stages; for a transfer from the host, its first user's; -1: none yet
  int run;       // the number of its stage's runs (roles_order.c) before its own
} dp_roles_item;

// A value that a stage receives from another one or from the host, once, before its first user.
typedef struct dp_roles_arrival {
  int stage;
  const dp_value *value;  // of the stage `from`
  int from;               // -1: from the host, by the node of `item`
  int32_t item;           // from the host: the transfer; else what computes the value, or -1: nothing does, it is a
                          // variable
  int run;                // the first user's
  struct dp_roles_arrival *next;  // at the same position of the order
} dp_roles_arrival;

// By run of a stage: its first computing item. `positions` has run r's position in the order of all stages.
typedef struct {
  int count;
  int32_t *positions;
} dp_roles_runs;

typedef struct {
  dp_graph *graph;  // all stages together
  dp_arena *scratch;
  int n_stages, m;  // micro-batches
  int32_t n_items;  // in the graph's order
  dp_roles_item *items;
  int32_t *first;  // (nodes + 1) the items of node i are first[i] .. first[i + 1] - 1
  // Set by dp_roles_order_make.
  int32_t n_order;
  int32_t *order;               // (n_order) items that are not from the host
  dp_roles_arrival **arrivals;  // (n_order + 1) linked lists of those right before position i
  dp_roles_runs *runs;          // (stages)
} dp_roles;

// ---- roles.c --------------------------------------------------------------------------------------------------------

// The item that computes a result for use on `stage`: the one on that stage, if any.
int32_t dp_roles_item_of(const dp_roles *roles, const dp_value *value, int stage);
// The stage from which `stage` gets an operand: itself, or another.
int dp_roles_source(const dp_roles *roles, const dp_value *value, int stage);
// Makes a node wait for an event of an earlier one.
void dp_roles_wait(dp_node *node, dp_node *before);
// Whether the stage has the variable.
bool dp_roles_is_storage(const dp_variable *variable, int stage);

// ---- roles_tasks.c --------------------------------------------------------------------------------------------------

// What a stage does for a micro-batch, forward or backward.
typedef struct {
  int stage, micro;
  bool backward;
  double start;  // in the simulation
} dp_roles_task;

// Sets each item's task.
void dp_roles_tasks_find(dp_roles *roles);
// The tasks in an order in which all stages can proceed: the schedule's. Returns how many; 0 when the stages depend on
// each other in ways that the schedule does not support, or nothing belongs to a single micro-batch.
int32_t dp_roles_tasks_order(const dp_roles *roles, bool gpipe, dp_roles_task **tasks);

// ---- roles_order.c --------------------------------------------------------------------------------------------------

void dp_roles_order_make(dp_roles *roles, bool gpipe);

// ---- roles_split.c --------------------------------------------------------------------------------------------------

// Makes a graph for each stage, with transfers between them and the events that order them. graphs: (stages)
dp_status dp_roles_split_make(const dp_roles *roles, dp_graph **graphs) DP_MUST_USE;

#endif
