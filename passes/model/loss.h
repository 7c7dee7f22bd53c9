// Shared by the parts of the pass `loss`: passes/model/loss*.c. See loss.c.
#ifndef DP_PASSES_MODEL_LOSS_H
#define DP_PASSES_MODEL_LOSS_H

#include "ir/graph/builder.h"
#include "ir/spec/spec.h"

// What one loss of the sum is made of; of rank 0 where no shape is given.
typedef struct {
  dp_value *loss;     // the mean
  dp_value *count;    // int64: how many labels, or elements, the mean is over
  dp_value *over;     // what the mean divides by, of the loss's type; NULL: the count
  dp_value *correct;  // int64: labels whose class has the highest score; NULL: there are no classes
  // For metrics. A loss with classes has scores and labels, some without have errors; NULL: it has none.
  dp_value *scores;  // [L, classes, ...]
  dp_value *labels;  // int64 [L, ...]; no class where they are ignored
  dp_value *error;   // prediction - target
} dp_loss_measures;

// Builds a loss of `prediction`, a value of floating-point numbers. A loss of no labels at all is 0.
typedef dp_status dp_loss_build(dp_builder *builder, const dp_loss_term *term, dp_value *prediction,
                                dp_loss_measures *measures);

// ---- loss.c ---------------------------------------------------------------------------------------------------------

// The model's output with that name, or any value with it; NULL: there is none.
dp_value *dp_loss_find(const dp_graph *graph, const char *name);
// The mean or sum ("ReduceMean", "ReduceSum") of all elements.
dp_value *dp_loss_reduce(dp_builder *builder, const char *op, dp_value *value);
// A constant of type dtype with the numbers of a list along dim `axis` of `rank` dims, which are 1 elsewhere.
dp_value *dp_loss_constant(dp_builder *builder, const dp_spec_list *list, dp_dtype dtype, int rank, int axis);

// ---- loss_classes.c: losses of labels that are classes --------------------------------------------------------------

dp_loss_build dp_loss_softmax_cross_entropy, dp_loss_nll;

// ---- loss_elements.c: means over elements ---------------------------------------------------------------------------

dp_loss_build dp_loss_mse, dp_loss_l1, dp_loss_smooth_l1, dp_loss_huber, dp_loss_bce_with_logits, dp_loss_kl_div,
    dp_loss_value;

#endif
