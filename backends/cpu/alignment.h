// The alignment of values and scratch memory: the start of a cache line.
#ifndef DP_BACKENDS_CPU_ALIGNMENT_H
#define DP_BACKENDS_CPU_ALIGNMENT_H

enum { DP_CPU_ALIGNMENT = 64 };  // bytes

#endif
