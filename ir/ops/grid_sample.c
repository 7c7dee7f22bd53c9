// GridSample(X [N, C, d...], grid [N, e..., r]) -> Y [N, C, e...]: X at coordinates from -1 to 1, last dim first,
// interpolated by `mode`. Elements outside are 0, the border's, or mirrored; cubic applies this to each neighbour, as
// PyTorch does. Specialized into GatherElements of all neighbours and a weighted sum.
#include <string.h>

#include "ir/ops/compose.h"

enum { X, GRID, MAX_TAPS = 4, MAX_SPATIAL = 3 };

typedef enum { NEAREST, LINEAR, CUBIC } kind;

typedef struct {
  dp_builder *b;
  kind mode;
  bool align;
  const char *padding;  // zeros, border, reflection
  int rank;
  dp_dim batch, positions;  // of [N, positions]
} sampling;

// The neighbours along one spatial dim: [N, positions] each.
typedef struct {
  int count;
  dp_value *index[MAX_TAPS], *weight[MAX_TAPS];  // weight NULL: 1
} taps;

static dp_status find_mode(const dp_node *node, kind *mode) {
  static const struct {
    const char *name;
    kind mode;
  } modes[] = {{"nearest", NEAREST}, {"linear", LINEAR}, {"bilinear", LINEAR}, {"cubic", CUBIC}, {"bicubic", CUBIC}};
  const char *given = dp_node_string(node, "mode", "linear"), *padding = dp_node_string(node, "padding_mode", "zeros");
  if (strcmp(padding, "zeros") && strcmp(padding, "border") && strcmp(padding, "reflection"))
    return dp_fail(EX_DATAERR, "padding_mode is '%s' where zeros, border or reflection is expected", padding);
  for (size_t i = 0; i < DP_COUNT(modes); i++)
    if (!strcmp(given, modes[i].name)) {
      *mode = modes[i].mode;
      return DP_OK;
    }
  return dp_fail(EX_DATAERR, "mode is '%s' where nearest, linear or cubic is expected", given);
}

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, X), *grid = dp_common_shape(node, GRID);
  char a[256], b[256];
  kind mode;
  DP_TRY(find_mode(node, &mode));
  int rank = x->rank - 2;
  bool fits = rank >= 1 && rank <= MAX_SPATIAL && grid->rank == x->rank && dp_dim_equal(grid->dims[0], x->dims[0]) &&
              dp_dim_is(grid->dims[grid->rank - 1], rank);
  dp_shape y = *x;
  for (int i = 0; fits && i < rank; i++) {
    dp_dim in = x->dims[2 + i];
    fits = !dp_dim_is_symbolic(in) && in.offset >= 1 && in.offset <= 1 << 20 && !dp_dim_is_symbolic(grid->dims[1 + i]);
    y.dims[2 + i] = grid->dims[1 + i];
  }
  if (!fits)
    return dp_fail(EX_DATAERR,
                   "X has shape %s and the grid %s; [N, C, d...] and [N, e..., dims] with 1 to %d spatial dims of "
                   "plain numbers are expected",
                   dp_shape_print(x, a, sizeof a), dp_shape_print(grid, b, sizeof b), MAX_SPATIAL);
  dp_common_set(node, 0, node->inputs[X]->type->dtype, &y);
  return DP_OK;
}

static dp_value *with(const sampling *s, const char *op, dp_value *x, double number) {
  return dp_elementwise_with(s->b, op, x, number);
}

static dp_value *held(const sampling *s, dp_value *x, int64_t extent) {
  dp_attr bounds[] = {dp_attr_float("min", 0), dp_attr_float("max", (double)extent - 1)};
  return dp_build(s->b, "Clip", 1, &x, 1, 2, bounds);
}

// Mirrors at the ends: at the first and last element, or half an element beyond.
static dp_value *mirrored(const sampling *s, dp_value *x, int64_t extent) {
  double low = s->align ? 0 : -0.5, span = s->align ? (double)extent - 1 : (double)extent;
  if (span == 0) return with(s, "Mul", x, 0);
  dp_value *from = dp_build1(s->b, "Abs", with(s, "Sub", x, low));
  dp_value *turns = dp_build1(s->b, "Floor", with(s, "Div", from, 2 * span));
  dp_value *rest = dp_build2(s->b, "Sub", from, with(s, "Mul", turns, 2 * span));
  dp_value *back = dp_build1(s->b, "Abs", with(s, "Sub", rest, span));
  return dp_piecewise_of(s->b, "Sub", low + span, back);
}

// Moves a position that may lie outside to one inside, except for padding with zeros.
static dp_value *inside(const sampling *s, dp_value *x, int64_t extent) {
  if (!strcmp(s->padding, "zeros")) return x;
  return held(s, strcmp(s->padding, "reflection") ? x : mirrored(s, x, extent), extent);
}

static void weigh(const sampling *s, dp_value *rest, taps *t) {
  dp_builder *b = s->b;
  static const double cubic[MAX_TAPS][MAX_TAPS] = {// of rest^3, rest^2, rest, 1; a = -0.75
                                                   {-0.75, 1.5, -0.75, 0},
                                                   {1.25, -2.25, 0, 1},
                                                   {-1.25, 1.5, 0.75, 0},
                                                   {0.75, -0.75, 0, 0}};
  t->count = s->mode == NEAREST ? 1 : s->mode == LINEAR ? 2 : 4;
  if (s->mode == LINEAR) {
    t->weight[0] = dp_piecewise_of(b, "Sub", 1, rest);
    t->weight[1] = rest;
  }
  for (int i = 0; i < MAX_TAPS && s->mode == CUBIC; i++) {
    t->weight[i] = with(s, "Mul", rest, cubic[i][0]);
    for (int k = 1; k < MAX_TAPS; k++) {
      t->weight[i] = with(s, "Add", t->weight[i], cubic[i][k]);
      if (k < MAX_TAPS - 1) t->weight[i] = dp_build2(b, "Mul", t->weight[i], rest);
    }
  }
}

