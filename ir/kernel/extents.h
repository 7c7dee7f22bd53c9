// What kernels of all backends read of their specs: extents, whether optional operands are there, axes.
#ifndef DP_IR_KERNEL_EXTENTS_H
#define DP_IR_KERNEL_EXTENTS_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline const int64_t *dp_in_extents(const dp_kernel_spec *spec, int i) { return spec->inputs[i].local.extents; }
static inline const int64_t *dp_out_extents(const dp_kernel_spec *spec, int i) {
  return spec->outputs[i].local.extents;
}
static inline int dp_in_rank(const dp_kernel_spec *spec, int i) { return spec->inputs[i].local.rank; }
static inline int64_t dp_in_count(const dp_kernel_spec *spec, int i) { return dp_local_count(&spec->inputs[i].local); }
static inline int64_t dp_out_count(const dp_kernel_spec *spec, int i) {
  return dp_local_count(&spec->outputs[i].local);
}

// Whether optional operand or result i is present.
static inline bool dp_has_in(const dp_kernel_spec *spec, int i) {
  return i < spec->n_inputs && spec->inputs[i].present;
}
static inline bool dp_has_out(const dp_kernel_spec *spec, int i) {
  return i < spec->n_outputs && spec->outputs[i].present;
}

static inline int64_t dp_product(const int64_t *extents, int first, int end) {
  int64_t count = 1;
  for (int i = first; i < end; i++) count *= extents[i];
  return count;
}

static inline int64_t dp_whole_count(const dp_local *local) { return dp_product(local->whole, 0, local->rank); }

// Whether all operands and results of rank 4 lie in one layout.
static inline bool dp_one_layout(const dp_kernel_spec *spec) {
  uint32_t layouts = 0;
  for (int i = 0; i < spec->n_inputs; i++)
    if (spec->inputs[i].present && spec->inputs[i].local.rank == 4) layouts |= 1u << spec->inputs[i].layout;
  for (int i = 0; i < spec->n_outputs; i++)
    if (spec->outputs[i].present && spec->outputs[i].local.rank == 4) layouts |= 1u << spec->outputs[i].layout;
  return !(layouts & (layouts - 1));
}

// An axis attribute; negative axes count from the end.
static inline int dp_axis(int64_t axis, int rank) { return (int)(axis < 0 ? axis + rank : axis); }

#ifdef __cplusplus
}
#endif
#endif
