// RNN: H = tanh(x W' + H R' + biases). Specialized into its steps (ir/ops/recurrent.h).
#include "ir/ops/recurrent.h"

static void rnn_step(const dp_recurrent *r, dp_value *x, dp_value *states[DP_RECURRENT_STATES]);

static const dp_recurrent_cell cell = {
    .gates = 1, .states = 1, .n_activations = 1, .activations = {"Tanh"}, .sums = true, .step = rnn_step};

static void rnn_step(const dp_recurrent *r, dp_value *x, dp_value *states[DP_RECURRENT_STATES]) {
  dp_value *sum = dp_recurrent_sum(r, states[0], x);
  states[0] = dp_recurrent_activate(r, &cell, 0, sum);
}

static dp_status infer(dp_node *node) { return dp_recurrent_infer(node, &cell); }

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_recurrent_specialize(b, node, &cell, in, out);
}

static const dp_sample samples[] = {
    {.inputs = "float32[3,N,2], float32[1,3,2], float32[1,3,3], float32[1,6]", .n = 3},
    {.inputs = "float32[2,N,2], float32[2,2,2], float32[2,2,2], float32[2,4], int32[N], float32[2,N,2]",
     .attrs = "direction=\"bidirectional\", hidden_size=2, activations=[\"LeakyRelu\",\"Elu\"], "
              "activation_alpha=[0.125,0.5]",
     .n = 4,
     .low = 0,
     .high = 2},
    {.inputs = "float32[N,3,2], float32[1,2,2], float32[1,2,2], , , float32[N,1,2]",
     .attrs = "direction=\"reverse\", layout=1, clip=0.5",
     .n = 3},
    {.inputs = "float32[2,N,2], float32[1,2,2], float32[1,2,2]",
     .attrs = "activations=[\"Affine\"], activation_alpha=[0.5], activation_beta=[0.25]",
     .n = 3},
    {0},
};

const dp_op dp_op_RNN = {
    .name = "RNN",
    .domain = "",
    .n_inputs = 6,
    .n_outputs = 2,
    .inputs = {DP_RECURRENT_INPUTS},
    .outputs = {DP_RECURRENT_OUTPUTS},
    .attrs = {DP_RECURRENT_ATTRS},
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
