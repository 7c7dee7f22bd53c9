// Building nodes in a graph, for gradients, lowerings and passes. Types are inferred as nodes are added.
//
// A failure (a mistake in what is built, or in the model) is kept in builder->status, the first one; from then on the
// functions return a value of the failing node so that callers need no checks, and whoever made the builder looks at
// status.
#ifndef DP_IR_GRAPH_BUILDER_H
#define DP_IR_GRAPH_BUILDER_H

#include "ir/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dp_builder {
  dp_graph *graph;
  dp_status status;
  const char *prefix;  // new nodes are named prefix + "/" + operator; NULL: the operator alone
};

// A node "domain.Name" ("Add", "dp.ReluGrad") with attributes; result 0 (others: ->producer->outputs[i]).
dp_value *dp_build(dp_builder *builder, const char *op, int n_inputs, dp_value *const *inputs, int n_outputs,
                   int n_attrs, const dp_attr *attrs);
dp_value *dp_build1(dp_builder *builder, const char *op, dp_value *x);  // one operand, one result, no attributes
dp_value *dp_build2(dp_builder *builder, const char *op, dp_value *x, dp_value *y);
dp_value *dp_build_cast(dp_builder *builder, dp_value *x, dp_dtype to);         // x itself when it is of that type
dp_value *dp_build_fill(dp_builder *builder, dp_dtype dtype, double number);    // a constant of rank 0
dp_value *dp_build_scalar(dp_builder *builder, const char *name, dp_dtype to);  // a per-step scalar, cast
dp_value *dp_build_reshape(dp_builder *builder, dp_value *x, const dp_shape *shape);
// axes: ascending, not negative. op: "ReduceSum" or "ReduceMean".
dp_value *dp_build_reduce(dp_builder *builder, const char *op, dp_value *x, const int64_t *axes, size_t n_axes,
                          bool keepdims);
// The sum of x over the dims that broadcasting `shape` to x's shape repeats, in shape `shape`.
dp_value *dp_build_reduce_to(dp_builder *builder, dp_value *x, const dp_shape *shape);
// The count of elements of dims `axes` of `shape` as a rank 0 value of type `dtype`: from dp.n when symbolic.
dp_value *dp_build_count(dp_builder *builder, const dp_shape *shape, const int64_t *axes, size_t n_axes,
                         dp_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
