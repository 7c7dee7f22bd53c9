// Col2Im {image_shape, block_shape}: puts columns [N, C * block, positions] back where they were taken from, [N, C,
// image...], adding overlapping elements. Specialized into the gradient of a convolution that extracts the columns.
#include "ir/ops/geometry.h"

#include "ir/ops/compose.h"

typedef struct {
  int rank;
  int64_t channels, block, image[DP_MAX_SPATIAL], kernel[DP_MAX_SPATIAL], pads[2 * DP_MAX_SPATIAL];
  int64_t dilation[DP_MAX_SPATIAL], stride[DP_MAX_SPATIAL], steps[DP_MAX_SPATIAL];
} columns;

static dp_status list_of(const dp_node *node, const char *name, size_t expected, int64_t least, int64_t *list) {
  size_t count;
  const int64_t *given = dp_node_ints(node, name, &count);
  for (size_t i = 0; i < expected; i++) {
    list[i] = given && i < count ? given[i] : least;
    if ((given && count != expected) || list[i] < least || list[i] > 1 << 24)
      return dp_fail(EX_DATAERR, "%s has %zu numbers where %zu of %lld or more are expected", name, count, expected,
                     (long long)least);
  }
  return DP_OK;
}

static dp_status read_attributes(const dp_node *node, columns *c) {
  const dp_shape *x = dp_common_shape(node, 0);
  char text[256];
  size_t rank;
  if (!dp_node_ints(node, "image_shape", &rank) || !dp_node_attr(node, "block_shape") || rank < 1 ||
      rank > DP_MAX_SPATIAL)
    return dp_fail(EX_DATAERR, "image_shape and block_shape of 1 to %d extents are expected", DP_MAX_SPATIAL);
  c->rank = (int)rank;
  DP_TRY(list_of(node, "image_shape", rank, 1, c->image));
  DP_TRY(list_of(node, "block_shape", rank, 1, c->kernel));
  DP_TRY(list_of(node, "dilations", rank, 1, c->dilation));
  DP_TRY(list_of(node, "strides", rank, 1, c->stride));
  DP_TRY(list_of(node, "pads", 2 * rank, 0, c->pads));
  int64_t positions = 1;
  c->block = 1;
  for (int i = 0; i < c->rank; i++) {
    int64_t room = c->image[i] + c->pads[i] + c->pads[i + c->rank] - (c->kernel[i] - 1) * c->dilation[i] - 1;
    c->steps[i] = room < 0 ? 0 : room / c->stride[i] + 1;
    if (__builtin_mul_overflow(positions, c->steps[i], &positions) ||
        __builtin_mul_overflow(c->block, c->kernel[i], &c->block))
      return dp_fail(EX_DATAERR, "image and block are too large");
  }
  bool fits = x->rank == 3 && !dp_dim_is_symbolic(x->dims[1]) && x->dims[1].offset % c->block == 0 && positions > 0 &&
              dp_dim_is(x->dims[2], positions);
  if (!fits)
    return dp_fail(EX_DATAERR, "the operand has shape %s; [N, C * %lld, %lld] is expected",
                   dp_shape_print(x, text, sizeof text), (long long)c->block, (long long)positions);
  c->channels = x->dims[1].offset / c->block;
  return DP_OK;
}

static dp_shape image_of(const columns *c, dp_dim first, int64_t second) {
  dp_shape y = {.rank = 2 + c->rank, .dims = {first, dp_dim_of(second)}};
  for (int i = 0; i < c->rank; i++) y.dims[2 + i] = dp_dim_of(c->image[i]);
  return y;
}

static dp_status infer(dp_node *node) {
  columns c;
  DP_TRY(read_attributes(node, &c));
  dp_shape y = image_of(&c, dp_common_shape(node, 0)->dims[0], c.channels);
  dp_common_set(node, 0, node->inputs[0]->type->dtype, &y);
  return DP_OK;
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_arena *arena = b->graph->arena;
  columns c;
  dp_status status = read_attributes(node, &c);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  // A weight for each position in the block: 1 there, 0 elsewhere.
  dp_shape w = {.rank = 2 + c.rank, .dims = {dp_dim_of(c.block), dp_dim_of(1)}}, seen = w;
  dp_dim n = in[0]->type->shape.dims[0];
  seen.dims[0] = (dp_dim){n.scale * c.channels, n.offset * c.channels};
  seen.dims[1] = dp_dim_of(c.block);
  for (int i = 0; i < c.rank; i++) {
    w.dims[2 + i] = dp_dim_of(c.kernel[i]);
    seen.dims[2 + i] = dp_dim_of(c.steps[i]);
  }
  int64_t count;
  double *numbers = dp_compose_room(b, &w, &count);
  for (int64_t i = 0; numbers && i < c.block; i++) numbers[i * c.block + i] = 1;
  dp_shape image = image_of(&c, seen.dims[0], 1), y = image_of(&c, n, c.channels);
  size_t rank = (size_t)c.rank;
  dp_attr attrs[] = {dp_attr_dims(arena, "shape", &image), dp_attr_ints(arena, "dilations", c.dilation, rank),
                     dp_attr_ints(arena, "pads", c.pads, 2 * rank), dp_attr_ints(arena, "strides", c.stride, rank)};
  dp_value *operands[] = {dp_compose_constant(b, in[0]->type->dtype, &w, numbers), dp_build_reshape(b, in[0], &seen)};
  out[0] = dp_build_reshape(b, dp_build(b, "dp.ConvGradInput", 2, operands, 1, DP_COUNT(attrs), attrs), &y);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,8,6]", .attrs = "image_shape=[3,4], block_shape=[2,2]", .n = 2},
    {.inputs = "float32[N,6,12]",
     .attrs = "image_shape=[5,6], block_shape=[3,2], strides=[2,1], pads=[1,0,1,0], dilations=[1,2]",
     .n = 2},
    {.inputs = "float32[N,6,3]", .attrs = "image_shape=[7], block_shape=[3], strides=[2]", .n = 2},
    {0},
};

const dp_op dp_op_Col2Im = {
    .name = "Col2Im",
    .domain = "",
    .n_inputs = 3,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_FLOATS, 'T'), DP_AS_ATTR("image_shape", DP_BIT(DP_INT64), false),
               DP_AS_ATTR("block_shape", DP_BIT(DP_INT64), false)},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 'T')},
    .attrs = {DP_INTS_ATTR("block_shape"), DP_INTS_ATTR("dilations"), DP_INTS_ATTR("image_shape"), DP_INTS_ATTR("pads"),
              DP_INTS_ATTR("strides")},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
