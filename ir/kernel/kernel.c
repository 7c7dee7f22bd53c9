// Selecting and finding kernels. See kernel.h.
#include "ir/kernel/kernel.h"

#include <string.h>

// For every node it is asked of every kernel.
static inline bool computes(const dp_kernel *kernel, const dp_op *op) {
  return !kernel->op || (dp_is_same(kernel->op, op->name) && dp_is_same(kernel->domain, op->domain));
}

bool dp_kernel_computes(const dp_kernel *kernel, const dp_op *op) { return computes(kernel, op); }

// Weights are whole on a device.
static bool in_weight_blocks(const dp_local *local) {
  bool whole = local->rank == 4 && !local->symbolic;
  for (int d = 0; d < local->rank; d++) whole = whole && local->shards[d] == 1;
  return whole && local->extents[0] % DP_LAYOUT_OUT_BLOCK == 0 && local->extents[1] % DP_LAYOUT_IN_BLOCK == 0;
}

static bool lies_well(const dp_kernel *kernel, const dp_kernel_operand *operand) {
  dp_local plain;
  if (operand->layout == DP_LAYOUT_PLAIN) return true;
  if (operand->layout == DP_LAYOUT_NHWC) return kernel->channels_last && operand->local.rank == 4;
  if (operand->layout == DP_LAYOUT_OIHW16I32O)
    return kernel->lays == operand->layout && in_weight_blocks(&operand->local);
  return kernel->blocked && dp_local_in_blocks(&operand->local, dp_layout_block(operand->layout), &plain);
}

static bool takes(const dp_kernel *kernel, int count, const dp_kernel_operand *operands) {
  const uint32_t types = kernel->types ? kernel->types : DP_UPCAST;
  for (int i = 0; i < count; i++) {
    if (!operands[i].present) continue;
    if (!(DP_BIT(operands[i].dtype) & types)) return false;
    if (!lies_well(kernel, &operands[i])) return false;
  }
  return true;
}

bool dp_kernel_takes(const dp_kernel *kernel, const dp_kernel_spec *spec) {
  return takes(kernel, spec->n_inputs, spec->inputs) && takes(kernel, spec->n_outputs, spec->outputs);
}

const dp_kernel *dp_kernel_select(const dp_target *target, const dp_kernel_spec *spec, bool reference_only) {
  const dp_kernel *best = NULL;
  for (const dp_kernel *const *k = target->kernels; *k; k++) {
    if (!computes(*k, spec->op) || !dp_kernel_takes(*k, spec)) continue;
    if (reference_only && (*k)->library) continue;
    if (best && best->priority >= (*k)->priority) continue;
    if (!(*k)->match || (*k)->match(spec)) best = *k;
  }
  return best;
}

// Whether a kernel for many operators matches a `name` that ends with one of them: "cpu.wide.Add".
static bool serves(const dp_kernel *kernel, const char *name) {
  size_t length = strlen(kernel->name);
  return !strncmp(kernel->name, name, length) && name[length] == '.';
}

const dp_kernel *dp_kernel_find(const dp_target *target, const char *name) {
  for (const dp_kernel *const *k = target->kernels; *k; k++)
    if ((*k)->op ? !strcmp((*k)->name, name) : serves(*k, name)) return *k;
  return NULL;
}

const char *dp_kernel_name(dp_arena *arena, const dp_kernel *kernel, const dp_op *op) {
  return kernel->op ? kernel->name
                    : dp_printf(arena, "%s.%s%s%s", kernel->name, op->domain, *op->domain ? "." : "", op->name);
}
