// Workers that run the units of a task graph as their dependencies are met.
//
// A unit is an instruction on one device, or a collective on all devices of its group. It is ready when all its
// predecessors are done: the unit before it in its stream, the units that signal the events it waits for, and for a
// collective those of every member. No unit blocks. A ready unit is published in one or more parts, which any worker
// may run; the worker that finishes the last part makes the successors ready. The caller of dp_pool_run works too, so
// one thread is enough.
//
// A worker prefers the parts that are at home with it: devices divide the workers evenly, and a part with the same
// number of any unit of a device has the same home. So what it computes on lies in its caches, and on a machine with
// several nodes of memory where it was touched first. Who finds none of its own takes any other.
//
// While a task graph runs, nothing allocates or locks: it uses counters and a queue of atomics. Idle workers spin
// briefly, then sleep on a futex.
#ifndef DP_RUNTIME_EXEC_POOL_H
#define DP_RUNTIME_EXEC_POOL_H

#include "runtime/exec/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_pool dp_pool;

// workers: threads in total, including the caller of dp_pool_run; at least 1. DP_EX_MEMORY.
dp_status dp_pool_create(int workers, dp_pool **pool) DP_MUST_USE;
void dp_pool_destroy(dp_pool *pool);

// The state of one task graph's runs in a pool, allocated at load.
typedef struct dp_pool_state dp_pool_state;
dp_status dp_pool_prepare(const dp_pool *pool, const dp_task_graph *graph, dp_pool_state **state) DP_MUST_USE;
void dp_pool_release(dp_pool_state *state);

// Starts a run of every unit but those that are ahead: the other workers begin. One run at a time.
void dp_pool_start(dp_pool *pool, const dp_task_graph *graph, dp_pool_state *state);
// Works until every unit of the run is done. Returns the first failure, if any; after one, the remaining units are
// skipped. Called by the thread that started the run.
dp_status dp_pool_wait(dp_pool *pool) DP_MUST_USE;
// Both.
dp_status dp_pool_run(dp_pool *pool, const dp_task_graph *graph, dp_pool_state *state) DP_MUST_USE;

// The pool as an executor, which destroys it. The thread that starts a run does what is ahead in it, while the workers
// go on with the run before.
dp_executor dp_pool_executor(dp_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
