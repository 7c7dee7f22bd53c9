// See queue_set.h.
#include "runtime/exec/queue_set.h"

#include <stdlib.h>

static dp_status add(dp_queue_set *set, const dp_lane *lane) {
  const dp_queue_calls *calls = set->backend->queues;
  dp_lane_queue *queues = realloc(set->queues, ((size_t)set->n_queues + 1) * sizeof *queues);
  if (!queues) return dp_fail(DP_EX_MEMORY, "no memory for the queues of the devices");
  set->queues = queues;
  dp_lane_queue *q = &queues[set->n_queues];
  *q = (dp_lane_queue){.lane = *lane};
  DP_TRY(calls->create(lane->device, lane->urgent, &q->queue));
  set->n_queues++;  // from here on, it is released
  DP_TRY(calls->event_create(lane->device, false, &q->over));
  DP_TRY(calls->event_create(lane->device, false, &q->taken));
  return calls->event_create(lane->device, false, &q->met);
}

dp_status dp_queue_set_find(dp_queue_set *set, const dp_task_graph *graph, int lane, int *found) {
  int earlier = 0;
  for (int l = 0; l < lane; l++) earlier += graph->lanes[l].device == graph->lanes[lane].device;
  for (int q = 0; q < set->n_queues; q++)
    if (set->queues[q].lane.device == graph->lanes[lane].device && !earlier--) {
      *found = q;
      return DP_OK;
    }
  *found = set->n_queues;
  return add(set, &graph->lanes[lane]);
}

int dp_queue_set_chip(const dp_queue_set *set, int device) {
  return set->backend->chip ? set->backend->chip(device) : 0;
}

dp_status dp_queue_set_clock(dp_queue_set *set, int device, int *found) {
  const int chip = dp_queue_set_chip(set, device);
  for (*found = 0; *found < set->n_clocks; ++*found)
    if (set->clocks[*found].chip == chip) return DP_OK;
  dp_queue_clock *clocks = realloc(set->clocks, ((size_t)set->n_clocks + 1) * sizeof *clocks);
  if (!clocks) return dp_fail(DP_EX_MEMORY, "no memory for the queues of the devices");
  set->clocks = clocks;
  dp_queue *queue;
  DP_TRY(set->backend->queues->create(device, true, &queue));
  clocks[set->n_clocks++] = (dp_queue_clock){chip, device, queue};
  return DP_OK;
}

void dp_queue_set_release(dp_queue_set *set) {
  const dp_queue_calls *calls = set->backend->queues;
  for (int q = 0; q < set->n_queues; q++) {
    calls->destroy(set->queues[q].queue);
    dp_event *const events[] = {set->queues[q].over, set->queues[q].taken, set->queues[q].met};
    for (size_t i = 0; i < DP_COUNT(events); i++)
      if (events[i]) calls->event_destroy(events[i]);
  }
  for (int c = 0; c < set->n_clocks; c++) calls->destroy(set->clocks[c].queue);
  free(set->clocks);
  free(set->queues);
}
