// See executor.h.
#include "runtime/exec/executor.h"

#include <string.h>

#include "runtime/exec/pool.h"
#include "runtime/exec/queues.h"

int dp_task_graph_order(const dp_task_graph *g, int *order, int *before) {
  int done = 0, ready = 0;
  if (g->n_units) memcpy(before, g->n_before, (size_t)g->n_units * sizeof *before);
  for (int u = 0; u < g->n_units; u++)
    if (!before[u]) order[ready++] = u;
  while (done < ready) {
    int u = order[done++];
    for (int i = g->first_after[u]; i < g->first_after[u + 1]; i++)
      if (!--before[g->after[i]]) order[ready++] = g->after[i];
  }
  return done;
}

dp_status dp_executor_create(const dp_backend *backend, int workers, dp_executor *executor) {
  if (backend->queues) return dp_queues_create(backend, executor);
  dp_pool *pool;
  DP_TRY(dp_pool_create(workers, &pool));
  *executor = dp_pool_executor(pool);
  return DP_OK;
}
