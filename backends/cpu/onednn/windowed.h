// Kernels of convolution and pooling by oneDNN: from a kernel's spec to a primitive, float32 in plain layouts.
//
// Where an extent is 0 there is no primitive: prepare leaves the state NULL, and run has little to do.
#ifndef DP_BACKENDS_CPU_ONEDNN_WINDOWED_H
#define DP_BACKENDS_CPU_ONEDNN_WINDOWED_H

#include "backends/cpu/onednn/primitive.h"
#include "ir/kernel.h"

// Whether oneDNN has the primitive.
bool dp_windowed_exists(const dp_primitive_spec *primitive);
// Enough scratch for it and for any smaller count of samples. What oneDNN takes varies a little with the count, as work is
// cut up differently: counts 1 to 8, their doubles and the largest are asked for, and an eighth is added for the others.
uint64_t dp_windowed_scratch_bound(const dp_primitive_spec *primitive);

// The spec of the node's primitive. *empty: an extent is 0, the rest is not set.
dp_status dp_windowed_spec(const dp_kernel_spec *spec, dp_primitive_kind kind, dp_primitive_spec *primitive,
                           bool *empty);
// dp_kernel.match, scratch_bytes, prepare and release.
bool dp_windowed_match(const dp_kernel_spec *spec, dp_primitive_kind kind);
uint64_t dp_windowed_scratch_bytes(const dp_kernel_spec *spec, dp_primitive_kind kind);
dp_status dp_windowed_prepare(const dp_kernel_spec *spec, dp_primitive_kind kind, void **state);
void dp_windowed_release(void *state);

#endif
