// The options of --init, for dprun and `dpc export`.
#ifndef DP_TOOLS_WEIGHTS_OPTIONS_H
#define DP_TOOLS_WEIGHTS_OPTIONS_H

#include "tools/cli.h"

typedef struct {
  dp_arena *arena;     // the caller's
  const char *path;    // a safetensors file, an index of several (ir/file/shards.h), a folder of --save, or one
                       // checkpoint of it; NULL: not given
  const char *prefix;  // is taken off the names that begin with it; NULL: none
  int n_renames;
  dp_cli_pair *renames;  // name: in the file, whole; file: what it becomes
  bool partial;          // load what fits, and say what does not
  dp_status status;      // of the first mistake; the caller's to return or free
} dp_weights_options;

// The parser; its input is a dp_weights_options. Its options stand in group 2 of a program's help.
extern const struct argp dp_weights_argp;
// Options without what they are about. EX_USAGE.
dp_status dp_weights_options_check(const dp_weights_options *options) DP_MUST_USE;

#endif
