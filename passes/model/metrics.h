// What is measured of a prediction beside its loss (--metrics): outputs of "main" that the programs give under the same
// names. Private to the passes on the source model.
#ifndef DP_PASSES_MODEL_METRICS_H
#define DP_PASSES_MODEL_METRICS_H

#include "passes/model/loss.h"

// Adds the outputs of a list such as "accuracy,top5": for "eval" under their own names, and for "train" under
// DP_TRAINING_OUTPUT + name where they cost little. "none" or NULL adds none; "auto" stands for accuracy of a loss with
// few classes, else for nothing. EX_USAGE: a name is unknown or twice; EX_CONFIG: it does not go with the loss. What
// fails while building is in builder->status.
dp_status dp_model_metrics_add(dp_builder *builder, const char *list, const dp_loss_measures *measured) DP_MUST_USE;

#endif
