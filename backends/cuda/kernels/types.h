// Element types as functions for GPUs spell them.
#ifndef DP_BACKENDS_CUDA_KERNELS_TYPES_H
#define DP_BACKENDS_CUDA_KERNELS_TYPES_H

#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

// What functions compute with. Other types are only moved.
#define DP_CUDA_COMPUTED ((DP_INTS | DP_BIT(DP_BOOL) | DP_BIT(DP_FLOAT32) | DP_BIT(DP_FLOAT64)))
#define DP_CUDA_FLOATS (DP_BIT(DP_FLOAT32) | DP_BIT(DP_FLOAT64))

typedef struct {
  const char *stored;    // in memory
  const char *computed;  // in registers: small integers are computed in wider ones
  const char *wrapped;   // the unsigned type of the same size, in which integers wrap
} dp_cuda_type;

// Types that are only moved are integers of their size.
const dp_cuda_type *dp_cuda_type_of(dp_dtype dtype);
// The integer that moves elements of so many bytes.
const char *dp_cuda_type_of_bytes(size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
