// ConvTranspose: X [N, C, ...], W [C, M/group, ...], B [M] -> Y [N, M, ...]. It is the gradient of a convolution with
// these weights: X is the gradient of its result, Y that of its operand. Specialized into dp.ConvGradInput, with
// explicit pads, and an Add for B.
#include "ir/ops/conv.h"

#include <string.h>

enum { X, W, B };

typedef struct {
  int rank;
  int64_t y[DP_MAX_SPATIAL], pads[2 * DP_MAX_SPATIAL];
} extents;

static dp_status list_of(const dp_node *node, const char *name, int rank, int64_t otherwise, int64_t *list) {
  size_t count;
  const int64_t *given = dp_node_ints(node, name, &count);
  if (given && count != (size_t)rank)
    return dp_fail(EX_DATAERR, "%s has %zu numbers where %d are expected", name, count, rank);
  for (int i = 0; i < rank; i++) {
    list[i] = given ? given[i] : otherwise;
    if (list[i] < 0 || list[i] > INT32_MAX)
      return dp_fail(EX_DATAERR, "%s has %lld where 0 to %d is expected", name, (long long)list[i], INT32_MAX);
  }
  return DP_OK;
}

static dp_status check_shapes(const dp_node *node) {
  const dp_shape *x = dp_common_shape(node, X), *w = dp_common_shape(node, W);
  char tx[256], tw[256];
  int64_t group = dp_node_int(node, "group", 1);
  bool fits =
      x->rank == w->rank && x->rank >= 3 && x->rank <= 2 + DP_MAX_SPATIAL && dp_dim_equal(x->dims[1], w->dims[0]);
  for (int d = 0; fits && d < x->rank; d++) {
    bool small = x->dims[d].offset <= INT32_MAX && w->dims[d].offset <= INT32_MAX;
    fits = small && !dp_dim_is_symbolic(w->dims[d]) && (!d || !dp_dim_is_symbolic(x->dims[d]));
  }
  if (!fits)
    return dp_fail(EX_DATAERR, "x has shape %s and the weights %s; [N, C, ...] and [C, M/group, ...] are expected",
                   dp_shape_print(x, tx, sizeof tx), dp_shape_print(w, tw, sizeof tw));
  if (group < 1 || group > INT32_MAX || x->dims[1].offset % group)
    return dp_fail(EX_DATAERR, "group is %lld, which must divide the %lld channels", (long long)group,
                   (long long)x->dims[1].offset);
  return DP_OK;
}

static dp_status extents_of(const dp_node *node, extents *e) {
  const dp_shape *x = dp_common_shape(node, X), *w = dp_common_shape(node, W);
  int64_t stride[DP_MAX_SPATIAL], dilation[DP_MAX_SPATIAL], more[DP_MAX_SPATIAL], shape[DP_MAX_SPATIAL];
  int rank = e->rank = x->rank - 2;
  const char *auto_pad = dp_node_string(node, "auto_pad", "NOTSET");
  bool upper = !strcmp(auto_pad, "SAME_UPPER"), same = upper || !strcmp(auto_pad, "SAME_LOWER");
  bool wanted = dp_node_attr(node, "output_shape") != NULL;
  DP_TRY(list_of(node, "strides", rank, 1, stride));
  DP_TRY(list_of(node, "dilations", rank, 1, dilation));
  DP_TRY(list_of(node, "output_padding", rank, 0, more));
  DP_TRY(list_of(node, "output_shape", rank, 0, shape));
  DP_TRY(list_of(node, "pads", 2 * rank, 0, e->pads));
  for (int i = 0; i < rank; i++) {
    int64_t in = x->dims[2 + i].offset, reach = (w->dims[2 + i].offset - 1) * dilation[i] + 1;
    int64_t full = stride[i] * (in - 1) + more[i] + reach;
    if (same && !wanted) shape[i] = in * stride[i];
    e->y[i] = full - e->pads[i] - e->pads[i + rank];
    if (same || wanted) {  // the pads follow from the shape; elements beyond the last window stay 0
      int64_t total = dp_max_i64(full - shape[i], 0), less = total / 2;
      e->pads[i] = upper ? less : total - less;
      e->pads[i + rank] = total - e->pads[i];
      e->y[i] = shape[i];
    }
    int64_t room = e->y[i] + e->pads[i] + e->pads[i + rank] - reach;
    if (e->y[i] < 1 || !stride[i] || room < 0 || room / stride[i] + 1 != in)
      return dp_fail(EX_DATAERR, "a result of extent %lld does not match an operand of extent %lld (spatial dim %d)",
                     (long long)e->y[i], (long long)in, i);
  }
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  extents e;
  DP_TRY(check_shapes(node));
  DP_TRY(extents_of(node, &e));
  dp_shape y = *dp_common_shape(node, X);
  y.dims[1] = dp_dim_of(dp_common_shape(node, W)->dims[1].offset * dp_node_int(node, "group", 1));
  for (int i = 0; i < e.rank; i++) y.dims[2 + i] = dp_dim_of(e.y[i]);
  if (dp_common_operand(node, B)) {
    dp_shape channels = {.rank = 1, .dims = {y.dims[1]}};
    DP_TRY(dp_common_expect("B", dp_common_shape(node, B), &channels));
  }
  dp_common_set(node, 0, node->inputs[X]->type->dtype, &y);
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_arena *arena = b->graph->arena;
  const dp_shape *y = &node->outputs[0]->type->shape;
  dp_attr attrs[6];
  int n_attrs = 0;
  extents e;
  dp_status status = extents_of(node, &e);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  static const char *const kept[] = {"dilations", "group", "kernel_shape", "strides"};
  for (size_t i = 0; i < DP_COUNT(kept); i++)
    if (dp_node_attr(node, kept[i])) attrs[n_attrs++] = *dp_node_attr(node, kept[i]);
  attrs[n_attrs++] = dp_attr_ints(arena, "pads", e.pads, 2 * (size_t)e.rank);
  attrs[n_attrs++] = dp_attr_dims(arena, "shape", y);
  out[0] = dp_build(b, "dp.ConvGradInput", 2, (dp_value *[]){in[W], in[X]}, 1, n_attrs, attrs);
  if (!dp_common_operand(node, B)) return;
  dp_shape wide = {.rank = y->rank};
  for (int d = 0; d < y->rank; d++) wide.dims[d] = d == 1 ? y->dims[1] : dp_dim_of(1);
  out[0] = dp_build2(b, "Add", out[0], dp_build_reshape(b, in[B], &wide));
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,4,5], float32[3,2,3,3], float32[2]", .attrs = "strides=[2,2], pads=[1,0,1,2]", .n = 2},
    {.inputs = "float32[N,4,5], float32[4,2,3]",
     .attrs = "group=2, dilations=[2], output_padding=[1], strides=[2], kernel_shape=[3]",
     .n = 3},
    {.inputs = "float32[N,1,3,3], float32[1,2,3,3]", .attrs = "strides=[3,2], output_shape=[10,8]", .n = 2},
    {.inputs = "float32[N,1,3,3], float32[1,2,3,3]", .attrs = "auto_pad=\"SAME_UPPER\", strides=[2,2]", .n = 2},
    {0},
};

const dp_op dp_op_ConvTranspose = {
    .name = "ConvTranspose",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("W", DP_FLOATS, 'T'), DP_OPTIONAL("B", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_CONV_ATTRS, DP_INTS_ATTR("output_padding"), DP_INTS_ATTR("output_shape")},
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
