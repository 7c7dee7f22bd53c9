// Recurrent layers: the graph of all steps. X W' is one product for all of them.
#include <string.h>

#include "ir/ops/recurrent.h"

dp_value *dp_recurrent_sum(const dp_recurrent *r, dp_value *h, dp_value *x) {
  return dp_build(r->builder, "Gemm", 3, (dp_value *[]){h, r->recurrent, x}, 1, 0, NULL);
}

dp_value *dp_recurrent_gate(const dp_recurrent *r, dp_value *x, int gate, int count) {
  if (!x || count == r->gates) return x;
  return dp_compose_slice(r->builder, x, x->type->shape.rank - 1, gate * r->hidden, (gate + count) * r->hidden);
}

void dp_recurrent_split(const dp_recurrent *r, dp_value *x, dp_value **gates) {
  const dp_attr axis = dp_attr_int("axis", x->type->shape.rank - 1);
  const dp_value *first = dp_build(r->builder, "Split", 1, &x, r->gates, 1, &axis);
  for (int i = 0; i < r->gates && !r->builder->status; i++) gates[i] = first->producer->outputs[i];
}

// Part d of an operand that has one for each direction, without that dim.
static dp_value *of_direction(dp_builder *b, const dp_node *node, dp_value *const *in, int operand, int d) {
  if (operand >= node->op->n_inputs || !dp_common_operand(node, operand)) return NULL;
  return dp_compose_take(b, in[operand], 0, d);
}

static dp_value *initial(const dp_recurrent *r, dp_value *const *in, int state) {
  dp_builder *b = r->builder;
  dp_shape shape = {2, {r->batch, dp_dim_of(r->hidden)}};
  if (!dp_common_operand(r->node, DP_RECURRENT_STATE + state))
    return dp_compose_filled(b, in[DP_RECURRENT_X]->type->dtype, &shape, 0);
  return dp_compose_take(b, in[DP_RECURRENT_STATE + state], dp_node_int(r->node, "layout", 0) ? 1 : 0, r->direction);
}

static dp_recurrent begin(dp_builder *b, const dp_node *node, const dp_recurrent_cell *cell, dp_value *const *in,
                          int d) {
  bool first = dp_node_int(node, "layout", 0) != 0;
  const dp_shape *x = dp_common_shape(node, DP_RECURRENT_X);
  dp_recurrent r = {.builder = b,
                    .node = node,
                    .direction = d,
                    .gates = cell->gates,
                    .batch = x->dims[first ? 0 : 1],
                    .length = x->dims[first ? 1 : 0].offset,
                    .hidden = dp_common_shape(node, DP_RECURRENT_R)->dims[2].offset};
  r.recurrent = dp_compose_swap(b, of_direction(b, node, in, DP_RECURRENT_R, d), 0, 1);
  dp_value *bias = of_direction(b, node, in, DP_RECURRENT_B, d);
  if (bias && !cell->sums) r.bias = dp_compose_slice(b, bias, 0, r.gates * r.hidden, 2 * r.gates * r.hidden);
  r.peepholes = of_direction(b, node, in, DP_RECURRENT_STATE + cell->states, d);
  return r;
}

// X W' of all steps with its bias, and that of H R' where the cell adds both alike.
static dp_value *products(const dp_recurrent *r, const dp_recurrent_cell *cell, dp_value *const *in,
                          dp_value *sequence) {
  dp_builder *b = r->builder;
  const int64_t wide = r->gates * r->hidden;
  dp_value *weights = dp_compose_swap(b, of_direction(b, r->node, in, DP_RECURRENT_W, r->direction), 0, 1);
  dp_value *y = dp_build2(b, "MatMul", sequence, weights);
  dp_value *bias = of_direction(b, r->node, in, DP_RECURRENT_B, r->direction);
  for (int i = 0; bias && i < (cell->sums ? 2 : 1); i++)
    y = dp_build2(b, "Add", y, dp_compose_slice(b, bias, 0, i * wide, (i + 1) * wide));
  return y;
}

// The steps of one direction. Returns Y [length, batch, hidden]; `states` holds the last states.
static dp_value *run_direction(const dp_recurrent *r, const dp_recurrent_cell *cell, dp_value *const *in, bool reverse,
                               dp_value *states[DP_RECURRENT_STATES]) {
  dp_builder *b = r->builder;
  dp_value **x = dp_alloc_n(b->graph->arena, (size_t)r->length, sizeof *x), *zero = NULL, *lengths = NULL;
  dp_value **y = dp_alloc_n(b->graph->arena, (size_t)r->length, sizeof *y), *sequence = in[DP_RECURRENT_X];
  if (dp_node_int(r->node, "layout", 0)) sequence = dp_compose_swap(b, sequence, 0, 1);
  dp_compose_split_steps(b, products(r, cell, in, sequence), 0, r->length, x);
  if (dp_common_operand(r->node, DP_RECURRENT_LENGTHS)) {
    lengths = dp_compose_unsqueeze(b, in[DP_RECURRENT_LENGTHS], 1);
    zero = dp_build_fill(b, sequence->type->dtype, 0);
  }
  for (int i = 0; i < cell->states; i++) states[i] = initial(r, in, i);
  for (int64_t step = 0; step < r->length && !b->status; step++) {
    int64_t t = reverse ? r->length - 1 - step : step;
    dp_value *before[DP_RECURRENT_STATES] = {states[0], states[1]};
    cell->step(r, x[t], states);
    y[t] = states[0];
    if (!lengths) continue;
    dp_value *there = dp_build2(b, "Greater", lengths, dp_build_fill(b, lengths->type->dtype, (double)t));
    y[t] = dp_compose_where(b, there, states[0], zero);
    for (int i = 0; i < cell->states; i++) states[i] = dp_compose_where(b, there, states[i], before[i]);
  }
  return b->status ? in[DP_RECURRENT_X] : dp_compose_concat_steps(b, y, 0, r->length);
}

void dp_recurrent_specialize(dp_builder *b, const dp_node *node, const dp_recurrent_cell *cell, dp_value *const *in,
                             dp_value **out) {
  const char *direction = dp_node_string(node, "direction", "forward");
  bool first = dp_node_int(node, "layout", 0) != 0;
  int directions = strcmp(direction, "bidirectional") ? 1 : 2;
  dp_value *made[1 + DP_RECURRENT_STATES] = {0};
  for (int d = 0; d < directions && !b->status; d++) {
    dp_recurrent r = begin(b, node, cell, in, d);
    dp_value *states[DP_RECURRENT_STATES] = {0};
    dp_value *y = run_direction(&r, cell, in, d || !strcmp(direction, "reverse"), states);
    for (int i = 0; i <= cell->states && !b->status; i++) {  // Y in its final form, with its dim of directions; and
                                                             // states
      dp_value *part = i ? states[i - 1] : first ? dp_compose_swap(b, y, 0, 1) : y;
      int axis = i ? (first ? 1 : 0) : (first ? 2 : 1);
      part = dp_compose_unsqueeze(b, part, axis);
      made[i] = made[i] ? dp_compose_concat(b, made[i], part, axis) : part;
    }
  }
  for (int i = 0; i <= cell->states; i++)
    if (dp_common_result(node, i)) out[i] = made[i];
}
