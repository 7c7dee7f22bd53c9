// What the reference kernels of Conv and its two gradients share: extents, groups, float64 sums.
//
// They compute DP_CONV_BLOCK channels at a time, so that shared operands are read once. Each part of a kernel
// accumulates in its own float64 planes in scratch and rounds once. The order of each sum does not depend on blocks or
// parts.
#ifndef DP_BACKENDS_CPU_REFERENCE_CONV_H
#define DP_BACKENDS_CPU_REFERENCE_CONV_H

#include "backends/base/conv_extents.h"
#include "backends/cpu/reference/window.h"

enum { DP_CONV_BLOCK = 4 };

// Scratch for a block of planes of `elements` elements for each thread.
static inline uint64_t dp_conv_scratch(const dp_kernel_spec *spec, int64_t elements) {
  return (uint64_t)spec->threads * (uint64_t)elements * DP_CONV_BLOCK * sizeof(double);
}

// The number of blocks in a group of `channels` channels. dp_conv_block finds the first channel of block i and returns
// its number of channels.
static inline int64_t dp_conv_blocks(int64_t channels) { return (channels + DP_CONV_BLOCK - 1) / DP_CONV_BLOCK; }
static inline int dp_conv_block(int64_t channels, int64_t i, int64_t *first) {
  *first = i * DP_CONV_BLOCK;
  return (int)dp_min_i64(DP_CONV_BLOCK, channels - *first);
}

#endif
