// Elementwise operators as expressions, from which functions for GPUs are generated:
// backends/cuda/kernels/elementwise.h.
#ifndef DP_BACKENDS_CUDA_KERNELS_EXPRESSIONS_H
#define DP_BACKENDS_CUDA_KERNELS_EXPRESSIONS_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// An attribute that an expression uses as p0 or p1, a double.
typedef struct {
  const char *name;
  double otherwise;    // its value where neither the node nor the schema says it
  const char *equals;  // of a string: p is 1 where it is this, else 0
} dp_cuda_parameter;

// Operands are x, y, z; backends/cuda/device/elementwise.h says what else an expression may use. NULL: not for these
// types.
typedef struct {
  const char *op, *domain;
  const char *floating, *integer;  // for operands 0 that are floats, that are integers or bool
  const char *half;                // for floats of 16 bits, if not as other floats (backends/cuda/device/halves.h)
  const char *pair;                // what computes two results of 16 bits at once (backends/cuda/device/pairs.h)
  bool moves;                      // only chooses among its operands: it takes all types
  const char *refused;             // integers for which this holds of y are reported, and give 0
  dp_cuda_parameter parameters[2];
} dp_cuda_expression;

extern const dp_cuda_expression dp_cuda_expressions[];  // ends with op NULL

// The operator's row, if there is one for its types; else NULL.
const dp_cuda_expression *dp_cuda_expression_of(const dp_kernel_spec *spec);
double dp_cuda_parameter_of(const dp_cuda_parameter *parameter, const dp_node *node);

#ifdef __cplusplus
}
#endif
#endif
