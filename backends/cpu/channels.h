// The kernels of regions whose members work on channels. See channels.c.
#ifndef DP_BACKENDS_CPU_CHANNELS_H
#define DP_BACKENDS_CPU_CHANNELS_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const dp_kernel dp_kernel_channels_Region, dp_kernel_fast_channels_Region;

#ifdef __cplusplus
}
#endif
#endif
