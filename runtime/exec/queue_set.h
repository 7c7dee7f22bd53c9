// The queues of a session's devices: one for each stream that a program of the plan has there. Private to the runtime.
#ifndef DP_RUNTIME_EXEC_QUEUE_SET_H
#define DP_RUNTIME_EXEC_QUEUE_SET_H

#include "runtime/exec/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  dp_lane lane;
  dp_queue *queue;
  dp_event *over;   // when the older run's part of it is done
  dp_event *taken;  // when the part of the run started last is done, where that is ahead
  dp_event *met;    // when it is done in a capture
} dp_lane_queue;

typedef struct {
  const dp_backend *backend;
  int n_queues;
  dp_lane_queue *queues;  // (n_queues)
  dp_event *joined;       // where queues meet; NULL: there is no queue yet
  dp_queue *clock;        // an idle queue, on which runs note when they were started; NULL: nobody asks
} dp_queue_set;

// The number of the queue for a lane, which is made if it is not there. Lanes of different programs that are alike
// share one: lane k of a program's device is the device's k-th queue. DP_EX_MEMORY, EX_UNAVAILABLE.
dp_status dp_queue_set_find(dp_queue_set *set, const dp_task_graph *graph, int lane, int *found) DP_MUST_USE;
void dp_queue_set_release(dp_queue_set *set);

#ifdef __cplusplus
}
#endif
#endif
