// What the reference kernels share: one body for several element types, parts, extents, copies.
//
// Reference kernels are plain loops that are easy to check by reading. They run every operator and type, serve
// --precision=fp64, and are what fast kernels are tested against. Sums of float32 are taken in float64. A mean divides
// by the count of the whole tensor, so over a sharded dim it is a partial sum; a mean over nothing is 0. Empty extents
// are allowed everywhere.
//
// A file whose body serves several types includes itself once for each type, with T defined: the part after `#else` is
// then compiled for T, and FN(name) is name_T. E.g. `#define T float` / `#include __FILE__`.
#ifndef DP_BACKENDS_CPU_REFERENCE_REFERENCE_H
#define DP_BACKENDS_CPU_REFERENCE_REFERENCE_H

#include <math.h>
#include <string.h>

#include "ir/kernel/extents.h"

#define DP_PASTE_(a, b) a##_##b
#define DP_PASTE(a, b) DP_PASTE_(a, b)
#define FN(name) DP_PASTE(name, T)

// The arguments of dp_kernel.run that a body passes on.
typedef struct {
  const dp_kernel_spec *spec;
  const void *const *in;
  void *const *out;
  void *scratch;
  int part, parts;
} dp_call;

// Part `part` of `parts` of 0 .. count-1: [*lo, *hi).
static inline void dp_part_range(int64_t count, int part, int parts, int64_t *lo, int64_t *hi) {
  *lo = count / parts * part + dp_min_i64(part, count % parts);
  *hi = *lo + count / parts + (part < count % parts);
}

// memcpy that accepts zero bytes at any address; source and target may be equal.
static inline void dp_copy(void *to, const void *from, int64_t bytes) {
  if (bytes > 0 && to != from) memcpy(to, from, (size_t)bytes);
}
static inline void dp_zero(void *to, int64_t bytes) {
  if (bytes > 0) memset(to, 0, (size_t)bytes);
}

// The integer in an operand of rank 0.
static inline int64_t dp_scalar_i64(const dp_kernel_spec *spec, const void *const *in, int i) {
  if (spec->inputs[i].dtype == DP_INT64) return *(const int64_t *)in[i];
  return (int64_t)dp_element_get(spec->inputs[i].dtype, in[i]);
}

// Element `index` of an integer operand (int32 or int64), such as labels.
static inline int64_t dp_label(dp_dtype dtype, const void *labels, int64_t index) {
  return dtype == DP_INT64 ? ((const int64_t *)labels)[index] : ((const int32_t *)labels)[index];
}

#endif
