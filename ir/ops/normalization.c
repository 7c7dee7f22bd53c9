// Normalization over axes, and over groups of channels. See normalization.h.
#include "ir/ops/normalization.h"

static dp_value *mean_of(dp_builder *b, const dp_normalization *n, dp_value *x) {
  return dp_build_reduce(b, "ReduceMean", x, n->axes, n->n_axes, true);
}

dp_normalization dp_normalization_make(dp_builder *b, dp_value *x, const int64_t *axes, size_t n_axes, double epsilon,
                                       bool about_mean, dp_value *mean, dp_value *invstd) {
  dp_normalization n = {.axes = axes, .n_axes = n_axes, .mean = mean, .invstd = invstd};
  if (about_mean && !n.mean) n.mean = mean_of(b, &n, x);
  dp_value *centred = about_mean ? dp_build2(b, "Sub", x, n.mean) : x;
  if (!n.invstd) {
    dp_value *variance = mean_of(b, &n, dp_build2(b, "Mul", centred, centred));
    dp_value *std = dp_build1(b, "Sqrt", dp_elementwise_with(b, "Add", variance, epsilon));
    n.invstd = dp_build2(b, "Div", dp_build_fill(b, x->type->dtype, 1), std);
  }
  n.h = dp_build2(b, "Mul", centred, n.invstd);
  return n;
}

dp_value *dp_normalization_back(dp_builder *b, const dp_normalization *n, dp_value *dh) {
  // dx = invstd (dh - mean(dh) - h mean(dh h))
  dp_value *along = mean_of(b, n, dp_build2(b, "Mul", dh, n->h));
  dp_value *rest = dp_build2(b, "Sub", dh, dp_build2(b, "Mul", n->h, along));
  if (n->mean) rest = dp_build2(b, "Sub", rest, mean_of(b, n, dh));
  return dp_build2(b, "Mul", rest, n->invstd);
}

dp_status dp_normalization_check_epsilon(const dp_node *node) {
  double epsilon = dp_node_float(node, "epsilon", 1e-5);
  if (!(epsilon >= 0)) return dp_fail(EX_DATAERR, "epsilon is %g where 0 or more is expected", epsilon);
  return DP_OK;
}

// ---- the dims from `axis` on ----------------------------------------------------------------------------------------

enum { X, SCALE, BIAS };

int dp_normalization_inner_axis(const dp_node *node) {
  const int64_t axis = dp_node_int(node, "axis", -1);
  return (int)(axis < 0 ? axis + dp_common_shape(node, X)->rank : axis);
}

size_t dp_normalization_inner_axes(const dp_node *node, int64_t axes[DP_MAX_RANK]) {
  size_t count = 0;
  for (int d = dp_normalization_inner_axis(node); d < dp_common_shape(node, X)->rank; d++) axes[count++] = d;
  return count;
}

dp_status dp_normalization_inner_check(const dp_node *node, dp_shape *inner) {
  const dp_shape *x = dp_common_shape(node, X);
  int axis;
  *inner = (dp_shape){0};
  DP_TRY(dp_common_axis("axis", dp_node_int(node, "axis", -1), x->rank, &axis));
  DP_TRY(dp_normalization_check_epsilon(node));
  for (int d = axis; d < x->rank; d++) inner->dims[inner->rank++] = x->dims[d];
  return dp_common_expect("scale", dp_common_shape(node, SCALE), inner);
}

void dp_normalization_inner_gradient(dp_builder *b, const dp_node *node, const char *op, dp_value *dy, dp_value **dx) {
  const int results = dp_common_operand(node, BIAS) ? 3 : 2;
  dp_value *in[] = {node->inputs[X], node->inputs[SCALE], dy};
  dp_value *first = dp_build(b, op, 3, in, results, node->n_attrs, node->attrs);
  if (b->status) return;
  for (int i = 0; i < results; i++) dx[i] = first->producer->outputs[i];
}

// ---- groups of channels ---------------------------------------------------------------------------------------------

static const int64_t kInside[] = {2};  // the axis within a group, in [N, groups, inside]

