// RotaryEmbedding(X, cos, sin [, position_ids]): the first rotary_embedding_dim elements of each head (all when 0) form
// pairs, each rotated by the angle whose cosine and sine the caches hold for the position. Pairs are elements i and i +
// half, or, with interleaved, 2 i and 2 i + 1. X is [batch, heads, length, size] or [batch, length, heads * size]; the
// caches are [positions, half] with position_ids [batch, length], else [batch, length, half]. Specialized into products
// and sums.
#include "ir/ops/compose.h"

enum { X, COS, SIN, POSITIONS };

typedef struct {
  dp_dim batch, length;
  int64_t heads, size, half;
} extents;

static dp_status extents_of(const dp_node *node, extents *e) {
  const dp_shape *x = dp_common_shape(node, X);
  int64_t heads = dp_node_int(node, "num_heads", 0), part = dp_node_int(node, "rotary_embedding_dim", 0);
  char text[256];
  bool flat = x->rank == 3;
  if (x->rank != 3 && x->rank != 4)
    return dp_fail(EX_DATAERR,
                   "X has shape %s; [batch, heads, length, size] or [batch, length, heads * size] is expected",
                   dp_shape_print(x, text, sizeof text));
  *e = (extents){
      .batch = x->dims[0], .length = x->dims[x->rank - 2], .heads = flat ? heads : dp_compose_fixed(x->dims[1])};
  int64_t width = dp_compose_fixed(x->dims[x->rank - 1]);
  if (e->heads < 1 || width < 1 || (flat && width % e->heads) || (!flat && heads && heads != e->heads))
    return dp_fail(EX_DATAERR, "num_heads is %lld, which does not match X of shape %s", (long long)heads,
                   dp_shape_print(x, text, sizeof text));
  e->size = flat ? width / e->heads : width;
  if (part < 0 || part > e->size || (part ? part : e->size) % 2)
    return dp_fail(EX_DATAERR, "rotary_embedding_dim is %lld where an even part of %lld elements is expected",
                   (long long)part, (long long)e->size);
  e->half = (part ? part : e->size) / 2;
  return DP_OK;
}

static dp_status infer(dp_node *node) {
  extents e;
  DP_TRY(extents_of(node, &e));
  dp_shape ids = {2, {e.batch, e.length}}, cache = {3, {e.batch, e.length, dp_dim_of(e.half)}};
  if (dp_common_operand(node, POSITIONS)) {
    DP_TRY(dp_common_expect("position_ids", dp_common_shape(node, POSITIONS), &ids));
    const dp_shape *given = dp_common_shape(node, COS);
    cache = (dp_shape){2, {given->rank ? given->dims[0] : dp_dim_of(0), dp_dim_of(e.half)}};
  }
  DP_TRY(dp_common_expect("cos_cache", dp_common_shape(node, COS), &cache));
  DP_TRY(dp_common_expect("sin_cache", dp_common_shape(node, SIN), &cache));
  return dp_common_infer_same(node);
}

// The cache for every element of [batch, length, heads, half].
static dp_value *angles(dp_builder *b, const dp_node *node, dp_value *cache, dp_value *const *in) {
  if (dp_common_operand(node, POSITIONS)) cache = dp_compose_gather(b, cache, in[POSITIONS], 0);
  return dp_compose_unsqueeze(b, cache, 2);
}

// x1, x2 [batch, length, heads, half] rotated, in the operand's layout.
static dp_value *turned(dp_builder *b, const dp_node *node, dp_value *const *in, const extents *e, dp_value *x) {
  bool woven = dp_node_int(node, "interleaved", 0) != 0;
  dp_dim two = dp_dim_of(2), half = dp_dim_of(e->half);
  dp_shape pairs = {5, {e->batch, e->length, dp_dim_of(e->heads), woven ? half : two, woven ? two : half}};
  int axis = woven ? 4 : 3;
  dp_value *seen = dp_build_reshape(b, x, &pairs);
  dp_value *x1 = dp_compose_take(b, seen, axis, 0), *x2 = dp_compose_take(b, seen, axis, 1);
  dp_value *c = angles(b, node, in[COS], in), *s = angles(b, node, in[SIN], in);
  dp_value *real = dp_build2(b, "Sub", dp_build2(b, "Mul", c, x1), dp_build2(b, "Mul", s, x2));
  dp_value *imag = dp_build2(b, "Add", dp_build2(b, "Mul", s, x1), dp_build2(b, "Mul", c, x2));
  dp_value *joined =
      dp_compose_concat(b, dp_compose_unsqueeze(b, real, axis), dp_compose_unsqueeze(b, imag, axis), axis);
  return dp_build_reshape(b, joined, &x->type->shape);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  extents e;
  dp_status status = extents_of(node, &e);
  if (status) {  // infer has refused the node
    dp_status_free(status);
    return;
  }
  bool flat = dp_common_shape(node, X)->rank == 3;
  dp_shape heads = {4, {e.batch, e.length, dp_dim_of(e.heads), dp_dim_of(e.size)}};
  dp_value *x = flat ? dp_build_reshape(b, in[X], &heads) : dp_compose_swap(b, in[X], 1, 2);
  dp_value *part = 2 * e.half == e.size ? x : dp_compose_slice(b, x, 3, 0, 2 * e.half);
  dp_value *y = turned(b, node, in, &e, part);
  if (part != x) y = dp_compose_concat(b, y, dp_compose_slice(b, x, 3, 2 * e.half, e.size), 3);
  out[0] = flat ? dp_build_reshape(b, y, dp_common_shape(node, X)) : dp_compose_swap(b, y, 1, 2);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,2,3,4], float32[N,3,2], float32[N,3,2]", .n = 2},
    {.inputs = "float32[N,3,12], float32[6,2], float32[6,2], int64[N,3]",
     .attrs = "num_heads=2, rotary_embedding_dim=4, interleaved=1",
     .n = 2,
     .low = 0,
     .high = 5},
    {0},
};

const dp_op dp_op_RotaryEmbedding = {
    .name = "RotaryEmbedding",
    .domain = "",
    .n_inputs = 4,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("cos_cache", DP_FLOATS, 'T'),
               DP_OPERAND("sin_cache", DP_FLOATS, 'T'), DP_OPTIONAL("position_ids", DP_BIT(DP_INT64), 0)},
    .outputs = {DP_OPERAND("Y", DP_FLOATS, 'T')},
    .attrs = {DP_INT_ATTR("interleaved", 0), DP_INT_ATTR("num_heads", 0), DP_INT_ATTR("rotary_embedding_dim", 0)},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
