// Recurrent layers, step by step along a sequence of known length: what LSTM, GRU and RNN share. See ONNX.
//
//   X [length, batch, input]; for each direction W [gates * hidden, input], R [gates * hidden, hidden],
//   B [2 * gates * hidden]; sequence_lens [batch]; initial states [directions, batch, hidden].
//   Y [length, directions, batch, hidden], last states [directions, batch, hidden]. With layout=1 the batch comes
//   first in X, Y and the states. Beyond the end of a sequence Y is 0 and the state is kept.
#ifndef DP_IR_OPS_RECURRENT_H
#define DP_IR_OPS_RECURRENT_H

#include "ir/ops/compose.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_RECURRENT_X, DP_RECURRENT_W, DP_RECURRENT_R, DP_RECURRENT_B, DP_RECURRENT_LENGTHS, DP_RECURRENT_STATE };
enum { DP_RECURRENT_STATES = 2, DP_RECURRENT_ACTIVATIONS = 3 };

// The state of one direction while its graph is built.
typedef struct {
  dp_builder *builder;
  const dp_node *node;
  int direction, gates;  // direction: 0, or 1 of two
  dp_dim batch;
  int64_t length, hidden;
  dp_value *recurrent;  // R' [hidden, gates * hidden]
  dp_value *bias;       // of H R' [gates * hidden]; NULL: none, or it is added to X W' already
  dp_value *peepholes;  // [3 * hidden]; NULL: none
} dp_recurrent;

typedef struct {
  int gates, states;                                  // states: H, and C of an LSTM
  int n_activations;                                  // of a direction
  const char *activations[DP_RECURRENT_ACTIVATIONS];  // by default
  bool sums;  // it adds X W', H R' and both biases before all else, so that biases are added for all steps at once
  // The states after a step: from those before and x = X W' of the step, [batch, gates * hidden], with its bias.
  void (*step)(const dp_recurrent *r, dp_value *x, dp_value *states[DP_RECURRENT_STATES]);
} dp_recurrent_cell;

dp_status dp_recurrent_infer(dp_node *node, const dp_recurrent_cell *cell) DP_MUST_USE;
void dp_recurrent_specialize(dp_builder *builder, const dp_node *node, const dp_recurrent_cell *cell,
                             dp_value *const *in, dp_value **out);
// Activation `which` of the direction, applied to x limited by the attribute clip.
dp_value *dp_recurrent_activate(const dp_recurrent *r, const dp_recurrent_cell *cell, int which, dp_value *x);
// H R' + x.
dp_value *dp_recurrent_sum(const dp_recurrent *r, dp_value *h, dp_value *x);
// Columns [gate, gate + count) * hidden of x, or elements of a bias.
dp_value *dp_recurrent_gate(const dp_recurrent *r, dp_value *x, int gate, int count);
// The same columns of all gates.
void dp_recurrent_split(const dp_recurrent *r, dp_value *x, dp_value **gates);

// The operands, results and attributes that all of them have, for dp_op.
#define DP_RECURRENT_INPUTS                                                                          \
  DP_OPERAND("X", DP_FLOATS, 'T'), DP_OPERAND("W", DP_FLOATS, 'T'), DP_OPERAND("R", DP_FLOATS, 'T'), \
      DP_OPTIONAL("B", DP_FLOATS, 'T'), DP_OPTIONAL("sequence_lens", DP_BIT(DP_INT32), 0),           \
      DP_OPTIONAL("initial_h", DP_FLOATS, 'T')
#define DP_RECURRENT_OUTPUTS DP_OPTIONAL("Y", DP_FLOATS, 'T'), DP_OPTIONAL("Y_h", DP_FLOATS, 'T')
#define DP_RECURRENT_ATTRS                                                                                   \
  {.name = "activation_alpha", .kind = DP_ATTR_FLOATS}, {.name = "activation_beta", .kind = DP_ATTR_FLOATS}, \
      {.name = "activations", .kind = DP_ATTR_STRINGS}, {.name = "clip", .kind = DP_ATTR_FLOAT},             \
      DP_STRING_ATTR("direction", "forward"), {.name = "hidden_size", .kind = DP_ATTR_INT}, DP_INT_ATTR("layout", 0)

#ifdef __cplusplus
}
#endif
#endif
