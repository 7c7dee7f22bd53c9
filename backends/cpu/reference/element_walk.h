// Locates the data elements that GatherElements and ScatterElements address.
#ifndef DP_BACKENDS_CPU_REFERENCE_ELEMENT_WALK_H
#define DP_BACKENDS_CPU_REFERENCE_ELEMENT_WALK_H

#include "backends/cpu/reference/index.h"

// Finds the offset in operand 0 that element i of the indices (operand 1) names; -1: another device has it.
static inline dp_status dp_element_walk_at(const dp_kernel_spec *spec, const void *const *in, int64_t i,
                                           int64_t *offset) {
  const dp_local *x = &spec->inputs[0].local, *indices = &spec->inputs[1].local;
  int axis = dp_axis(dp_node_int(spec->node, "axis", 0), x->rank);
  int64_t index = 0, stride = 1;
  DP_TRY(dp_index_at(spec, in, 1, i, x->whole[axis], &index));
  index = dp_index_here(x, axis, index);
  *offset = index < 0 ? -1 : 0;
  if (index < 0) return DP_OK;
  for (int d = x->rank - 1; d >= 0; d--) {
    *offset += (d == axis ? index : i % indices->extents[d]) * stride;
    i /= indices->extents[d];
    stride *= x->extents[d];
  }
  return DP_OK;
}

#endif
