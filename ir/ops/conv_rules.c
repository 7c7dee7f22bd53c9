// Convolution and its two gradients: shapes, rows, cost. See conv.h.
#include "ir/ops/conv.h"

dp_status dp_conv_result(const dp_node *node, const dp_shape *x, const dp_shape *w, dp_geometry *geometry,
                         dp_shape *y) {
  char tx[256], tw[256];
  int64_t group = dp_node_int(node, "group", 1), channels;
  if (x->rank < 3 || w->rank != x->rank || dp_dim_is_symbolic(x->dims[1]) || dp_dim_is_symbolic(w->dims[1]) ||
      dp_dim_is_symbolic(w->dims[0]))
    return dp_fail(EX_DATAERR,
                   "x has shape %s and the weights have shape %s; [N, C, ...] and [M, C/group, ...] are expected",
                   dp_shape_print(x, tx, sizeof tx), dp_shape_print(w, tw, sizeof tw));
  if (group < 1 || x->dims[1].offset % group || w->dims[0].offset % group)
    return dp_fail(EX_DATAERR,
                   "group is %lld, which must divide the channels of x %s and the first extent of the weights %s",
                   (long long)group, dp_shape_print(x, tx, sizeof tx), dp_shape_print(w, tw, sizeof tw));
  if (__builtin_mul_overflow(w->dims[1].offset, group, &channels) || channels != x->dims[1].offset)
    return dp_fail(EX_DATAERR, "x %s has %lld channels but the weights %s with group %lld expect %lld",
                   dp_shape_print(x, tx, sizeof tx), (long long)x->dims[1].offset, dp_shape_print(w, tw, sizeof tw),
                   (long long)group, (long long)channels);
  return dp_geometry_shapes(node, x, w, w->dims[0], geometry, y);
}

// Placements of x, w, y, bias in one row.
typedef struct {
  dp_placement x, w, y, bias;
} quad;

static void set_placement(dp_placement *in, dp_placement *out, int position, dp_placement placement) {
  if (position == DP_CONV_RESULT)
    out[0] = placement;
  else if (position >= 0)
    in[position] = placement;
}

static void add_row(dp_sharding_rules *rules, dp_conv_positions at, quad q) {
  dp_placement in[DP_MAX_OPERANDS] = {0}, out[DP_MAX_OPERANDS] = {0};
  if (at.bias >= 0 && !dp_common_operand(rules->node, at.bias)) at.bias = DP_CONV_ABSENT;
  set_placement(in, out, at.x, q.x);
  set_placement(in, out, at.w, q.w);
  set_placement(in, out, at.y, q.y);
  set_placement(in, out, at.bias, q.bias);
  dp_sharding_add_placed(rules, in, out);
}

// When the result, among x, w, y, lacks the split dim, it is a sum over the parts; the bias must then be one too.
static dp_placement rest(int position) { return position == DP_CONV_RESULT ? dp_partial(DP_SUM) : dp_replicate(); }

static const dp_shape *shape_at(const dp_node *node, int position) {
  return position == DP_CONV_RESULT ? &node->outputs[0]->type->shape : dp_common_shape(node, position);
}

// Channels: x has g blocks of c, y has g blocks of m; w is [g m, c]. A split covers groups, m within each group, or c
// within each group.
static void split_channels(dp_sharding_rules *rules, dp_conv_positions at, int64_t g, int64_t m, int64_t c) {
  dp_placement whole = dp_replicate();
  if (g > 1)
    add_row(rules, at, (quad){dp_shard_in(1, 1, c), dp_shard_in(0, 1, m), dp_shard_in(1, 1, m), dp_shard_in(0, 1, m)});
  for (int v = 0; v < rules->n_views; v++) {
    dp_placement view = rules->views[v];
    if (g > 1 && (view.outer != 1 || view.unit != 1)) continue;
    if (dp_sharding_divides(view, dp_dim_of(m))) {
      int64_t outer = g * view.outer;
      add_row(rules, at,
              (quad){rest(at.x), dp_shard_in(0, outer, view.unit), dp_shard_in(1, outer, view.unit),
                     dp_shard_in(0, outer, view.unit)});
    }
    if (dp_sharding_divides(view, dp_dim_of(c)))
      add_row(rules, at,
              (quad){dp_shard_in(1, g * view.outer, view.unit), dp_shard_in(1, view.outer, view.unit), rest(at.y),
                     at.y == DP_CONV_RESULT ? dp_partial(DP_SUM) : whole});
  }
}

void dp_conv_sharding(dp_sharding_rules *rules, dp_conv_positions at) {
  const dp_node *node = rules->node;
  const dp_shape *x = shape_at(node, at.x), *w = shape_at(node, at.w);
  int64_t g = dp_node_int(node, "group", 1);
  for (int v = 0; v < rules->n_views; v++) {
    dp_placement n = dp_shard_in(0, rules->views[v].outer, rules->views[v].unit);
    if (dp_sharding_divides(n, x->dims[0])) add_row(rules, at, (quad){n, rest(at.w), n, dp_replicate()});
  }
  split_channels(rules, at, g, w->dims[0].offset / g, w->dims[1].offset);
  unsigned bias = at.bias >= 0 && dp_common_operand(node, at.bias) ? 1u << at.bias : 0;
  dp_sharding_linear(rules, 1 | bias);
  dp_sharding_linear(rules, 2 | bias);
}

dp_cost dp_conv_cost(const dp_node *node, int64_t n, const dp_shape *w, const dp_shape *y) {
  double products = (double)dp_shape_count(y, n);
  for (int d = 1; d < w->rank; d++) products *= (double)w->dims[d].offset;
  return dp_common_cost(node, n, 2 * products);
}
