// LSTM: i, o, f = sigmoid, c = tanh of x W' + H R' + biases (+ peepholes times C); C = f C + i c; H = o tanh(C).
// Specialized into its steps (ir/ops/recurrent.h).
#include "ir/ops/recurrent.h"

static void lstm_step(const dp_recurrent *r, dp_value *x, dp_value *states[DP_RECURRENT_STATES]);

static const dp_recurrent_cell cell = {.gates = 4,
                                       .states = 2,
                                       .n_activations = 3,
                                       .activations = {"Sigmoid", "Tanh", "Tanh"},
                                       .sums = true,
                                       .step = lstm_step};

// x + peephole `which` (i, o, f) times c.
static dp_value *peep(const dp_recurrent *r, dp_value *x, int which, dp_value *c) {
  dp_builder *b = r->builder;
  if (!r->peepholes) return x;
  dp_value *p = dp_compose_slice(b, r->peepholes, 0, which * r->hidden, (which + 1) * r->hidden);
  return dp_build2(b, "Add", x, dp_build2(b, "Mul", p, c));
}

static void lstm_step(const dp_recurrent *r, dp_value *x, dp_value *states[DP_RECURRENT_STATES]) {
  dp_builder *b = r->builder;
  dp_value *c = states[1], *sum = dp_recurrent_sum(r, states[0], x);
  dp_value *gates[4] = {sum, sum, sum, sum};  // i, o, f, c
  dp_recurrent_split(r, sum, gates);
  dp_value *i = dp_recurrent_activate(r, &cell, 0, peep(r, gates[0], 0, c));
  dp_value *f = dp_node_int(r->node, "input_forget", 0) ? dp_piecewise_of(b, "Sub", 1, i)
                                                        : dp_recurrent_activate(r, &cell, 0, peep(r, gates[2], 2, c));
  dp_value *fresh = dp_recurrent_activate(r, &cell, 1, gates[3]);
  c = dp_build2(b, "Add", dp_build2(b, "Mul", f, c), dp_build2(b, "Mul", i, fresh));
  dp_value *o = dp_recurrent_activate(r, &cell, 0, peep(r, gates[1], 1, c));
  states[1] = c;
  states[0] = dp_build2(b, "Mul", o, dp_recurrent_activate(r, &cell, 2, c));
}

static dp_status infer(dp_node *node) {
  DP_TRY(dp_recurrent_infer(node, &cell));
  const dp_shape *states = &node->inputs[DP_RECURRENT_R]->type->shape;
  if (!dp_common_operand(node, 7)) return DP_OK;
  dp_shape peepholes = {2, {states->dims[0], dp_dim_of(3 * states->dims[2].offset)}};
  return dp_common_expect("P", dp_common_shape(node, 7), &peepholes);
}

static void specialize(dp_builder *b, const dp_node *node, dp_value *const *in, bool training, dp_value **out) {
  (void)training;
  dp_recurrent_specialize(b, node, &cell, in, out);
}

static const dp_sample samples[] = {
    {.inputs = "float32[3,N,2], float32[1,12,2], float32[1,12,3], float32[1,24]", .n = 3},
    {.inputs = "float32[2,N,2], float32[2,8,2], float32[2,8,2], float32[2,16], int32[N], float32[2,N,2], "
               "float32[2,N,2], float32[2,6]",
     .attrs = "direction=\"bidirectional\", hidden_size=2",
     .n = 4,
     .low = 0,
     .high = 2},
    {.inputs = "float32[N,3,2], float32[1,8,2], float32[1,8,2], , , float32[N,1,2], float32[N,1,2]",
     .attrs = "direction=\"reverse\", layout=1, clip=0.5, input_forget=1",
     .n = 3},
    {.inputs = "float32[2,N,1], float32[1,8,1], float32[1,8,2]",
     .attrs = "activations=[\"HardSigmoid\",\"ScaledTanh\",\"Affine\"], activation_alpha=[0.25,1.5,0.5], "
              "activation_beta=[0.5,0.75,0.125]",
     .n = 2},
    {0},
};

const dp_op dp_op_LSTM = {
    .name = "LSTM",
    .domain = "",
    .n_inputs = 8,
    .n_outputs = 3,
    .inputs = {DP_RECURRENT_INPUTS, DP_OPTIONAL("initial_c", DP_FLOATS, 'T'), DP_OPTIONAL("P", DP_FLOATS, 'T')},
    .outputs = {DP_RECURRENT_OUTPUTS, DP_OPTIONAL("Y_c", DP_FLOATS, 'T')},
    .attrs = {DP_RECURRENT_ATTRS, DP_INT_ATTR("input_forget", 0)},
    .precision = DP_PRECISION_HALF,
    .infer = infer,
    .specialize = specialize,
    .samples = samples,
};