// From coordinates g [N, positions] of -1 to 1 along a dim of this extent.
static taps taps_of(const sampling *s, dp_value *g, int64_t extent) {
  dp_builder *b = s->b;
  taps t = {0};
  double half = s->align ? ((double)extent - 1) / 2 : (double)extent / 2, middle = ((double)extent - 1) / 2;
  dp_value *at = with(s, "Add", with(s, "Mul", g, half), middle);
  if (s->mode != CUBIC) at = inside(s, at, extent);
  dp_value *first = dp_build1(b, s->mode == NEAREST ? "Round" : "Floor", at);
  weigh(s, s->mode == NEAREST ? NULL : dp_build2(b, "Sub", at, first), &t);
  for (int i = 0; i < t.count; i++) {
    int shift = s->mode == CUBIC ? i - 1 : i;
    dp_value *position = shift ? with(s, "Add", first, shift) : first;
    if (s->mode == CUBIC) position = inside(s, position, extent);
    dp_value *near = held(s, position, extent);
    if (!strcmp(s->padding, "zeros")) {
      dp_value *is = dp_build_cast(b, dp_build2(b, "Equal", position, near), g->type->dtype);
      t.weight[i] = t.weight[i] ? dp_build2(b, "Mul", t.weight[i], is) : is;
    }
    t.index[i] = dp_build_cast(b, near, DP_INT64);
  }
  return t;
}

// The sum over the neighbours along dims d on, starting with one position and weight (NULL: 0 and 1) for the dims
// before.
static dp_value *sum_up(const sampling *s, dp_value *x, const taps *t, const dp_shape *extents, int d, dp_value *index,
                        dp_value *weight, dp_value *sum) {
  dp_builder *b = s->b;
  if (d == s->rank) {
    dp_shape wide = {3, {s->batch, x->type->shape.dims[1], s->positions}};
    dp_value *y = dp_compose_pick(b, x, dp_compose_expand(b, dp_compose_unsqueeze(b, index, 1), &wide), 2);
    if (weight) y = dp_build2(b, "Mul", y, dp_build_cast(b, dp_compose_unsqueeze(b, weight, 1), x->type->dtype));
    return sum ? dp_build2(b, "Add", sum, y) : y;
  }
  for (int i = 0; i < t[d].count; i++) {
    dp_value *at = t[d].index[i], *w = t[d].weight[i];
    if (index) at = dp_build2(b, "Add", with(s, "Mul", index, (double)extents->dims[2 + d].offset), at);
    if (weight) w = w ? dp_build2(b, "Mul", weight, w) : weight;
    sum = sum_up(s, x, t, extents, d + 1, at, w, sum);
  }
  return sum;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  const dp_shape *x = dp_common_shape(node, X), *grid = dp_common_shape(node, GRID);
  sampling s = {.b = b, .align = dp_node_int(node, "align_corners", 0) != 0, .rank = x->rank - 2, .batch = x->dims[0]};
  s.padding = dp_node_string(node, "padding_mode", "zeros");
  dp_status status = find_mode(node, &s.mode);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  taps t[MAX_SPATIAL] = {0};
  dp_value *points = dp_compose_merge(b, in[GRID], 1, grid->rank - 1);
  // float16 cannot represent a position in X beyond a few thousand.
  if (points->type->dtype != DP_FLOAT64) points = dp_build_cast(b, points, DP_FLOAT32);
  s.positions = points->type->shape.dims[1];
  for (int d = 0; d < s.rank && !b->status; d++)
    t[d] = taps_of(&s, dp_compose_take(b, points, 2, s.rank - 1 - d), x->dims[2 + d].offset);
  if (b->status) return;
  dp_value *y = sum_up(&s, dp_compose_merge(b, in[X], 2, x->rank), t, x, 0, NULL, NULL, NULL);
  out[0] = dp_build_reshape(b, y, &node->outputs[0]->type->shape);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,2,3,4], float32[N,2,3,2]", .n = 2, .low = -1.25, .high = 1.25},
    {.inputs = "float32[N,1,4,3], float32[N,2,2,2]",
     .attrs = "mode=\"cubic\", padding_mode=\"border\", align_corners=1",
     .n = 2,
     .low = -1.5,
     .high = 1.5},
    {.inputs = "float32[N,1,3,4], float32[N,3,2,2]",
     .attrs = "padding_mode=\"reflection\"",
     .n = 2,
     .low = -3,
     .high = 3},
    {.inputs = "float32[N,1,3,4], float32[N,3,2,2]", .attrs = "mode=\"nearest\"", .n = 2, .low = -1.25, .high = 1.25},
    {.inputs = "float32[N,1,2,3,2], float32[N,2,1,2,3]",
     .attrs = "mode=\"bilinear\", padding_mode=\"reflection\", align_corners=1",
     .n = 2,
     .low = -2,
     .high = 2},
    {.inputs = "float32[N,1,4,4], float32[N,2,2,2]", .attrs = "mode=\"bicubic\"", .n = 2, .low = -1.25, .high = 1.25},
    {0},
};

const dp_op dp_op_GridSample = {
    .name = "GridSample",
    .domain = "",
    .n_inputs = 2,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("grid", DP_FLOATS, 'U')},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_INT_ATTR("align_corners", 0), DP_STRING_ATTR("mode", "linear"),
              DP_STRING_ATTR("padding_mode", "zeros")},
    .precision = DP_PRECISION_WITHIN,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
