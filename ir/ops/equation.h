// Einsum's equation: a label for each dim of each operand and of the result.
#ifndef DP_IR_OPS_EQUATION_H
#define DP_IR_OPS_EQUATION_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// Label ids: letters by their code, then the dims of "...", which are right-aligned.
enum { DP_EQUATION_DOTS = 128, DP_EQUATION_LABELS = DP_EQUATION_DOTS + DP_MAX_RANK };

typedef struct {
  int count;
  int labels[DP_MAX_RANK];
} dp_equation_term;

typedef struct {
  int n_terms, broadcast;  // the most dims that "..." stands for
  dp_equation_term terms[DP_MAX_OPERANDS], result;
  dp_dim extents[DP_EQUATION_LABELS];
  int uses[DP_EQUATION_LABELS];
} dp_equation;

// From the attribute `equation` and the operands' shapes.
dp_status dp_equation_read(const dp_node *node, dp_equation *equation) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
