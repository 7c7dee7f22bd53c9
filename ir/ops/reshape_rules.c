// Placements through Reshape and Flatten. See reshape.h.
//
// The dims of both shapes are divided into groups of equal product, each as short as possible: [N,64,7,7] -> [N,3136]
// has the groups N -> N and 64,7,7 -> 3136. Within a group, a split of dim d views the group's elements as outer x k x
// unit, where outer is the extents before d times the view's outer, and unit the view's unit times the extents after d.
// It is a split of dim j of the other shape when the extents before j divide outer, those after j divide unit, and the
// rest makes up dim j.
#include "ir/ops/reshape.h"

typedef struct {
  const dp_shape *shape;
  int first, end;
} span;

// The product of dims [first, end) as a number; false when it depends on n or is 0.
static bool number(const dp_shape *shape, int first, int end, int64_t *product) {
  dp_dim p;
  if (!dp_shape_product(shape, first, end, &p) || p.scale || p.offset < 1) return false;
  *product = p.offset;
  return true;
}

// The split of dim d of `from` as a split of a dim of `to`.
static bool carry(span from, dp_placement split, span to, dp_placement *result) {
  int64_t outer, unit, before, after;
  dp_dim d = from.shape->dims[split.dim];
  if (!number(from.shape, from.first, split.dim, &outer) || !number(from.shape, split.dim + 1, from.end, &unit))
    return false;
  if (__builtin_mul_overflow(outer, split.outer, &outer) || __builtin_mul_overflow(unit, split.unit, &unit))
    return false;
  int64_t block = split.outer * split.unit;
  dp_dim k = {d.scale / block, d.offset / block};
  for (int j = to.first; j < to.end; j++) {
    if (!number(to.shape, to.first, j, &before) || !number(to.shape, j + 1, to.end, &after)) continue;
    if (outer % before || unit % after) continue;
    dp_placement p = dp_shard_in(j, outer / before, unit / after);
    dp_dim whole = to.shape->dims[j];
    if (!dp_sharding_divides(p, whole)) continue;
    block = p.outer * p.unit;
    if (!dp_dim_equal(k, (dp_dim){whole.scale / block, whole.offset / block})) continue;
    *result = p;
    return true;
  }
  return false;
}

static void carry_all(dp_sharding_rules *rules, span from, span to, bool forward) {
  for (int d = from.first; d < from.end; d++) {
    dp_dim extent = from.shape->dims[d];
    for (int v = 0; v < rules->n_views; v++) {
      dp_placement here = dp_shard_in(d, rules->views[v].outer, rules->views[v].unit), there;
      if (!dp_sharding_divides(here, extent) || !carry(from, here, to, &there)) continue;
      dp_sharding_add_placed(rules, forward ? &here : &there, forward ? &there : &here);
    }
  }
}

void dp_reshape_sharding(dp_sharding_rules *rules) {
  const dp_shape *x = dp_common_shape(rules->node, 0), *y = &rules->node->outputs[0]->type->shape;
  span a = {x, 0, 0}, b = {y, 0, 0};
  while (a.first < x->rank || b.first < y->rank) {
    // Extends the side with the smaller product until both are equal.
    dp_dim pa = dp_dim_of(1), pb = dp_dim_of(1);
    a.end = a.first;
    b.end = b.first;
    do {
      bool grow_a = b.end == y->rank ||
                    (a.end < x->rank && (pa.scale < pb.scale || (pa.scale == pb.scale && pa.offset <= pb.offset)));
      if (grow_a)
        a.end++;
      else
        b.end++;
      if (!dp_shape_product(x, a.first, a.end, &pa) || !dp_shape_product(y, b.first, b.end, &pb)) return;
    } while (!dp_dim_equal(pa, pb) && (a.end < x->rank || b.end < y->rank));
    carry_all(rules, a, b, true);
    carry_all(rules, b, a, false);
    a.first = a.end;
    b.first = b.end;
  }
  dp_sharding_linear(rules, 1);
  dp_placement max = dp_partial(DP_MAX);
  dp_sharding_add_placed(rules, &max, &max);
}

void dp_reshape_gradient(dp_builder *builder, const dp_node *node, dp_value *const *dy, dp_value **dx) {
  dx[0] = dp_build_reshape(builder, dy[0], dp_common_shape(node, 0));
}
