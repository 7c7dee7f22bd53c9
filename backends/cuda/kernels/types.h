// Element types as functions for GPUs spell them.
#ifndef DP_BACKENDS_CUDA_KERNELS_TYPES_H
#define DP_BACKENDS_CUDA_KERNELS_TYPES_H

#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

// What functions compute with. Other types are only moved.
#define DP_CUDA_COMPUTED ((DP_INTS | DP_BIT(DP_BOOL) | DP_FLOATS))
#define DP_CUDA_FLOATS DP_FLOATS

typedef struct {
  const char *stored;    // in memory
  const char *computed;  // in registers: small integers and floats are computed in wider ones
  const char *wrapped;   // the unsigned type of the same size, in which integers wrap
  const char *defines;   // of T, W, GET and PUT (backends/cuda/device/prelude.h)
  const char *second;    // of U, GET_U and PUT_U, the same for another type in one function
  const char *pairs;     // of PAIR, OF_PAIR and PAIR_MAX for T (backends/cuda/device/pairs.h); "" if it has no pairs
} dp_cuda_type;

// Types that are only moved are integers of their size.
const dp_cuda_type *dp_cuda_type_of(dp_dtype dtype);
// The same for functions that only move elements: integers of their size for all types.
const dp_cuda_type *dp_cuda_type_moved(dp_dtype dtype);
// The integer that moves elements of so many bytes.
const char *dp_cuda_type_of_bytes(size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
