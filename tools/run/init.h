// --init: loads weights, as dprun or others saved them: safetensors files with one tensor for each parameter and
// buffer. Floats are converted between widths as the plan needs.
#ifndef DP_TOOLS_RUN_INIT_H
#define DP_TOOLS_RUN_INIT_H

#include "runtime/session.h"
#include "tools/cli.h"

typedef struct {
  const char *path;    // a safetensors file, or an index of several (ir/file/shards.h)
  const char *prefix;  // is taken off the names that begin with it; NULL: none
  int n_renames;
  const dp_cli_pair *renames;  // name: in the file, whole; file: what it becomes
  bool partial;                // load what fits, and say what does not
  const char *written;         // a file that --save will replace, which none of these may be (EX_CONFIG); NULL: none
} dp_dprun_init;

// There must be a tensor for every parameter and buffer, of the plan's shape, and nothing else (names that begin with
// "dp." are skipped), unless `partial` is set. *left_out: what was left out, or NULL; in `arena`. EX_DATAERR; on any
// error the session is unchanged.
dp_status dp_dprun_init_load(dp_arena *arena, dp_session *session, const dp_dprun_init *init,
                             const char **left_out) DP_MUST_USE;

#endif
