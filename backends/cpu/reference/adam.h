// The factors of one step of dp.Adam, which its kernels share.
#ifndef DP_BACKENDS_CPU_REFERENCE_ADAM_H
#define DP_BACKENDS_CPU_REFERENCE_ADAM_H

#include "backends/cpu/reference/adam_rule.h"
#include "ir/kernel/kernel.h"

// The factors of this step, of the operands.
dp_adam_rule dp_adam_rule_of(const dp_kernel_spec *spec, const void *const *in);

#endif
