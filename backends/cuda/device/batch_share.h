// The elements of a channel that a block works on.
#ifndef DP_BACKENDS_CUDA_DEVICE_BATCH_SHARE_H
#define DP_BACKENDS_CUDA_DEVICE_BATCH_SHARE_H

#include "backends/cuda/device/batch_normalization.h"
#include "backends/cuda/device/block.h"

typedef struct {
  dp_i64 channel, share, first, end;
} dp_batch_share;

DP_DEVICE dp_batch_share dp_batch_share_of(const dp_batch_arguments *a, dp_i64 blocks) {
  const dp_i64 share = dp_block() % blocks, count = a->samples * a->inner;
  const dp_batch_share made = {dp_block() / blocks, share, count * share / blocks, count * (share + 1) / blocks};
  return made;
}

// The offset of element i of the channel.
DP_DEVICE dp_i64 dp_batch_at(const dp_batch_arguments *a, const dp_batch_share *s, dp_i64 i) {
  return (i / a->inner * a->channels + s->channel) * a->inner + i % a->inner;
}

#define DP_BATCH_EACH(a, s, i) for (dp_i64 i = (s)->first + dp_thread(); i < (s)->end; i += dp_threads())

#endif
