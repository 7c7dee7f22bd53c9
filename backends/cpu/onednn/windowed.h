// Kernels of convolution and pooling by oneDNN: from a kernel's spec to a primitive, float32 in plain layouts.
//
// Where an extent is 0 there is no primitive: prepare leaves the state NULL, and run has little to do.
#ifndef DP_BACKENDS_CPU_ONEDNN_WINDOWED_H
#define DP_BACKENDS_CPU_ONEDNN_WINDOWED_H

#include "backends/cpu/onednn/primitive.h"
#include "ir/kernel.h"

// The spec of the node's primitive. *empty: an extent is 0, the rest is not set.
dp_status dp_windowed_spec(const dp_kernel_spec *spec, dp_primitive_kind kind, dp_primitive_spec *primitive,
                           bool *empty);
// Whether oneDNN has it.
bool dp_windowed_match(const dp_kernel_spec *spec, dp_primitive_kind kind);
// Enough scratch for these extents and for any smaller count of samples. What oneDNN takes varies a little with the count,
// as work is cut up differently: counts 1 to 8, powers of two and the largest are asked for, and an eighth is added when
// the others are not.
uint64_t dp_windowed_scratch_bytes(const dp_kernel_spec *spec, dp_primitive_kind kind);
dp_status dp_windowed_prepare(const dp_kernel_spec *spec, dp_primitive_kind kind, void **state);
void dp_windowed_release(void *state);

#endif
