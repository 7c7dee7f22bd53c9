// A few threads that share one job at a time. Private to the loader.
#ifndef DP_RUNTIME_DATA_WORKERS_H
#define DP_RUNTIME_DATA_WORKERS_H

#include "ir/base/base.h"

typedef struct dp_workers dp_workers;

// `count` workers: the thread that calls dp_workers_run, and count - 1 others. DP_EX_MEMORY.
dp_status dp_workers_create(int count, dp_workers **workers) DP_MUST_USE;
// Calls run(context, worker, item) once for each item in [0, items), worker in [0, count). Returns when all are done.
void dp_workers_run(dp_workers *workers, int64_t items, void (*run)(void *context, int worker, int64_t item),
                    void *context);
void dp_workers_destroy(dp_workers *workers);  // NULL is allowed

#endif
