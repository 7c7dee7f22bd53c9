// A task graph as steps on queues: in which order the host issues them, and which waits between queues are needed.
// Private to the runtime.
#ifndef DP_RUNTIME_EXEC_QUEUE_PROGRAM_H
#define DP_RUNTIME_EXEC_QUEUE_PROGRAM_H

#include "runtime/exec/queue_set.h"

#ifdef __cplusplus
extern "C" {
#endif

// Issues one unit.
typedef struct {
  int unit;
  int first_wait, n_waits;  // of the program's waits: steps
  dp_event *signal;         // NULL: nobody waits for it
  dp_event *begin, *end;    // timed; NULL: nobody asks
  int clock;                // of the set's, that they go by
} dp_queue_step;

typedef struct dp_queue_program dp_queue_program;
struct dp_queue_program {
  const dp_task_graph *graph;
  int *queue_of_lane;  // (lanes) number in the set
  int n_steps;
  dp_queue_step *steps;  // in the order of issue
  int *waits;            // numbers of steps
  int n_clocks;          // of the set's; 0: nobody asks
  dp_event **origins;    // (n_clocks) timed, of the run's start; NULL: no step goes by that clock
  int64_t *origins_ns;   // (n_clocks)
  int most_members;      // of a unit
  dp_queue **members;    // (most_members) room for the queues of a unit
  bool several_chips;    // its lanes are on more than one physical device
  uint64_t runs;         // that were started
  bool refused;          // the backend could not capture one
  // What was captured of a run with either slot; NULL: nothing yet. used: when it was started last.
  dp_captured *captured[DP_RUNS];
  uint64_t used[DP_RUNS];
  dp_queue_program *next;  // of the executor's
};

// DP_EX_MEMORY, EX_UNAVAILABLE. The graph must outlive the program.
dp_status dp_queue_program_make(dp_queue_set *set, const dp_task_graph *graph, dp_queue_program **program) DP_MUST_USE;
void dp_queue_program_release(const dp_queue_set *set, dp_queue_program *program);  // NULL is allowed

dp_lane_queue *dp_queue_program_queue(const dp_queue_set *set, const dp_queue_program *program, int lane);

#ifdef __cplusplus
}
#endif
#endif
