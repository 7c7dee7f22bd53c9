// Planes that the functions of backends/cpu/vector/max_pool.h take.
#ifndef DP_BACKENDS_CPU_FAST_MAX_POOL_H
#define DP_BACKENDS_CPU_FAST_MAX_POOL_H

#include "backends/cpu/reference/pool.h"
#include "backends/cpu/vector/max_pool.h"

// Whether x, operand 0, is float32, has one or two dims after the channels, and each window an element of it.
bool dp_fast_max_pool_match(const dp_kernel_spec *spec);
// The windows on each plane.
dp_plane_window dp_fast_max_pool_window(const dp_window *window);
// At load: *state is the dp_vector_max_pool for the instruction set that this process computes by.
dp_status dp_fast_max_pool_prepare(const dp_kernel_spec *spec, void **state) DP_MUST_USE;

#endif
