// How a model is partitioned into the stages of a pipeline: the parts of the pass `partition`. See partition.c.
#ifndef DP_PASSES_PIPELINE_PARTITION_H
#define DP_PASSES_PIPELINE_PARTITION_H

#include "passes/base/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- partition_search.c: the best cuts of a line of nodes -----------------------------------------------------------

// n nodes in a line, what each adds to its stage, and the positions between them.
typedef struct {
  int32_t n;
  const double *time;      // (n) for a micro-batch
  const double *kept;      // (n) bytes of a micro-batch kept until its backward pass
  const double *held;      // (n) bytes held permanently
  const double *crossing;  // (n + 1) bytes that cross a cut before node i
} dp_partition_line;

// The constraints on the cuts. Stage s is nodes [starts[s], starts[s + 1]), at least one.
typedef struct {
  int stages;
  const int32_t *lowest, *highest;  // (stages + 1) bounds of starts[s]
  const double *in_flight;          // (stages) micro-batches whose bytes a stage keeps at once
  double memory;                    // limit for a stage, in bytes; INFINITY: none
} dp_partition_task;

// The score of a set of cuts.
typedef struct {
  double time;    // of the slowest stage
  double memory;  // of the largest stage
  double bytes;   // crossing cuts
} dp_partition_score;

// Considers the cuts within the task's memory. Among those whose slowest stage takes at most DP_CUT_SLACK times the
// least possible, chooses the ones with the fewest bytes crossing; of equals the faster, then the smaller (both to a
// thousandth of the possible gain). If none is within the memory: the cuts whose largest stage is smallest. Sets
// starts[0 .. stages]. False: the bounds leave some stage without a node. Time: O(stages log n) for each time tried;
// for the bytes, the number of nodes where a cut within the slack may fall.
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

// stages: by node, the user's annotation; -1: none. Sets `weights`, in the arena.
dp_status dp_partition_weigh(const dp_compile *compile, const dp_graph *main, const int *stages,
                             dp_partition_weights *weights) DP_MUST_USE;
// How many nodes are alive. No more stages than that can have work.
int32_t dp_partition_count(const dp_compile *compile, const dp_graph *main, const int *stages);

// ---- partition.c ----------------------------------------------------------------------------------------------------

// By value that the host feeds, the first stage with a node that takes it, among nodes with stages (stages: by node,
// -1: none); 0: no stage does. Nodes that nothing depends on go there too, so that the host need not feed another stage
// for their sake.
int *dp_partition_fed(const dp_graph *main, const int *stages);

// ---- partition_user.c: what the user wrote --------------------------------------------------------------------------

// By node of "main", the stage that its annotation `stage` or `device` gives; -1: none.
dp_status dp_partition_user_read(const dp_compile *compile, const dp_graph *main, int *stages) DP_MUST_USE;
// Completes the stages for --strategy=manual.
dp_status dp_partition_user_complete(const dp_compile *compile, const dp_graph *main, int *stages) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
