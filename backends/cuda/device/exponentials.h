// The largest of some numbers and the sum of their exponentials relative to it, in one pass: of a thread's, a block's,
// a row's that several blocks share. A file that includes this has T and W defined; DP_ADD_EXPONENTIAL and
// DP_EXPONENTIALS define functions. Milakov, Gimelshein: "Online normalizer calculation for softmax", 2018.
#ifndef DP_BACKENDS_CUDA_DEVICE_EXPONENTIALS_H
#define DP_BACKENDS_CUDA_DEVICE_EXPONENTIALS_H

#include "backends/cuda/device/block.h"
#include "backends/cuda/device/rows.h"

#define DP_EXP(x) (sizeof(W) == 4 ? (W)expf((float)(x)) : (W)exp((double)(x)))

// A larger number rescales the sum so far. One that equals the largest adds 1, also if that is infinite: so the sum is
// NaN if a number is, and else the largest says whether one is infinite, or all are -infinity.
#define DP_ADD_EXPONENTIAL(ADD)                                    \
  DP_DEVICE void ADD(dp_exponentials *to, double z) {              \
    if (z > to->most) {                                            \
      to->sum = to->sum * exp(to->most - z) + 1;                   \
      to->most = z;                                                \
    } else {                                                       \
      to->sum += z == to->most ? 1 : (double)DP_EXP(z - to->most); \
    }                                                              \
  }

// Of all threads of the block.
DP_DEVICE dp_exponentials dp_block_exponentials(dp_exponentials mine, double *shared) {
  const double most = dp_block_max(mine.most, shared);
  const double sum = mine.most == most ? mine.sum : mine.sum * exp(mine.most - most);
  const dp_exponentials made = {most, dp_block_sum(sum, shared)};
  return made;
}

// Of a row, whose shares have these.
DP_DEVICE dp_exponentials dp_joined_exponentials(const dp_exponentials *parts, dp_i64 shares, double *shared) {
  dp_exponentials mine = DP_NO_EXPONENTIALS;
  for (dp_i64 s = dp_thread(); s < shares; s += dp_threads()) {
    const dp_exponentials next = parts[s];
    const double most = fmax(mine.most, next.most);
    mine.sum = (mine.most == most ? mine.sum : mine.sum * exp(mine.most - most)) +
               (next.most == most ? next.sum : next.sum * exp(next.most - most));
    mine.most = most;
  }
  return dp_block_exponentials(mine, shared);
}

// Of row number `row`, whose elements are `stride` apart: from its parts, or if there are none, from the elements.
#define DP_EXPONENTIALS(NAME_OF, ADD)                                                                    \
  DP_DEVICE dp_exponentials NAME_OF(const dp_exponentials *parts, dp_i64 shares, dp_i64 row, const T *x, \
                                    dp_i64 length, dp_i64 stride, double *shared) {                      \
    dp_exponentials mine = DP_NO_EXPONENTIALS;                                                           \
    if (parts) return dp_joined_exponentials(parts + row * shares, shares, shared);                      \
    for (dp_i64 k = dp_thread(); k < length; k += dp_threads()) ADD(&mine, (double)GET(x[k * stride]));  \
    return dp_block_exponentials(mine, shared);                                                          \
  }

// The logarithm of the sum relative to the largest, as softmax has it: NaN if a number is NaN or infinity, or all are
// -infinity.
DP_DEVICE double dp_log_sum(dp_exponentials row) { return log(row.sum) + (row.most - row.most); }

#endif
