// How values and scratch lie in memory, as kernels like it: at the start of a line of the cache.
#ifndef DP_BACKENDS_CPU_ALIGNMENT_H
#define DP_BACKENDS_CPU_ALIGNMENT_H

enum { DP_CPU_ALIGNMENT = 64 };  // bytes

#endif
