// Nodes in wider types: what computes with types that a kernel does not take. Operands are converted, and the results
// are rounded: floats to nearest even, integers to their low bits, so that they wrap as in their own type.
#ifndef DP_BACKENDS_CPU_WIDENED_H
#define DP_BACKENDS_CPU_WIDENED_H

#include "ir/kernel/member.h"

#ifdef __cplusplus
extern "C" {
#endif

// Between a type and the wider one. x and y lie apart.
typedef struct {
  dp_dtype wide;  // DP_NO_TYPE: kernels compute in the type itself
  void (*widen)(int64_t count, const void *x, void *y);
  void (*narrow)(int64_t count, const void *x, void *y);
} dp_conversion;

extern const dp_conversion dp_conversions[DP_MAX_TYPE + 1];  // by type

// The same node with every operand and result in a wide type.
void dp_widened_make(const dp_kernel_spec *spec, dp_member_spec *wide);
// The scratch of dp_widened_run, without the kernel's own: what is converted, aligned to DP_CPU_ALIGNMENT.
uint64_t dp_widened_bytes(const dp_kernel_spec *spec, const dp_kernel_spec *wide);
// Runs the kernel, which is prepared for the wide node, on operands and results of `spec`. Its own scratch comes after
// those bytes. Results may lie on operands.
dp_status dp_widened_run(const dp_kernel_spec *spec, const dp_kernel_spec *wide, const dp_kernel *kernel, void *state,
                         const void *const *in, void *const *out, char *scratch) DP_MUST_USE;

// Whether the operand is there and has a 16-bit float type.
bool dp_is_half(const dp_kernel_operand *operand);

#ifdef __cplusplus
}
#endif
#endif
