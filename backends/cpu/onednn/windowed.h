// Kernels of convolution and pooling by oneDNN: from a kernel's spec to chunks of a primitive, float32 in plain layouts.
//
// Where an extent is 0 there is no primitive: the state is NULL, and run has little to do.
#ifndef DP_BACKENDS_CPU_ONEDNN_WINDOWED_H
#define DP_BACKENDS_CPU_ONEDNN_WINDOWED_H

#include "backends/cpu/onednn/chunks.h"
#include "ir/kernel/kernel.h"

// dp_kernel.match, scratch_bytes, prepare and release; the state is a dp_chunks. Scratch does for every part that any device
// has, at the same n and at smaller ones: oneDNN may take more for fewer channels, so it is asked for each count of them
// that there is, of which an even split has one for each dim and any other two.
bool dp_windowed_match(const dp_kernel_spec *spec, dp_primitive_kind kind);
uint64_t dp_windowed_scratch_bytes(const dp_kernel_spec *spec, dp_primitive_kind kind);
dp_status dp_windowed_prepare(const dp_kernel_spec *spec, dp_primitive_kind kind, void **state);
void dp_windowed_release(void *state);
// The primitive on that data; where there is none, as an extent is 0, result 0, at `result`, is filled with zeros: a sum of
// nothing.
dp_status dp_windowed_run(const dp_kernel_spec *spec, void *state, const dp_primitive_data *data, void *result,
                          void *scratch);

#endif
