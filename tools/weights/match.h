// Which tensor of a file is which variable of the model, and what is left over on either side.
#ifndef DP_TOOLS_WEIGHTS_MATCH_H
#define DP_TOOLS_WEIGHTS_MATCH_H

#include "ir/file/safetensors.h"
#include "ir/graph/graph.h"

// What a checkpoint calls the moving average of a parameter (docs/optimizers.md): this, and the parameter's name.
#define DP_WEIGHTS_AVERAGE "dp.ema/"
bool dp_weights_is_average(const char *name);
// The variable that holds the average of this one; -1: there is none.
int32_t dp_weights_average_of(dp_arena *arena, const dp_model *model, int32_t variable);

// A tensor in a file, under the name that it has in the model.
typedef struct {
  const char *name;
  const dp_safetensors *file;
  const dp_safetensor *entry;
} dp_weights_source;

// Whether the variable is one that --save=FILE.safetensors writes: a parameter or a buffer.
bool dp_weights_is_weight(const dp_variable *variable);
// The same or the optimizer's state: what a checkpoint has. Constants are the plan's.
bool dp_weights_is_kept(const dp_variable *variable);
// A tensor of the variable's type and shape, without data.
dp_tensor dp_weights_tensor_of(const dp_variable *variable);

// Whether a tensor of a file can be loaded where another one is wanted; convert: also a float of another width.
bool dp_weights_fits(const dp_tensor *found, const dp_tensor *wanted, bool convert);

typedef struct {
  bool (*wanted)(const dp_variable *variable);
  bool convert;  // accept floats of another width
  bool partial;  // go on with what fits
} dp_weights_matching;

// Finds the source of each wanted variable: (*found)[i] for variable i, NULL for none. Refused is what PyTorch's
// load_state_dict(strict=True) refuses, in one message with the same lists: variables without a tensor, tensors without
// a variable, and those of another shape or type. With `partial`, *left_out is that message instead, or NULL. Two
// tensors of one name are refused in any case. EX_DATAERR.
dp_status dp_weights_match(dp_arena *arena, const dp_model *model, const dp_weights_source *sources, size_t count,
                           const dp_weights_matching *matching, const dp_weights_source ***found,
                           const char **left_out) DP_MUST_USE;

#endif
