// Passes that others run on a copy of a model, to find out what training will compute.
#ifndef DP_PASSES_TRAIN_TRAIN_H
#define DP_PASSES_TRAIN_TRAIN_H

#include "passes/base/pass.h"

extern const dp_pass dp_pass_programs, dp_pass_autodiff;

#endif
