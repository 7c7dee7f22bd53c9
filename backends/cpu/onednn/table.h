// Which functions a kernel of ours calls: those of the instruction set that this process computes by.
#ifndef DP_BACKENDS_CPU_ONEDNN_TABLE_H
#define DP_BACKENDS_CPU_ONEDNN_TABLE_H

#include "ir/kernel/kernel.h"

// *state becomes one of the two tables, which nobody frees. EX_UNAVAILABLE on a machine that has neither.
dp_status dp_isa_table(const dp_kernel_spec *spec, const void *avx2, const void *avx512, void **state) DP_MUST_USE;

#endif
