// dp.RandomUniform and dp.RandomNormal: initial values of parameters, at step 0.
#ifndef DP_BACKENDS_CPU_REFERENCE_RANDOM_NUMBERS_H
#define DP_BACKENDS_CPU_REFERENCE_RANDOM_NUMBERS_H

#include "backends/cpu/reference/random.h"

// Result 0 = shift + scale * number, by the seed in operand 0 and the attribute `key`.
dp_status dp_random_numbers(const dp_call *call, bool normal, double shift, double scale);

#endif
