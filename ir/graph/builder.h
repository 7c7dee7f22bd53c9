// Builds nodes in a graph, for gradients, decompositions and passes. Types are inferred as nodes are added.
//
// The first failure (a mistake in what is built, or in the model) is kept in builder->status. From then on the
// functions return a placeholder value, so callers need no checks; whoever made the builder checks the status at the
// end.
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

// A node of operator "domain.Name" ("Add", "dp.ReluGrad") with attributes. Returns result 0; the others are
// ->producer->outputs[i].
dp_value *dp_build(dp_builder *builder, const char *op, int n_inputs, dp_value *const *inputs, int n_outputs,
                   int n_attrs, const dp_attr *attrs);
dp_value *dp_build1(dp_builder *builder, const char *op, dp_value *x);  // one operand, one result, no attributes
dp_value *dp_build2(dp_builder *builder, const char *op, dp_value *x, dp_value *y);
dp_value *dp_build_cast(dp_builder *builder, dp_value *x, dp_dtype to);         // x itself when it has that type
dp_value *dp_build_fill(dp_builder *builder, dp_dtype dtype, double number);    // a constant of rank 0
dp_value *dp_build_scalar(dp_builder *builder, const char *name, dp_dtype to);  // a per-step scalar, cast
dp_value *dp_build_reshape(dp_builder *builder, dp_value *x, const dp_shape *shape);
// axes: ascending, not negative. op: "ReduceSum" or "ReduceMean".
dp_value *dp_build_reduce(dp_builder *builder, const char *op, dp_value *x, const int64_t *axes, size_t n_axes,
                          bool keepdims);
// The sum of x over the dims that broadcasting `shape` to x's shape repeats. The result has shape `shape`.
dp_value *dp_build_reduce_to(dp_builder *builder, dp_value *x, const dp_shape *shape);
// The number of elements in dims `axes` of `shape`, a rank 0 value of type `dtype`; computed from dp.n when symbolic.
dp_value *dp_build_count(dp_builder *builder, const dp_shape *shape, const int64_t *axes, size_t n_axes,
                         dp_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
