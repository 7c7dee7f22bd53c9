// The kernels of regions whose members work on rows. See rows.c.
#ifndef DP_BACKENDS_CPU_ROWS_H
#define DP_BACKENDS_CPU_ROWS_H

#include "backends/cpu/member.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const dp_kernel dp_kernel_rows_Region, dp_kernel_fast_rows_Region;

#ifdef __cplusplus
}
#endif
#endif
