// What the fast kernels of BatchNormalization and its gradient share. A part is a range of channels, all of whose
// samples are on this device.
#ifndef DP_BACKENDS_CPU_FAST_BATCH_NORMALIZATION_H
#define DP_BACKENDS_CPU_FAST_BATCH_NORMALIZATION_H

#include "backends/base/batch_extents.h"
#include "backends/cpu/reference/reference.h"
#include "backends/cpu/vector/batch_normalization.h"

// At load: *state is the dp_vector_batch_normalization for the instruction set that this process computes by.
dp_status dp_fast_batch_normalization_prepare(const dp_kernel_spec *spec, void **state) DP_MUST_USE;

// The part's channels, a few at a time: first, with rows.channels = 0, and then by dp_fast_channels_next.
typedef struct {
  dp_channel_rows rows;  // channels: of the block
  int64_t first, end;    // the block's first channel; behind the part's last
} dp_fast_channels;

dp_fast_channels dp_fast_channels_of(const dp_call *call);
// Goes on to the next block; false behind the last.
bool dp_fast_channels_next(dp_fast_channels *at);

#endif
