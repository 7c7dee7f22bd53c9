// How a model is cut into the stages of a pipeline: the parts of the pass `cut`. See partition.c.
#ifndef DP_PASSES_PIPELINE_PARTITION_H
#define DP_PASSES_PIPELINE_PARTITION_H

#include "passes/base/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- partition_search.c: the best cuts of a line of nodes -----------------------------------------------------------

// n nodes in a line, each with what it adds to the stage that it is on, and the places between them.
typedef struct {
  int32_t n;
  const double *time;      // (n) of a micro-batch
  const double *kept;      // (n) bytes of a micro-batch that its backward waits for
  const double *held;      // (n) bytes that are held all the time
  const double *crossing;  // (n + 1) bytes that cross a cut before node i
} dp_partition_line;

// What is asked of the cuts: stage s is nodes [starts[s], starts[s + 1]), of which there is at least one.
typedef struct {
  int stages;
  const int32_t *lowest, *highest;  // (stages + 1) bounds of starts[s]
  const double *in_flight;          // (stages) micro-batches whose bytes a stage keeps at the same time
  double memory;                    // bytes a stage may take; INFINITY: any
} dp_partition_task;

// What cuts that were found come to.
typedef struct {
  double time;    // of the stage that takes longest
  double memory;  // of the stage that takes most
  double bytes;   // that cross cuts
} dp_partition_score;

// Of all cuts within the task's memory those whose longest stage is shortest; of those that take at most DP_CUT_SLACK
// times as long, the ones that fewest bytes cross; of equals the shorter one, then the smaller one (both to a part in a
// thousand of what there was to gain). Where none is within the memory: the cuts whose largest stage is smallest. Sets
// starts[0 .. stages]. False: the bounds leave some stage without a node. Time: O(stages log n) for each try of a time,
// and for the bytes the nodes that a cut within that slack may fall on.
#define DP_CUT_SLACK 1.05
bool dp_partition_search(dp_arena *arena, const dp_partition_line *line, const dp_partition_task *task, int32_t *starts,
                         dp_partition_score *score) DP_MUST_USE;

// ---- partition_weigh.c: what the nodes of "main" weigh --------------------------------------------------------------

// By node of "main".
typedef struct {
  double *time, *kept, *held;  // as in dp_partition_line
  bool *folded;                // computed from constants alone, at compile time
  bool *alive;                 // a step needs it, or the user put it on a stage, and it is not folded
} dp_partition_weights;

// stages: by node, where the user put it; -1: nowhere.
dp_status dp_partition_weigh(const dp_compile *compile, const dp_graph *main, const int *stages,
                             dp_partition_weights *weights) DP_MUST_USE;

// ---- partition.c ----------------------------------------------------------------------------------------------------

// By value that the host feeds, the first stage that a node of takes it, as far as nodes have stages (stages: by node,
// -1: none); 0: no stage does. What nothing depends on goes there too, so that the host feeds it to no other stage for
// its sake.
int *dp_partition_fed(const dp_graph *main, const int *stages);

// ---- partition_user.c: what the user wrote --------------------------------------------------------------------------

// By node of "main", the stage that `stage` or `device` puts it on; -1: none.
dp_status dp_partition_user_read(const dp_compile *compile, const dp_graph *main, int *stages) DP_MUST_USE;
// Completes them for --strategy=manual.
dp_status dp_partition_user_complete(const dp_compile *compile, const dp_graph *main, int *stages) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
