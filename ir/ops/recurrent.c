// Recurrent layers, step by step. See recurrent.h.
#include "ir/ops/recurrent.h"

#include <math.h>
#include <string.h>
#include <strings.h>

// ---- shapes ---------------------------------------------------------------------------------------------------------

static int directions_of(const dp_node *node) {
  return strcmp(dp_node_string(node, "direction", "forward"), "bidirectional") ? 1 : 2;
}

static dp_shape states_shape(const dp_node *node, dp_dim batch, int64_t hidden) {
  dp_dim directions = dp_dim_of(directions_of(node));
  bool first = dp_node_int(node, "layout", 0) != 0;
  return (dp_shape){3, {first ? batch : directions, first ? directions : batch, dp_dim_of(hidden)}};
}

static dp_status check_words(const dp_node *node) {
  const char *direction = dp_node_string(node, "direction", "forward");
  if (strcmp(direction, "forward") && strcmp(direction, "reverse") && strcmp(direction, "bidirectional"))
    return dp_fail(EX_DATAERR, "direction is '%s' where forward, reverse or bidirectional is expected", direction);
  int64_t layout = dp_node_int(node, "layout", 0);
  if (layout != 0 && layout != 1)
    return dp_fail(EX_DATAERR, "layout is %lld where 0 or 1 is expected", (long long)layout);
  double clip = dp_node_float(node, "clip", 1);
  if (!(clip > 0)) return dp_fail(EX_DATAERR, "clip is %g where more than 0 is expected", clip);
  return DP_OK;
}

// X's dims: batch, length, input. EX_DATAERR when it is not a sequence of known length.
static dp_status read_x(const dp_node *node, dp_dim *batch, int64_t *length, dp_dim *input) {
  const dp_shape *x = dp_common_shape(node, DP_RECURRENT_X);
  bool first = dp_node_int(node, "layout", 0) != 0;
  char text[256];
  dp_dim time = x->rank == 3 ? x->dims[first ? 1 : 0] : dp_dim_of(-1);
  if (dp_dim_is_symbolic(time) || time.offset < 1 || time.offset > 1 << 16 || dp_dim_is_symbolic(x->dims[2]))
    return dp_fail(
        EX_DATAERR, "X has shape %s; %s with a length of 1 to %d that does not depend on the batch is expected",
        dp_shape_print(x, text, sizeof text), first ? "[batch, length, input]" : "[length, batch, input]", 1 << 16);
  *batch = x->dims[first ? 0 : 1];
  *length = time.offset;
  *input = x->dims[2];
  return DP_OK;
}

static dp_status check_weights(const dp_node *node, const dp_recurrent_cell *cell, dp_dim input, int64_t *hidden) {
  const dp_shape *r = dp_common_shape(node, DP_RECURRENT_R);
  char text[256];
  dp_dim last = r->rank == 3 ? r->dims[2] : dp_dim_of(-1), directions = dp_dim_of(directions_of(node));
  if (dp_dim_is_symbolic(last) || last.offset < 1 || last.offset > INT32_MAX ||
      dp_node_int(node, "hidden_size", last.offset) != last.offset)
    return dp_fail(EX_DATAERR, "R has shape %s; [directions, gates * hidden_size, hidden_size] is expected",
                   dp_shape_print(r, text, sizeof text));
  *hidden = last.offset;
  dp_dim wide = dp_dim_of(cell->gates * *hidden);
  dp_shape w = {3, {directions, wide, input}}, recurrent = {3, {directions, wide, last}};
  dp_shape bias = {2, {directions, dp_dim_of(2 * wide.offset)}};
  DP_TRY(dp_common_expect("W", dp_common_shape(node, DP_RECURRENT_W), &w));
  DP_TRY(dp_common_expect("R", r, &recurrent));
  if (!dp_common_operand(node, DP_RECURRENT_B)) return DP_OK;
  return dp_common_expect("B", dp_common_shape(node, DP_RECURRENT_B), &bias);
}

// ---- activations ----------------------------------------------------------------------------------------------------

typedef enum { PLAIN, SCALED_TANH, AFFINE } form;

// By ONNX's name: our operator, and its attributes alpha and beta. NAN: it has none.
static const struct {
  const char *name, *op;
  double alpha, beta;
  form form;
} activations[] = {
    {"Relu", "Relu", NAN, NAN, PLAIN},
    {"Tanh", "Tanh", NAN, NAN, PLAIN},
    {"Sigmoid", "Sigmoid", NAN, NAN, PLAIN},
    {"Softsign", "Softsign", NAN, NAN, PLAIN},
    {"Softplus", "Softplus", NAN, NAN, PLAIN},
    {"LeakyRelu", "LeakyRelu", 0.01, NAN, PLAIN},
    {"ThresholdedRelu", "ThresholdedRelu", 1, NAN, PLAIN},
    {"Elu", "Elu", 1, NAN, PLAIN},
    {"HardSigmoid", "HardSigmoid", 0.2, 0.5, PLAIN},
    {"ScaledTanh", NULL, 1, 1, SCALED_TANH},
    {"Affine", NULL, 1, 0, AFFINE},
};

