// What a checkpoint says beside its tensors: where training stood, and what it was training. A small JSON file, which
// ends with a hash of the rest, so that a flipped bit is noticed.
#ifndef DP_RUNTIME_CHECKPOINT_RECORD_H
#define DP_RUNTIME_CHECKPOINT_RECORD_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// The best evaluation so far (--best, --early-stop).
typedef struct {
  const char *metric;  // NULL: none is watched
  double value;        // of the best; NaN: none yet
  int64_t step;        // after which it was; -1: none yet
  int64_t judged;      // the step after which the last evaluation was; -1: none yet
  int64_t waited;      // evaluations since the best
} dp_checkpoint_best;

typedef struct {
  int64_t step;      // steps completed
  int64_t epoch;     // that the next step belongs to; counts from 1
  int64_t position;  // steps of this epoch that are completed
  uint64_t seed;
  int64_t batch, samples;  // the plan's batch; the training data
  bool shuffle, drop_last;
  const char *optimizer;       // the plan's, with the schedule of its learning rate
  double lr;                   // the rate that the schedule goes by: the plan's, or that of --lr; -1: not recorded
  const char *schedule;        // of the learning rate, as --schedule said it; NULL: the optimizer's
  uint64_t data, model, plan;  // XXH3 of each
  uint64_t tensors;            // of the safetensors file: dp_checkpoint_hash, summed
  dp_checkpoint_best best;
} dp_checkpoint_record;

// The share of one tensor in `tensors`.
uint64_t dp_checkpoint_hash(const char *name, const void *data, size_t bytes);

// Writes the file as ir/base/file.h does. EX_CANTCREAT, EX_IOERR.
dp_status dp_checkpoint_record_write(const dp_checkpoint_record *record, const char *path) DP_MUST_USE;
// EX_NOINPUT: missing; EX_DATAERR: not a record, or damaged; EX_UNAVAILABLE: of a later version.
dp_status dp_checkpoint_record_read(dp_arena *arena, const char *path, dp_checkpoint_record *record) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
