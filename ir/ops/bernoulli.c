// Bernoulli(p): 1 with probability p, else 0: the element's number u in [0, 1) is compared with p. The type is dtype,
// or p's without it. No gradient reaches p. See draw.h.
#include "ir/ops/draw.h"

static dp_status infer(dp_node *node) { return dp_draw_infer_like(node, DP_ANY_TYPE); }

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  // u has 24 bits; rounded to a 16-bit type it could reach 1.
  dp_dtype dtype = in[0]->type->dtype == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32;
  dp_value *u = dp_draw_uniform(b, node, dtype, 0, 1);
  dp_value *drawn = dp_build2(b, "Less", u, dp_build_cast(b, in[0], dtype));
  out[0] = dp_build_cast(b, drawn, node->outputs[0]->type->dtype);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3]", .n = 5, .low = 0, .high = 1},
    {.inputs = "float16[2,N]", .attrs = "dtype=9, seed=3.0", .n = 3, .low = 0, .high = 1},
    {.inputs = "float32[2]", .attrs = "dtype=2", .low = 0, .high = 1},
    {.inputs = "float32[2]", .attrs = "dtype=3", .low = 0, .high = 1},
    {.inputs = "float32[2]", .attrs = "dtype=4", .low = 0, .high = 1},
    {.inputs = "float32[2]", .attrs = "dtype=5", .low = 0, .high = 1},
    {.inputs = "float32[2]", .attrs = "dtype=6", .low = 0, .high = 1},
    {.inputs = "float32[2]", .attrs = "dtype=7", .low = 0, .high = 1},
    {.inputs = "float32[2]", .attrs = "dtype=12", .low = 0, .high = 1},
    {.inputs = "float32[2]", .attrs = "dtype=13", .low = 0, .high = 1},
    {0},
};

const dp_op dp_op_Bernoulli = {
    .name = "Bernoulli",
    .domain = "",
    .n_inputs = 1,
    .n_outputs = 1,
    .inputs = {DP_OPERAND("input", DP_FLOATS, 0)},
    .outputs = {DP_OPERAND("output", DP_ANY_TYPE, 0)},
    .attrs = {{.name = "dtype", .kind = DP_ATTR_INT}, DP_DRAW_SEED_ATTR},
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
