// CausalConvWithState(input, weight, bias, past_state) -> output, present_state: convolves each channel of input
// [batch, channels, length] with its own k weights [channels, 1, k] over this position and the k - 1 before it.
// past_state [batch, channels, k - 1] comes before the input (0 without it). The activation silu or swish then gives x
// sigmoid(x). present_state is the end of what was convolved. Specialized into Conv.
#include <string.h>

#include "ir/ops/compose.h"

enum { INPUT, WEIGHT, BIAS, PAST };

static bool has_activation(const dp_node *node) { return strcmp(dp_node_string(node, "activation", "none"), "none"); }

static dp_status infer(dp_node *node) {
  const dp_shape *x = dp_common_shape(node, INPUT), *w = dp_common_shape(node, WEIGHT);
  const char *activation = dp_node_string(node, "activation", "none");
  char text[256];
  if (strcmp(activation, "none") && strcmp(activation, "silu") && strcmp(activation, "swish"))
    return dp_fail(EX_DATAERR, "activation is '%s' where none, silu or swish is expected", activation);
  if (x->rank != 3 || dp_compose_fixed(x->dims[1]) < 1 || dp_compose_fixed(x->dims[2]) < 1)
    return dp_fail(EX_DATAERR, "input has shape %s where [batch, channels, length] is expected, the last two numbers",
                   dp_shape_print(x, text, sizeof text));
  int64_t k = w->rank == 3 ? dp_compose_fixed(w->dims[2]) : -1;
  dp_shape weights = {3, {x->dims[1], dp_dim_of(1), dp_dim_of(k < 1 ? 1 : k)}}, bias = {1, {x->dims[1]}};
  dp_shape state = {3, {x->dims[0], x->dims[1], dp_dim_of(k - 1)}};
  DP_TRY(dp_common_expect("weight", w, &weights));
  if (dp_common_operand(node, BIAS)) DP_TRY(dp_common_expect("bias", dp_common_shape(node, BIAS), &bias));
  if (dp_common_operand(node, PAST)) DP_TRY(dp_common_expect("past_state", dp_common_shape(node, PAST), &state));
  dp_common_set(node, 1, node->inputs[INPUT]->type->dtype, &state);
  return dp_common_infer_same(node);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  const dp_shape *x = dp_common_shape(node, INPUT);
  int64_t length = x->dims[2].offset, before = dp_common_shape(node, WEIGHT)->dims[2].offset - 1;
  dp_shape state = {3, {x->dims[0], x->dims[1], dp_dim_of(before)}};
  bool given = dp_common_operand(node, PAST);
  dp_value *all = in[INPUT];
  if (before) all = dp_compose_concat(b, given ? in[PAST] : dp_compose_filled(b, all->type->dtype, &state, 0), all, 2);
  bool biased = dp_common_operand(node, BIAS);
  dp_value *operands[] = {all, in[WEIGHT], biased ? in[BIAS] : NULL};
  dp_attr group = dp_attr_int("group", x->dims[1].offset);
  out[0] = dp_build(b, "Conv", biased ? 3 : 2, operands, 1, 1, &group);
  if (has_activation(node)) out[0] = dp_build1(b, "Swish", out[0]);
  if (dp_common_result(node, 1)) out[1] = dp_compose_slice(b, all, 2, length, length + before);
}

static const dp_sample samples[] = {
    {.inputs = "float32[N,3,5], float32[3,1,4], float32[3], float32[N,3,3]", .attrs = "activation=\"silu\"", .n = 2},
    {.inputs = "float32[N,2,2], float32[2,1,4]", .n = 2},
    {.inputs = "float32[N,2,3], float32[2,1,1], float32[2]", .attrs = "activation=\"swish\"", .n = 2},
    {.inputs = "float16[N,2,3], float16[2,1,2], , float16[N,2,1]", .n = 2},
    {0},
};

const dp_op dp_op_CausalConvWithState = {
    .name = "CausalConvWithState",
    .domain = "",
    .n_inputs = 4,
    .n_outputs = 2,
    .inputs = {DP_OPERAND("input", DP_FLOATS, 'T'), DP_OPERAND("weight", DP_FLOATS, 'T'),
               DP_OPTIONAL("bias", DP_FLOATS, 'T'), DP_OPTIONAL("past_state", DP_FLOATS, 'T')},
    .outputs = {DP_OPERAND("output", DP_FLOATS, 'T'), DP_OPTIONAL("present_state", DP_FLOATS, 'T')},
    .attrs = {DP_STRING_ATTR("activation", "none")},
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
