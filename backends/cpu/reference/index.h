// Operands that hold indices. Indices count in the whole tensor, of which this device may have a shard.
#ifndef DP_BACKENDS_CPU_REFERENCE_INDEX_H
#define DP_BACKENDS_CPU_REFERENCE_INDEX_H

#include "backends/cpu/reference/reference.h"

// The local index along `dim` of index i of the whole tensor; -1: another device has it.
static inline int64_t dp_index_here(const dp_local *local, int dim, int64_t i) {
  int64_t unit = local->unit[dim], mine = local->hi[dim] - local->lo[dim];
  int64_t u = i % unit, k = i / unit % local->k[dim] - local->lo[dim], o = i / unit / local->k[dim];
  return k < 0 || k >= mine ? -1 : (o * mine + k) * unit + u;
}

// Reads element `at` of integer operand `operand` as an index along a dim of `whole` elements; negative indices count
// from the end.
static inline dp_status dp_index_at(const dp_kernel_spec *spec, const void *const *in, int operand, int64_t at,
                                    int64_t whole, int64_t *index) {
  int64_t i = dp_label(spec->inputs[operand].dtype, in[operand], at);
  if (i < -whole || i >= whole)
    return dp_fail(EX_DATAERR, "index %lld at place %lld is out of range: expected %lld to %lld", (long long)i,
                   (long long)at, (long long)-whole, (long long)(whole - 1));
  *index = i < 0 ? i + whole : i;
  return DP_OK;
}

#endif
