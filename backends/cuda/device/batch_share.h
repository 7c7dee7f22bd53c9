// The elements of a channel that a block works on, VECTOR neighbours at a time, where planes are neighbours in memory.
#ifndef DP_BACKENDS_CUDA_DEVICE_BATCH_SHARE_H
#define DP_BACKENDS_CUDA_DEVICE_BATCH_SHARE_H

#include "backends/cuda/device/batch_vector.h"
#include "backends/cuda/device/block.h"

typedef struct {
  dp_i64 channel, share, first, end;  // of the channel's vectors
} dp_batch_share;

DP_DEVICE dp_batch_share dp_batch_share_of(const dp_batch_arguments *a, dp_i64 blocks) {
  const dp_i64 share = dp_block() % blocks, count = a->samples * (a->inner / VECTOR);
  const dp_batch_share made = {dp_block() / blocks, share, count * share / blocks, count * (share + 1) / blocks};
  return made;
}

// A thread's way through its block's share: every dp_threads()-th vector. at: in the tensor; place: in the plane.
typedef struct {
  dp_i64 at, place, plane;        // plane: vectors of one
  dp_i64 step, place_step, wrap;  // wrap: added to `at` where the step goes beyond the plane's end
} dp_batch_walk;

DP_DEVICE dp_batch_walk dp_batch_walk_of(const dp_batch_arguments *a, const dp_batch_share *s) {
  const dp_i64 plane = a->inner / VECTOR, begin = s->first + dp_thread();
  const dp_i64 planes = dp_threads() / plane, rest = dp_threads() % plane;
  const dp_i64 place = begin % plane, at = (begin / plane * a->channels + s->channel) * plane + place;
  const dp_batch_walk made = {at, place, plane, planes * a->channels * plane + rest, rest, (a->channels - 1) * plane};
  return made;
}

// Where the walk is; goes on.
DP_DEVICE dp_i64 dp_batch_next(dp_batch_walk *w) {
  const dp_i64 at = w->at;
  w->at += w->step;
  w->place += w->place_step;
  if (w->place >= w->plane) {
    w->place -= w->plane;
    w->at += w->wrap;
  }
  return at;
}

// Does TAKE(count), a block's loop body for the thread's next `count` vectors: `most` at a time, then one at a time.
#define DP_BATCH_EACH(s, most, TAKE)                                    \
  do {                                                                  \
    dp_i64 dp_i = (s)->first + dp_thread();                             \
    const dp_i64 dp_last = (dp_i64)((most)-1) * dp_threads();           \
    for (; dp_i + dp_last < (s)->end; dp_i += dp_last + dp_threads()) { \
      TAKE(most);                                                       \
    }                                                                   \
    for (; dp_i < (s)->end; dp_i += dp_threads()) {                     \
      TAKE(1);                                                          \
    }                                                                   \
  } while (0)

#endif
