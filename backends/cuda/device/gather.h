// Gather and its gradient.
#ifndef DP_BACKENDS_CUDA_DEVICE_GATHER_H
#define DP_BACKENDS_CUDA_DEVICE_GATHER_H

#include "backends/cuda/device/index.h"

// data (outer, here, inner); gathered (outer, count, inner), inner counting what is moved at once.
typedef struct {
  long long outer, here, inner, count;
  long long aligned;  // neighbours can be moved at once, at both ends
  dp_index_dim dim;
  const void *indices;
  const void *x;
  void *y;
} dp_gather_arguments;

// ---- the gradient ---------------------------------------------------------------------------------------------------

// Indices are sorted as keys: the slice, and below `shift` bits the place among the indices. All are different, so that
// their order is one, and each slice's places come in theirs. Indices of no slice that is here come last, as slice
// number `here`. Runs of GATHER_RUN are sorted in shared memory, then GATHER_WAYS of them are merged at a time.
enum { DP_GATHER_RUN = 1024, DP_GATHER_WAYS = 16 };

typedef struct {
  long long count, here;
  int shift;
  dp_index_dim dim;
  const void *indices;
  unsigned long long *keys;  // (count)
} dp_gather_sort_arguments;

typedef struct {
  long long count, length;  // of all keys, of a sorted run
  long long here;
  int shift;
  const unsigned long long *from;  // (count)
  unsigned long long *to;          // (count)
  long long *starts;               // (here + 1): each slice's first key; NULL: more merges follow
} dp_gather_merge_arguments;

enum { DP_GATHER_BATCH = 8 };  // updates that a thread reads before it adds them

// dy (outer, count, inner), dx (outer, here, inner)
typedef struct {
  long long outer, here, inner, count;
  int shift, vectors;  // vectors: 1 where they lie in dy and dx
  const unsigned long long *keys;
  const long long *starts;
  const void *dy;
  void *dx;
} dp_gather_sum_arguments;

#endif
