// --init: weights of files, as dprun or others saved them, for the parameters and buffers of a model.
#ifndef DP_TOOLS_WEIGHTS_LOAD_H
#define DP_TOOLS_WEIGHTS_LOAD_H

#include "ir/graph/graph.h"
#include "tools/weights/options.h"

// The data is in the variables' types and row-major order; NULL where the files have none.
typedef struct {
  const char *path;   // what was read: a file, an index, or the folder of a checkpoint
  const void **data;  // (variables) of parameters and buffers
  const void *
      *averages;         // (variables) of parameters in `data`: their moving averages (docs/optimizers.md), in the type
                         // of the variable that the model keeps them in, if it does, else in the parameter's
  const char *left_out;  // with --init-partial: the lists of what does not fit; NULL: all does
} dp_weights;

// Reads all of it to `arena`. There must be a tensor for every parameter and buffer, of its shape, and nothing else
// (names that begin with "dp." are a checkpoint's: averages are taken, the rest is skipped), unless --init-partial is
// given. Floats are converted between widths. written: files that will be written, which none of those read may be
// (EX_CONFIG). EX_NOINPUT: missing; EX_DATAERR: damaged, or not the model's.
dp_status dp_weights_load(dp_arena *arena, const dp_model *model, const dp_weights_options *options,
                          const dp_cli_file *written, int n_written, dp_weights *weights) DP_MUST_USE;
// Says on stderr what of the folder was taken, and what was left out.
void dp_weights_note(const dp_weights_options *options, const dp_weights *weights);

#endif
