// dprun's command line.
#ifndef DP_TOOLS_RUN_OPTIONS_H
#define DP_TOOLS_RUN_OPTIONS_H

#include "ir/spec/spec.h"
#include "tools/backends.h"
#include "tools/cli.h"
#include "tools/run/options_generate.h"
#include "tools/run/options_watch.h"
#include "tools/weights/options.h"

typedef struct {
  const char *plan;
  int n_data, n_eval_data, n_outputs, n_augments;
  dp_cli_pair *data, *eval_data, *outputs, *augments;
  double validation;  // share of the samples to evaluate and not to train on; 0: not given
  int64_t workers;    // that read the data; 0: not given
  int64_t prefetch;   // batches that are ready ahead
  bool skip_broken, bench_data;
  int64_t epochs, steps;  // -1: not given
  double lr;              // -1: not given
  const char *schedule;   // of the learning rate; NULL: not given
  dp_learning_rate_spec schedule_spec;
  bool infer, shuffle, drop_last, explain, quiet, stop_on_nan;
  uint64_t seed;
  dp_weights_options init;
  const char *save, *metrics, *trace;  // NULL: not given
  const char *make_code;               // a folder; NULL: not given
  bool checkpoints;                    // --save names a folder of checkpoints
  bool save_sync;
  int64_t save_every, keep;        // steps, checkpoints; 0: not given
  const char *resume;              // the folder to go on from; NULL: not asked for
  unsigned allowed;                // dp_dprun_change, by --allow-change
  const dp_backend_entry *device;  // NULL: not given
  const char *devices;             // the part after the backend's colon; NULL: not given
  double timeout;                  // seconds; 0: never; -1: not given
  const char *map;                 // places of the plan's devices in that list; NULL: not given
  int64_t threads;                 // workers; 0: one for each core
  dp_dprun_watch_options watch;
  dp_dprun_generate_options generate;
} dp_dprun_options;

// Parses the command line. Lists live in `arena`; texts point into argv. EX_USAGE; EX_CONFIG: contradictory options;
// EX_UNAVAILABLE: not built. --help and --version print and end the process.
dp_status dp_dprun_options_parse(dp_arena *arena, int argc, char **argv, dp_dprun_options *options) DP_MUST_USE;
// All files that are read or written, each with the name of its option; paths may be NULL.
void dp_dprun_options_files(dp_arena *arena, const dp_dprun_options *options, dp_cli_file **files, int *count);
// Whether metrics or a trace go to standard output, so that nothing else may.
bool dp_dprun_options_use_stdout(const dp_dprun_options *options);

#endif
