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
  dp_event *met;    // where queues meet: when it is done in a capture, or where others go on
} dp_lane_queue;

// A physical device's clock: an idle queue of one of its devices.
typedef struct {
  int chip, device;
  dp_queue *queue;
} dp_queue_clock;

typedef struct {
  const dp_backend *backend;
  int n_queues;
  dp_lane_queue *queues;  // (n_queues)
  int n_clocks;           // 0: nobody asks
  dp_queue_clock *clocks;
} dp_queue_set;

// The number of the queue for a lane, which is made if it is not there. Lanes of different programs that are alike
// share one: lane k of a program's device is the device's k-th queue. DP_EX_MEMORY, EX_UNAVAILABLE.
dp_status dp_queue_set_find(dp_queue_set *set, const dp_task_graph *graph, int lane, int *found) DP_MUST_USE;
void dp_queue_set_release(dp_queue_set *set);

// The number of the physical device that a device of the plan is on.
int dp_queue_set_chip(const dp_queue_set *set, int device);
// The number of the clock of a device, on which runs note when they were started. Made if it is not there.
// DP_EX_MEMORY, EX_UNAVAILABLE.
dp_status dp_queue_set_clock(dp_queue_set *set, int device, int *found) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
