// What runs a bound program. Two kinds: a pool of workers, which call kernels that compute at once (pool.h), and queues
// of devices that work by themselves (queues.h).
#ifndef DP_RUNTIME_EXEC_EXECUTOR_H
#define DP_RUNTIME_EXEC_EXECUTOR_H

#include "runtime/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

// A device's stream.
typedef struct {
  int device;
  bool urgent;
  bool ahead;  // begins beside the run before; nothing of it waits for other lanes
} dp_lane;

// What is to be done, and in what order. Units are numbered 0 .. n_units - 1.
typedef struct {
  int n_units;
  int *n_parts;      // (n_units), each 1 .. 65535
  int *n_before;     // (n_units) incoming edges; arrivals are not among them
  int *first_after;  // (n_units + 1) into `after`
  int *after;
  // Workers run a unit in parts; queues take it whole. `explain` adds what the unit is to a failure.
  dp_status (*run)(void *context, int unit, int part, int parts);
  void *context;
  // Of units that only start something: the unit that goes on when it has ended (`arrive`); -1 for others. NULL: there
  // are none. Such a unit has one part; when a run has failed, its successor goes on without it.
  int *arrives_at;  // (n_units)
  // The run has failed: called once, by any thread, while units still run. NULL: nobody asks.
  void (*abandon)(void *context);
  // queues: of the unit's lanes, in their order.
  dp_status (*enqueue)(void *context, int unit, dp_queue *const *queues);
  bool waits;  // `enqueue` waits for what it puts on the queue, so it cannot be captured
  dp_status (*explain)(void *context, int unit, dp_status status);
  // Queues report here when a unit was done, on the monotonic clock, once the run is over. NULL: nobody asks.
  void (*record)(void *context, int unit, int64_t begin_ns, int64_t end_ns);
  int n_lanes;
  dp_lane *lanes;  // (n_lanes)
  // The lanes of the unit's devices. The first does the unit, and the others may do parts of it: what comes later in
  // them comes after the unit anyway. If the unit spreads, each of them does its own part, waits for what its own
  // device does before, and goes on by itself.
  int *n_lanes_of;  // (n_units) at least 1
  int **lanes_of;   // (n_units), (n_lanes_of)
  bool *spreads;    // (n_units)
} dp_task_graph;

// Visits the units in an order that every edge agrees with; returns how many it reached. Fewer than n_units: the others
// wait for each other. `order` has room for n_units.
int dp_task_graph_order(const dp_task_graph *graph, int *order, int *before);

enum { DP_RUNS = 2 };  // that may be on at once

typedef struct {
  // Made once for each task graph; the graph must outlive it. DP_EX_MEMORY, EX_UNAVAILABLE.
  dp_status (*prepare)(void *executor, const dp_task_graph *graph, void **state);
  void (*release)(void *executor, void *state);
  // Starts a run and returns. Two runs at most may be on, of different slots (0 or 1): lanes of the second that are
  // ahead begin at once, the others when the first is over. Runs of a graph with the same slot do the same at the same
  // addresses.
  dp_status (*start)(void *executor, const dp_task_graph *graph, void *state, int slot);
  // Returns when the lanes that are ahead of the run started last are done, or have failed.
  dp_status (*taken)(void *executor);
  // Ends the older run: returns when every unit of it is done, or it has failed. After a failure, no run is on.
  dp_status (*wait)(void *executor);
  void (*destroy)(void *executor);
  // What a unit of the current run waits for beside its edges has happened, or has failed. Called by any thread, once
  // for each unit that another one of the graph `arrives_at`. Owns the status. NULL: the executor takes no such graphs.
  void (*arrive)(void *executor, int unit, dp_status status);
  // Why runs go slower than they could, valid until `destroy`; NULL: they do not. NULL itself: it is never so.
  const char *(*remark)(const void *executor);
} dp_executor_calls;

typedef struct {
  const dp_executor_calls *calls;
  void *self;
} dp_executor;

// The executor for a backend. workers: threads in total, at least 1; queues have none. DP_EX_MEMORY.
dp_status dp_executor_create(const dp_backend *backend, int workers, dp_executor *executor) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
