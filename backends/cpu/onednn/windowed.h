// Kernels of convolution and pooling by oneDNN: from a kernel's spec to parts of a primitive. They take float32, and
// convolutions bfloat16 (backends/cpu/bf16). Conv and pooling take images in blocks of channels too, if oneDNN computes
// on them as they lie.
//
// If an extent is 0 there is no primitive: the state is NULL and run only fills the result.
#ifndef DP_BACKENDS_CPU_ONEDNN_WINDOWED_H
#define DP_BACKENDS_CPU_ONEDNN_WINDOWED_H

#include "backends/cpu/onednn/parts.h"
#include "ir/kernel/kernel.h"

// dp_kernel.match, scratch_bytes, prepare and release; the state is a dp_parts. The scratch suffices for every shard
// on any device, at the same n and smaller ones. oneDNN may need more scratch for fewer channels, so scratch_bytes asks
// about every number of channels that occurs: one for each dim if the split is even, else two.
bool dp_windowed_match(const dp_kernel_spec *spec, dp_primitive_kind kind);
uint64_t dp_windowed_scratch_bytes(const dp_kernel_spec *spec, dp_primitive_kind kind);
// dp_kernel.packed_bytes and .pack of Conv, of the weights. The bytes suffice for every shard on any device.
uint64_t dp_windowed_packed_bytes(const dp_kernel_spec *spec);
dp_status dp_windowed_pack(const dp_kernel_spec *spec, void *state, const void *plain, void *packed, void *scratch);
dp_status dp_windowed_prepare(const dp_kernel_spec *spec, dp_primitive_kind kind, void **state);
void dp_windowed_release(void *state);
// Runs the primitive on the data. If there is none because an extent is 0, fills result 0, at `result`, with zeros: an
// empty sum.
dp_status dp_windowed_run(const dp_kernel_spec *spec, void *state, const dp_primitive_data *data, void *result,
                          void *scratch, int part, int parts);
// dp_kernel.run of Conv and of dp.ConvGradInput, of either type. Without input channels Conv's result is its bias.
dp_status dp_windowed_run_conv(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out,
                               void *scratch, int part, int parts);
dp_status dp_windowed_run_conv_grad_input(const dp_kernel_spec *spec, void *state, const void *const *in,
                                          void *const *out, void *scratch, int part, int parts);
// dp_kernel.run of pooling.
dp_status dp_windowed_run_pool(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out,
                               void *scratch, int part, int parts);

#endif
