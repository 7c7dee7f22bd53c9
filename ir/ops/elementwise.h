// Elementwise operators, with ONNX's multidirectional broadcasting.
#ifndef DP_IR_OPS_ELEMENTWISE_H
#define DP_IR_OPS_ELEMENTWISE_H

#include "ir/ops/common.h"

#ifdef __cplusplus
extern "C" {
#endif

// Result 0 has the broadcast shape of all operands and operand 0's element type.
dp_status dp_elementwise_infer(dp_node *node);
// Each dim of the result split, together with the operands that are not broadcast along it.
void dp_elementwise_sharding(dp_sharding_rules *rules);
// One floating-point operation per element.
dp_cost dp_elementwise_cost(const dp_node *node, int64_t n);
// dx[operand] = the gradient g of the broadcast operand, summed to the operand's shape.
void dp_elementwise_give(dp_builder *builder, const dp_node *node, int operand, dp_value *g, dp_value **dx);
// The gradient of an operator that selects one of its two operands: where they are equal each gets half.
void dp_elementwise_chosen(dp_builder *builder, const dp_node *node, dp_value *const *dy, dp_value **dx);
// dp_op.refuses of divisions: an integer divisor of 0.
bool dp_elementwise_refuses_zero(const dp_node *node, dp_refusal *refusal);
// a (op) number, of a's type.
dp_value *dp_elementwise_with(dp_builder *builder, const char *op, dp_value *a, double number);

// Samples of operators on two truth values, on the bits of two integers, and of those that select one of two numbers.
extern const dp_sample dp_elementwise_truths[], dp_elementwise_bits[], dp_elementwise_choices[];

#ifdef __cplusplus
}
#endif
#endif
