// Piecewise functions of one operand, and comparisons: shorthands for their gradients.
#ifndef DP_IR_OPS_PIECEWISE_H
#define DP_IR_OPS_PIECEWISE_H

#include "ir/ops/elementwise.h"

#ifdef __cplusplus
extern "C" {
#endif

// `yes` where x (comparison) number, else `no`; comparison: "Less", "Greater" and so on.
dp_value *dp_piecewise_where(dp_builder *builder, const char *comparison, dp_value *x, double number, dp_value *yes,
                             dp_value *no);
// number (op) a, of a's type.
dp_value *dp_piecewise_of(dp_builder *builder, const char *op, double number, dp_value *a);
// Result 0 is bool, of the broadcast shape.
dp_status dp_piecewise_infer_bool(dp_node *node) DP_MUST_USE;
// Everything in the struct of the four ordered comparisons except the name.
extern const dp_sample dp_piecewise_comparison_samples[];
#define DP_COMPARISON_SCHEMA                                                                                      \
  .n_inputs = 2, .n_outputs = 1, .inputs = {DP_OPERAND("A", DP_NUMBERS, 'T'), DP_OPERAND("B", DP_NUMBERS, 'T')},  \
  .outputs = {DP_OPERAND("C", DP_BIT(DP_BOOL), 0)}, .flags = DP_OP_ELEMENTWISE, .infer = dp_piecewise_infer_bool, \
  .sharding = dp_elementwise_sharding, .cost = dp_elementwise_cost, .samples = dp_piecewise_comparison_samples

// A gradient of zero, for operators that are step functions: none.
void dp_piecewise_no_slope(dp_builder *builder, const dp_node *node, dp_value *const *dy, dp_value **dx);

#ifdef __cplusplus
}
#endif
#endif
