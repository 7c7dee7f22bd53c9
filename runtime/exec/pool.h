// Workers that run the units of a schedule as their dependencies are met.
//
// A unit is an instruction on one device, or a collective on all devices of its group. It is ready when every unit before
// it is done: the one before it in its stream, those whose events it waits for, and for a collective those of every member.
// No unit blocks. A ready unit is published in one or more parts that any workers run; whoever finishes the last part makes
// the units after it ready. The caller of dp_pool_run is a worker too, so one thread is enough.
//
// While a schedule runs, nothing allocates and nothing locks: counters and a queue of atomics; workers without work spin
// briefly, then sleep on a futex.
#ifndef DP_RUNTIME_EXEC_POOL_H
#define DP_RUNTIME_EXEC_POOL_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Units are numbered 0 .. n_units - 1.
typedef struct {
  int n_units;
  int *n_parts;      // (n_units), each 1 .. 65535
  int *n_before;     // (n_units) edges into it
  int *first_after;  // (n_units + 1) into `after`
  int *after;
  dp_status (*run)(void *context, int unit, int part, int parts);
  void *context;
} dp_task_graph;

typedef struct dp_pool dp_pool;

// workers: threads in all, the caller's counted; at least 1.
dp_status dp_pool_create(int workers, dp_pool **pool) DP_MUST_USE;
void dp_pool_destroy(dp_pool *pool);

// What one schedule needs to run, made at load. Sets the queue's room.
typedef struct dp_pool_state dp_pool_state;
dp_status dp_pool_prepare(const dp_task_graph *schedule, dp_pool_state **state) DP_MUST_USE;
void dp_pool_release(dp_pool_state *state);

// Runs every unit and returns when all are done: the first failure, if any (the units after a failure are passed over).
dp_status dp_pool_run(dp_pool *pool, const dp_task_graph *schedule, dp_pool_state *state) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
