// Passes that others run on a copy of a model, to find out what training will compute; and a graph for inference.
#ifndef DP_PASSES_TRAIN_TRAIN_H
#define DP_PASSES_TRAIN_TRAIN_H

#include "passes/base/pass.h"

// *inferring: the graph with the nodes of training mode (BatchNormalization, Dropout) as inference computes them; all
// others, and the names of inputs and outputs, stay. It is not yet one of the model's. EX_UNAVAILABLE.
dp_status dp_programs_infer(const dp_graph *main, dp_graph **inferring) DP_MUST_USE;

extern const dp_pass dp_pass_programs, dp_pass_autodiff;

#endif
