// The factors of one step of dp.Adam, which its kernels share.
#ifndef DP_BACKENDS_CPU_REFERENCE_ADAM_H
#define DP_BACKENDS_CPU_REFERENCE_ADAM_H

#include "backends/cpu/reference/adam_rule.h"
#include "ir/kernel/kernel.h"

// The factors at that step, counted from 0.
dp_adam_rule dp_adam_rule_of(const dp_node *node, double lr, int64_t step);

#endif