// x as [N, groups, inside].
static bool grouped(const dp_shape *x, int64_t groups, dp_shape *shape) {
  dp_dim inside;
  if (x->rank < 2 || groups < 1 || !dp_shape_product(x, 1, x->rank, &inside)) return false;
  if (inside.scale % groups || inside.offset % groups) return false;
  *shape =
      (dp_shape){.rank = 3, .dims = {x->dims[0], dp_dim_of(groups), {inside.scale / groups, inside.offset / groups}}};
  return true;
}

dp_status dp_normalization_groups_infer(dp_node *node, int64_t groups) {
  const dp_shape *x = dp_common_shape(node, X);
  dp_shape shape;
  DP_TRY(dp_batch_normalization_check(node, SCALE, 2));
  DP_TRY(dp_normalization_check_epsilon(node));
  int64_t channels = x->dims[1].offset;
  if (groups < 1 || channels % groups)
    return dp_fail(EX_DATAERR, "num_groups is %lld, which must divide the %lld channels", (long long)groups,
                   (long long)channels);
  if (!grouped(x, groups, &shape))
    return dp_fail(EX_DATAERR, "the number of elements of a group is not of the form a * N + b");
  return dp_common_infer_same(node);
}

static dp_normalization normalize(dp_builder *b, const dp_node *node, dp_value *x, dp_shape *shape, int64_t groups) {
  if (!grouped(&x->type->shape, groups, shape)) return (dp_normalization){.h = x, .invstd = x};  // refused by infer
  double epsilon = dp_node_float(node, "epsilon", 1e-5);
  return dp_normalization_make(b, dp_build_reshape(b, x, shape), kInside, 1, epsilon, true, NULL, NULL);
}

void dp_normalization_groups_gradient(dp_builder *b, const dp_node *node, int64_t groups, dp_value *dy, dp_value **dx) {
  const dp_shape *x = dp_common_shape(node, X);
  int64_t axes[DP_MAX_RANK];
  size_t n_axes = dp_batch_normalization_axes(x, axes);
  dp_shape shape;
  dp_normalization n = normalize(b, node, node->inputs[X], &shape, groups);
  dp_value *h = dp_build_reshape(b, n.h, x);
  dx[BIAS] = dp_build_reduce(b, "ReduceSum", dy, axes, n_axes, false);
  dx[SCALE] = dp_build_reduce(b, "ReduceSum", dp_build2(b, "Mul", dy, h), axes, n_axes, false);
  dp_value *dh = dp_build2(b, "Mul", dy, dp_batch_normalization_wide(b, node->inputs[SCALE], x));
  dx[X] = dp_build_reshape(b, dp_normalization_back(b, &n, dp_build_reshape(b, dh, &shape)), x);
}

void dp_normalization_groups_sharding(dp_sharding_rules *rules, int64_t groups) {
  const dp_shape *x = dp_common_shape(rules->node, X);
  int64_t channels = x->dims[1].offset, size = groups > 0 ? channels / groups : 0;
  dp_sharding_split(rules, x->dims[0], (int[]){0, DP_WHOLE, DP_WHOLE}, (int[]){0});
  // Whole groups, whatever the view says about them.
  for (int v = 0; v < rules->n_views && size > 0; v++) {
    int64_t unit = rules->views[v].unit;
    if (unit % size && __builtin_mul_overflow(unit, size, &unit)) continue;
    dp_placement view = dp_shard_in(1, rules->views[v].outer, unit), own = dp_shard_in(0, view.outer, unit);
    if (dp_sharding_divides(view, dp_dim_of(channels)))
      dp_sharding_add_placed(rules, (dp_placement[]){view, own, own}, (dp_placement[]){view});
  }
}

dp_value *dp_normalization_groups_decompose(dp_builder *b, const dp_node *node, int64_t groups, dp_value *const *in) {
  const dp_shape *x = &in[X]->type->shape;
  dp_shape shape;
  dp_normalization n = normalize(b, node, in[X], &shape, groups);
  dp_value *scaled = dp_build2(b, "Mul", dp_build_reshape(b, n.h, x), dp_batch_normalization_wide(b, in[SCALE], x));
  return dp_build2(b, "Add", scaled, dp_batch_normalization_wide(b, in[BIAS], x));
}

dp_cost dp_normalization_cost(const dp_node *node, int64_t n) {
  return dp_common_cost(node, n, 7 * (double)dp_shape_count(dp_common_shape(node, X), n));
}
