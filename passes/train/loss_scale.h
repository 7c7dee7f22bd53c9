// The scale of the loss, with --precision=fp16: gradients are computed of the loss times the scale, so that small ones
// are not 0 in float16. A step with a gradient that is not finite is skipped and halves the scale; the scale doubles
// after 2,000 steps without one. The numbers are those of PyTorch's GradScaler. Scale and count are state of the plan.
#ifndef DP_PASSES_TRAIN_LOSS_SCALE_H
#define DP_PASSES_TRAIN_LOSS_SCALE_H

#include "passes/base/pass.h"
#include "passes/train/optimizer.h"

#define DP_SCALE_STATE "dp.loss_scale"
#define DP_SCALE_STEPS_STATE "dp.loss_scale_steps"  // since the scale changed: int64
#define DP_SKIPPED_OUTPUT "skipped"                 // of "train": 1 if the step was skipped for its gradients, else 0

// Whether the program has a scale.
bool dp_loss_scale_is_on(const dp_options *options);
// The gradient that differentiation begins with: the scale, of type `dtype` and rank 0. Adds it to the model.
dp_value *dp_loss_scale_begin(dp_builder *builder, dp_dtype dtype);
// Gives gradients the inverse of the scale as their factor.
void dp_loss_scale_undo(dp_builder *builder, int n_items, dp_optimizer_item *items);
// How many elements of the gradients are not finite: an int64 of rank 0.
dp_value *dp_loss_scale_overflow(dp_builder *builder, int n_items, const dp_optimizer_item *items);
// Updates the scale by that number, unless `refused` (optimizer_skip.c, may be NULL) is not 0. After all that reads the
// scale, and before all that is computed from `refused`. Adds the output DP_SKIPPED_OUTPUT.
void dp_loss_scale_update(dp_builder *builder, dp_value *overflow, dp_value *refused);

#endif
