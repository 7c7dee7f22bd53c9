// GRU: z, r = sigmoid of x W' + H R' + biases; h = tanh of x Wh' + (r H) Rh' + biases, or, with linear_before_reset, x
// Wh' + r (H Rh' + bias); H = (1 - z) h + z H. Specialized into its steps (ir/ops/recurrent.h).
#include "ir/ops/recurrent.h"

static void gru_step(const dp_recurrent *r, dp_value *x, dp_value *states[DP_RECURRENT_STATES]);

static const dp_recurrent_cell cell = {
    .gates = 3, .states = 1, .n_activations = 2, .activations = {"Sigmoid", "Tanh"}, .step = gru_step};

// y, of these gates, with its recurrent bias.
static dp_value *biased(const dp_recurrent *r, dp_value *y, int gate, int count) {
  return r->bias ? dp_build2(r->builder, "Add", y, dp_recurrent_gate(r, r->bias, gate, count)) : y;
}

static void gru_step(const dp_recurrent *r, dp_value *x, dp_value *states[DP_RECURRENT_STATES]) {
  dp_builder *b = r->builder;
  bool linear = dp_node_int(r->node, "linear_before_reset", 0) != 0;
  dp_value *h = states[0], *fresh = dp_recurrent_gate(r, x, 2, 1);
  dp_value *product = dp_build2(b, "MatMul", h, linear ? r->recurrent : dp_recurrent_gate(r, r->recurrent, 0, 2));
  dp_value *gates =
      dp_build2(b, "Add", dp_recurrent_gate(r, x, 0, 2), dp_recurrent_gate(r, product, 0, linear ? 2 : 3));
  gates = biased(r, gates, 0, 2);
  dp_value *z = dp_recurrent_activate(r, &cell, 0, dp_recurrent_gate(r, gates, 0, 1));
  dp_value *reset = dp_recurrent_activate(r, &cell, 0, dp_recurrent_gate(r, gates, 1, 1));
  dp_value *past;
  if (linear) {
    past = dp_build2(b, "Mul", reset, biased(r, dp_recurrent_gate(r, product, 2, 1), 2, 1));
  } else {
    past = dp_build2(b, "MatMul", dp_build2(b, "Mul", reset, h), dp_recurrent_gate(r, r->recurrent, 2, 1));
    past = biased(r, past, 2, 1);
  }
  fresh = dp_recurrent_activate(r, &cell, 1, dp_build2(b, "Add", fresh, past));
  dp_value *kept = dp_build2(b, "Mul", z, h);
  states[0] = dp_build2(b, "Add", dp_build2(b, "Mul", dp_piecewise_of(b, "Sub", 1, z), fresh), kept);
}

static dp_status infer(dp_node *node) { return dp_recurrent_infer(node, &cell); }

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_recurrent_specialize(b, node, &cell, in, out);
}

static const dp_sample samples[] = {
    {.inputs = "float32[3,N,2], float32[1,9,2], float32[1,9,3], float32[1,18]", .n = 3},
    {.inputs = "float32[3,N,2], float32[2,6,2], float32[2,6,2], float32[2,12], int32[N], float32[2,N,2]",
     .attrs = "direction=\"bidirectional\", linear_before_reset=1, hidden_size=2",
     .n = 4,
     .low = 0,
     .high = 3},
    {.inputs = "float32[N,3,2], float32[1,6,2], float32[1,6,2], , , float32[N,1,2]",
     .attrs = "direction=\"reverse\", layout=1, clip=0.5",
     .n = 3},
    {.inputs = "float32[2,N,1], float32[1,6,1], float32[1,6,2], float32[1,12]",
     .attrs = "activations=[\"hardsigmoid\",\"Softsign\"], activation_alpha=[0.25], activation_beta=[0.625]",
     .n = 2},
    {0},
};

const dp_op dp_op_GRU = {
    .name = "GRU",
    .domain = "",
    .n_inputs = 6,
    .n_outputs = 2,
    .inputs = {DP_RECURRENT_INPUTS},
    .outputs = {DP_RECURRENT_OUTPUTS},
    .attrs = {DP_RECURRENT_ATTRS, DP_INT_ATTR("linear_before_reset", 0)},
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
