// Helpers shared by many operators: schema shorthands, setting results' types, axes, cost. See ir/graph/op.h for the
// operator's struct.
#ifndef DP_IR_OPS_COMMON_H
#define DP_IR_OPS_COMMON_H

#include "ir/graph/builder.h"
#include "ir/ops/sharding.h"

#ifdef __cplusplus
extern "C" {
#endif

// Attributes with a default, for dp_op.attrs.
#define DP_INT_ATTR(NAME, DEFAULT) \
  { .name = (NAME), .kind = DP_ATTR_INT, .number = (DEFAULT), .has_default = true }
#define DP_FLOAT_ATTR(NAME, DEFAULT) \
  { .name = (NAME), .kind = DP_ATTR_FLOAT, .number = (DEFAULT), .has_default = true }
#define DP_STRING_ATTR(NAME, DEFAULT) \
  { .name = (NAME), .kind = DP_ATTR_STRING, .string = (DEFAULT), .has_default = true }
// Attributes without.
#define DP_INTS_ATTR(NAME) \
  { .name = (NAME), .kind = DP_ATTR_INTS }
#define DP_SHAPE_ATTR(NAME) \
  { .name = (NAME), .kind = DP_ATTR_DIMS, .required = true }
// An operand or result with one of the types TYPES, the same type for all that share the letter SAME.
#define DP_OPERAND(NAME, TYPES, SAME) \
  { .name = (NAME), .types = (TYPES), .same = (SAME) }
#define DP_OPTIONAL(NAME, TYPES, SAME) \
  { .name = (NAME), .types = (TYPES), .same = (SAME), .optional = true }
// A constant operand that the compiler turns into the attribute of that name.
#define DP_AS_ATTR(NAME, TYPES, OPTIONAL) \
  { .name = (NAME), .types = (TYPES), .optional = (OPTIONAL), .attribute = (NAME) }

static inline const dp_shape *dp_common_shape(const dp_node *node, int operand) {
  return &node->inputs[operand]->type->shape;
}
static inline dp_value *dp_common_operand(const dp_node *node, int operand) {  // NULL: omitted
  return operand < node->n_inputs ? node->inputs[operand] : NULL;
}
static inline dp_value *dp_common_result(const dp_node *node, int result) {  // NULL: not requested
  return result < node->n_outputs ? node->outputs[result] : NULL;
}
// Sets the type of a result, if it was requested.
// A matrix that x is the transpose of, and *trans is turned; else x.
dp_value *dp_common_matrix(dp_value *x, bool *trans);
void dp_common_set(dp_node *node, int result, dp_dtype dtype, const dp_shape *shape);
// infer for operators whose only result has operand 0's type.
dp_status dp_common_infer_same(dp_node *node);
// Resolves axis `axis` of a tensor of that rank; negative counts from the end. name: the attribute's, for the message.
dp_status dp_common_axis(const char *name, int64_t axis, int rank, int *resolved);
// dp_op.row of an operator whose rows are the dims from attribute `axis`, by default the last, on.
int dp_common_row(const dp_node *node, int rank);
// An attribute of kind DP_ATTR_DIMS as a shape; its extents may be anything.
dp_status dp_common_dims(const dp_node *node, const char *name, dp_shape *shape);
// The same for the shape of a tensor: dp_shape_check must accept it.
dp_status dp_common_shape_attr(const dp_node *node, const char *name, dp_shape *shape);
// The node's attributes and one more.
dp_attr *dp_common_attrs_and(dp_arena *arena, const dp_node *node, dp_attr attr);
// The given number of floating-point operations, and every operand and result moved once.
dp_cost dp_common_cost(const dp_node *node, int64_t n, double flops);
// Refuses a shape other than `expected`; what: "the gradient", for the message.
dp_status dp_common_expect(const char *what, const dp_shape *found, const dp_shape *expected);

#ifdef __cplusplus
}
#endif
#endif
