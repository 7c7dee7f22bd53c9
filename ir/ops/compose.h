// Building blocks for operators composed of others (`decompose`, `specialize`): constants computed by the compiler, and
// one-line forms of the operators that rearrange elements.
//
// Errors are the builder's (ir/graph/builder.h). It refuses constants that are too large for a network to carry.
#ifndef DP_IR_OPS_COMPOSE_H
#define DP_IR_OPS_COMPOSE_H

#include "ir/ops/piecewise.h"

#ifdef __cplusplus
extern "C" {
#endif

// The extent, if it is a number that fits an int32; else -1.
static inline int64_t dp_compose_fixed(dp_dim dim) {
  return dp_dim_is_symbolic(dim) || dim.offset > INT32_MAX ? -1 : dim.offset;
}
// Room for the numbers of a constant of this shape, all 0, and their count. NULL, with the builder failed, when its
// extents depend on the batch or are too large.
double *dp_compose_room(dp_builder *builder, const dp_shape *shape, int64_t *count);
// A constant of type dtype and this shape with these numbers, each exactly representable for integers below 2^53.
dp_value *dp_compose_constant(dp_builder *builder, dp_dtype dtype, const dp_shape *shape, const double *numbers);
// from, from + step, ... in a rank 1 tensor of `count` elements.
dp_value *dp_compose_range(dp_builder *builder, dp_dtype dtype, double from, double step, int64_t count);
// Every element `number`; extents may be symbolic.
dp_value *dp_compose_filled(dp_builder *builder, dp_dtype dtype, const dp_shape *shape, double number);

dp_value *dp_compose_transpose(dp_builder *builder, dp_value *x, const int64_t *perm);  // perm: rank of x
dp_value *dp_compose_swap(dp_builder *builder, dp_value *x, int d, int e);              // two dims of x
dp_value *dp_compose_expand(dp_builder *builder, dp_value *x, const dp_shape *shape);   // x itself when it has that
                                                                                        // shape
dp_value *dp_compose_gather(dp_builder *builder, dp_value *x, dp_value *indices, int axis);
dp_value *dp_compose_pick(dp_builder *builder, dp_value *x, dp_value *indices, int axis);  // GatherElements
dp_value *dp_compose_slice(dp_builder *builder, dp_value *x, int axis, int64_t start, int64_t end);
dp_value *dp_compose_concat(dp_builder *builder, dp_value *a, dp_value *b, int axis);
// Elements with index i along the axis only, without that dim.
dp_value *dp_compose_take(dp_builder *builder, dp_value *x, int axis, int64_t i);
dp_value *dp_compose_where(dp_builder *builder, dp_value *condition, dp_value *x, dp_value *y);
// x with a dim of extent 1 inserted at `axis`.
dp_value *dp_compose_unsqueeze(dp_builder *builder, dp_value *x, int axis);
// x with dims [first, end) merged into one.
dp_value *dp_compose_merge(dp_builder *builder, dp_value *x, int first, int end);
// Splits x, which has elements [from, to) of a sequence along dim 0: steps[i] becomes element i without that dim. As
// a tree, so that the gradient too moves every element only a few times, however long the sequence is.
void dp_compose_split_steps(dp_builder *builder, dp_value *x, int64_t from, int64_t to, dp_value **steps);
// The reverse: concatenates them along a new dim 0.
dp_value *dp_compose_concat_steps(dp_builder *builder, dp_value *const *steps, int64_t from, int64_t to);

#ifdef __cplusplus
}
#endif
#endif
