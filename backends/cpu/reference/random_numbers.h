// dp.RandomUniform and dp.RandomNormal: initial values of parameters, at step 0, and numbers that a network draws at
// each step.
#ifndef DP_BACKENDS_CPU_REFERENCE_RANDOM_NUMBERS_H
#define DP_BACKENDS_CPU_REFERENCE_RANDOM_NUMBERS_H

#include "backends/cpu/reference/random.h"

// Result 0 = shift + scale * number, by the seed in operand 0, the step in operand 1 (0 without) and the attribute
// `key`.
dp_status dp_random_numbers(const dp_call *call, bool normal, double shift, double scale);

#endif