static int find_activation(const char *name) {
  for (size_t i = 0; i < DP_COUNT(activations); i++)
    if (!strcasecmp(activations[i].name, name)) return (int)i;
  return -1;
}

// The name of activation i of all directions.
static const char *activation_name(const dp_node *node, const dp_recurrent_cell *cell, int i) {
  const dp_attr *given = dp_node_attr(node, "activations");
  return given && given->count ? given->strings[i] : cell->activations[i % cell->n_activations];
}

static dp_status check_activations(const dp_node *node, const dp_recurrent_cell *cell) {
  const dp_attr *given = dp_node_attr(node, "activations");
  int count = directions_of(node) * cell->n_activations;
  if (given && given->count && given->count != (size_t)count)
    return dp_fail(EX_DATAERR, "%zu activations are named where %d are expected", given->count, count);
  for (int i = 0; i < count; i++)
    if (find_activation(activation_name(node, cell, i)) < 0)
      return dp_fail(EX_DATAERR, "there is no activation '%s'", activation_name(node, cell, i));
  return DP_OK;
}

// The number that the list gives activation i, or the default: the list has numbers, in order, for the activations that
// take one.
static double parameter(const dp_node *node, const dp_recurrent_cell *cell, const char *list, int i) {
  const dp_attr *given = dp_node_attr(node, list);
  bool alpha = !strcmp(list, "activation_alpha");
  size_t position = 0;
  double usual = NAN;
  for (int k = 0; k <= i; k++) {
    int found = find_activation(activation_name(node, cell, k));
    usual = alpha ? activations[found].alpha : activations[found].beta;
    position += !isnan(usual);
  }
  return !isnan(usual) && given && position <= given->count ? given->floats[position - 1] : usual;
}

dp_value *dp_recurrent_activate(const dp_recurrent *r, const dp_recurrent_cell *cell, int which, dp_value *x) {
  dp_builder *b = r->builder;
  int i = r->direction * cell->n_activations + which, found = find_activation(activation_name(r->node, cell, i));
  double alpha = parameter(r->node, cell, "activation_alpha", i), beta = parameter(r->node, cell, "activation_beta", i);
  if (dp_node_attr(r->node, "clip")) {
    double clip = dp_node_float(r->node, "clip", 0);
    dp_attr bounds[] = {dp_attr_float("min", -clip), dp_attr_float("max", clip)};
    x = dp_build(b, "Clip", 1, &x, 1, 2, bounds);
  }
  if (activations[found].form == SCALED_TANH)
    return dp_elementwise_with(b, "Mul", dp_build1(b, "Tanh", dp_elementwise_with(b, "Mul", x, beta)), alpha);
  if (activations[found].form == AFFINE)
    return dp_elementwise_with(b, "Add", dp_elementwise_with(b, "Mul", x, alpha), beta);
  dp_attr attrs[] = {dp_attr_float("alpha", alpha), dp_attr_float("beta", beta)};
  return dp_build(b, activations[found].op, 1, &x, 1, !isnan(alpha) + !isnan(beta), attrs);
}

dp_status dp_recurrent_infer(dp_node *node, const dp_recurrent_cell *cell) {
  dp_dim batch = {0}, input = {0};
  int64_t length = 0, hidden = 0;
  dp_dtype dtype = node->inputs[DP_RECURRENT_X]->type->dtype;
  DP_TRY(check_words(node));
  DP_TRY(read_x(node, &batch, &length, &input));
  DP_TRY(check_weights(node, cell, input, &hidden));
  DP_TRY(check_activations(node, cell));
  dp_shape states = states_shape(node, batch, hidden), lengths = {1, {batch}};
  if (dp_common_operand(node, DP_RECURRENT_LENGTHS))
    DP_TRY(dp_common_expect("sequence_lens", dp_common_shape(node, DP_RECURRENT_LENGTHS), &lengths));
  for (int i = 0; i < cell->states; i++)
    if (dp_common_operand(node, DP_RECURRENT_STATE + i))
      DP_TRY(dp_common_expect("the initial state", dp_common_shape(node, DP_RECURRENT_STATE + i), &states));
  bool first = dp_node_int(node, "layout", 0) != 0;
  dp_dim time = dp_dim_of(length), directions = dp_dim_of(directions_of(node)), size = dp_dim_of(hidden);
  dp_shape y = first ? (dp_shape){4, {batch, time, directions, size}} : (dp_shape){4, {time, directions, batch, size}};
  dp_common_set(node, 0, dtype, &y);
  for (int i = 0; i < cell->states; i++) dp_common_set(node, 1 + i, dtype, &states);
  return DP_OK;
}
