// --resume: goes on from the newest whole checkpoint of a folder.
#ifndef DP_TOOLS_RUN_RESUME_H
#define DP_TOOLS_RUN_RESUME_H

#include "runtime/checkpoint/record.h"
#include "runtime/session.h"

// What may differ between a checkpoint and the run that goes on from it, as --allow-change names it.
typedef enum {
  DP_CHANGE_BATCH = 1 << 0,
  DP_CHANGE_DATA = 1 << 1,
  DP_CHANGE_MODEL = 1 << 2,
  DP_CHANGE_OPTIMIZER = 1 << 3,
  DP_CHANGE_ORDER = 1 << 4,  // --shuffle, --drop-last
  DP_CHANGE_SEED = 1 << 5,
  DP_CHANGE_LR = 1 << 6,        // --lr
  DP_CHANGE_METRIC = 1 << 7,    // of --best, --early-stop
  DP_CHANGE_SCHEDULE = 1 << 8,  // --schedule
} dp_dprun_change;

// The bit of a name; 0: there is no such name. *names: all of them, for messages.
unsigned dp_dprun_change_find(const char *name, const char **names);

// Loads the newest whole checkpoint into the session. *record: the checkpoint's; its step is -1 if the folder has none.
// Damaged ones that are newer are named on stderr and passed over. `now` is this run's record, `allowed` the changes
// that are allowed. EX_DATAERR: none is whole, or its tensors are not the model's; EX_CONFIG: it is of another run.
dp_status dp_dprun_resume(dp_arena *arena, const char *folder, const dp_checkpoint_record *now, unsigned allowed,
                          dp_session *session, dp_checkpoint_record *record) DP_MUST_USE;

#endif
