// A Loop with a round for each sample, in which the rounds process equal parts of a tensor in turn: runs all of them at
// once, along a new first axis. PyTorch's TorchScript exporter writes EmbeddingBag like this: round i slices L of N * L
// indices, gathers their rows, and reduces them.
//
// A name of the body stands for something equal in every round, for a number p * i + q in round i, or for a tensor with
// the rounds as its first axis. Other operators, states and conditions are refused.
#include <string.h>

#include "frontends/onnx/onnx_reader.h"
#include "ir/ops/compose.h"

// p * i + q, in round i.
typedef struct {
  int64_t p;
  dp_dim q;
} round_number;

typedef struct {
  dp_onnx_reader *reader;
  dp_onnx_scope *inner;
  dp_dim count;     // number of rounds
  dp_names *wide;   // tensors with the rounds first
  dp_names *round;  // numbers, by their index in `numbers`
  int32_t n_numbers;
  round_number *numbers;
} rounds;

static bool is_wide(const rounds *r, const char *name) { return dp_names_find(r->wide, name) >= 0; }

static const round_number *number_of(const rounds *r, const char *name) {
  int32_t at = dp_names_find(r->round, name);
  return at < 0 ? NULL : &r->numbers[at];
}

static dp_status refuse(const Dp__Onnx__Node *node) {
  return dp_fail(
      EX_UNAVAILABLE,
      "operator %s in a Loop of a round for each sample is not supported in this form; EmbeddingBag's, of bags of one "
      "length, is",
      node->op_type);
}

static dp_status set_number(rounds *r, const char *name, round_number number) {
  if (is_wide(r, name) || number_of(r, name)) return dp_fail(EX_DATAERR, "two values are called '%s'", name);
  dp_names_add(r->round, name, r->n_numbers);
  DP_PUSH(r->reader->arena, r->numbers, r->n_numbers, number);
  return DP_OK;
}

// Element i of numbers at equal steps.
static dp_status pick_number(rounds *r, const Dp__Onnx__Node *m) {
  dp_onnx_binding *x;
  const round_number *at = number_of(r, m->input[1]);
  round_number y;
  DP_TRY(dp_onnx_scope_find(r->inner, m->input[0], &x));
  const dp_onnx_progression *p = x ? x->progression : NULL;
  if (!p || at->p != 1 || !dp_dim_is(at->q, 0) || dp_onnx_attr_int(m, "axis", 0)) return refuse(m);
  // Each round picks one.
  if (p->count.scale != r->count.scale || p->count.offset < r->count.offset) return refuse(m);
  y = (round_number){p->step, p->start};
  return set_number(r, m->output[0], y);
}

// Elements [p * i, p * i + p) of axis 0, which has p for each round.
static dp_status slice(rounds *r, const Dp__Onnx__Node *m) {
  const round_number *start = number_of(r, m->input[1]), *end = m->n_input > 2 ? number_of(r, m->input[2]) : NULL;
  dp_onnx_binding *x, *axes = NULL;
  dp_value *value;
  DP_TRY(dp_onnx_scope_find_tensor(r->inner, m->input[0], &x));
  if (m->n_input > 3) DP_TRY(dp_onnx_scope_find_tensor(r->inner, m->input[3], &axes));
  const dp_onnx_known *axis = axes ? dp_onnx_scope_known(r->reader, axes) : NULL;
  bool along_0 = m->n_input == 4 && axis && axis->count == 1 && dp_dim_is(axis->numbers[0].i, 0);
  if (!x || !start || !end || (m->n_input > 3 && !along_0) || is_wide(r, m->input[0])) return refuse(m);
  dp_shape shape = dp_onnx_scope_type(x).shape;
  int64_t p = start->p;
  dp_dim whole = {0, 0};
  bool turns = p > 0 && end->p == p && dp_dim_is(start->q, 0) && dp_dim_is(end->q, p) && shape.rank &&
               shape.rank < DP_MAX_RANK && !__builtin_mul_overflow(r->count.scale, p, &whole.scale) &&
               !__builtin_mul_overflow(r->count.offset, p, &whole.offset) && dp_dim_equal(shape.dims[0], whole);
  if (!turns) return refuse(m);
  for (int d = shape.rank++; d > 1; d--) shape.dims[d] = shape.dims[d - 1];
  shape.dims[0] = r->count;
  shape.dims[1] = dp_dim_of(p);
  DP_TRY(dp_onnx_scope_value(r->reader, x, &value));
  dp_builder b = {.graph = r->reader->graph, .prefix = dp_onnx_name(r->reader, r->inner, m)};
  dp_onnx_binding binding = {.value = dp_build_reshape(&b, value, &shape)};
  DP_TRY(b.status);
  dp_names_add(r->wide, m->output[0], 0);
  return dp_onnx_scope_bind(r->reader, r->inner, m->output[0], binding);
}

// Shifts the axes that the node names, in its second operand or an attribute, past the axis of rounds.
static dp_status shift_axes(rounds *r, const Dp__Onnx__Node *m, int64_t rank, Dp__Onnx__Node **shifted) {
  dp_arena *arena = r->reader->arena;
  Dp__Onnx__Node *copy = dp_memdup(arena, m, sizeof *m);
  const Dp__Onnx__Attribute *attribute = dp_onnx_attr_find(m, "axes");
  dp_onnx_binding *operand = NULL;
  if (m->n_input > 1) DP_TRY(dp_onnx_scope_find_tensor(r->inner, m->input[1], &operand));
  const dp_onnx_known *known = operand ? dp_onnx_scope_known(r->reader, operand) : NULL;
  int64_t n = attribute ? (int64_t)attribute->n_ints : known ? known->count : 0;
  if (!n || (m->n_input > 1 && m->input[1][0] && !known)) return refuse(m);
  int64_t *axes = dp_alloc_n(arena, (size_t)n, sizeof *axes);
  for (int64_t i = 0; i < n; i++) {
    axes[i] = attribute ? attribute->ints[i] : known->numbers[i].i.offset;
    if (axes[i] < -rank || axes[i] >= rank || (known && dp_dim_is_symbolic(known->numbers[i].i))) return refuse(m);
    if (axes[i] >= 0) axes[i]++;  // negative axes stay as they are
  }
  *shifted = copy;
  if (attribute) {
    Dp__Onnx__Attribute *a = dp_memdup(arena, attribute, sizeof *a);
    a->ints = axes;
    copy->attribute = dp_memdup(arena, m->attribute, m->n_attribute * sizeof *m->attribute);
    for (size_t i = 0; i < m->n_attribute; i++)
      if (m->attribute[i] == attribute) copy->attribute[i] = a;
    return DP_OK;
  }
  dp_onnx_known *moved = dp_onnx_fold_make(r->reader, DP_INT64, 1, &n);
  if (!moved) return refuse(m);
  for (int64_t i = 0; i < n; i++) moved->numbers[i].i = dp_dim_of(axes[i]);
  copy->input = dp_memdup(arena, m->input, m->n_input * sizeof *m->input);
  copy->input[1] = dp_printf(arena, "%s/axes", m->output[0]);
  return dp_onnx_scope_bind(r->reader, r->inner, copy->input[1], (dp_onnx_binding){.known = moved});
}

// An operator on tensors that have the rounds first.
static dp_status walk_wide(rounds *r, const Dp__Onnx__Node *m) {
  Dp__Onnx__Node *node = (Dp__Onnx__Node *)m;
  bool reduces = !strncmp(m->op_type, "Reduce", 6), widens = !strcmp(m->op_type, "Unsqueeze");
  bool elements = !strcmp(m->op_type, "Mul") || !strcmp(m->op_type, "Add") || !strcmp(m->op_type, "Cast");
  bool gathers =
      !strcmp(m->op_type, "Gather") && m->n_input == 2 && !is_wide(r, m->input[0]) && !dp_onnx_attr_int(m, "axis", 0);
  int rank = -1;
  for (size_t i = 0; i < m->n_input; i++) {
    dp_onnx_binding *x;
    DP_TRY(dp_onnx_scope_find_tensor(r->inner, m->input[i], &x));
    if (number_of(r, m->input[i]) || !x) return refuse(m);
    int own = dp_onnx_scope_type(x).shape.rank;
    // In an elementwise operator, the axes of rounds must line up.
    if (elements && is_wide(r, m->input[i]) && rank >= 0 && own != rank) return refuse(m);
    if (is_wide(r, m->input[i])) rank = own;
  }
  for (size_t i = 0; i < m->n_input && elements; i++) {
    dp_onnx_binding *x;
    DP_TRY(dp_onnx_scope_find_tensor(r->inner, m->input[i], &x));
    if (!is_wide(r, m->input[i]) && dp_onnx_scope_type(x).shape.rank >= rank) return refuse(m);
  }
  if ((!reduces && !widens && !elements && !gathers) || m->n_output != 1) return refuse(m);
  if (widens || reduces) {
    const Dp__Onnx__Attribute *axes = dp_onnx_attr_find(m, "axes");
    int64_t added = axes ? (int64_t)axes->n_ints : 1;
    DP_TRY(shift_axes(r, m, rank - 1 + (widens ? added : 0), &node));
  }
  dp_names_add(r->wide, m->output[0], 0);
  return dp_onnx_walk(r->reader, r->inner, 1, &node);
}

static dp_status walk_node(rounds *r, Dp__Onnx__Node *m) {
  bool wide = false, number = false;
  for (size_t i = 0; i < m->n_input; i++) {
    wide |= is_wide(r, m->input[i]);
    number |= number_of(r, m->input[i]) != NULL;
  }
  if (!wide && !number) return dp_onnx_walk(r->reader, r->inner, 1, &m);
  if (m->n_output != 1 || dp_names_find(r->inner->names, m->output[0]) >= 0) return refuse(m);
  if (!number) return walk_wide(r, m);
  if (!strcmp(m->op_type, "Slice") && m->n_input > 2) return slice(r, m);
  if (!strcmp(m->op_type, "Gather") && m->n_input == 2 && number_of(r, m->input[1])) return pick_number(r, m);
  bool same = !strcmp(m->op_type, "Unsqueeze") || !strcmp(m->op_type, "Squeeze") || !strcmp(m->op_type, "Identity");
  if (same && number_of(r, m->input[0])) return set_number(r, m->output[0], *number_of(r, m->input[0]));
  return refuse(m);
}

// The condition that a round gives is the next one's: it must be true.
static dp_status check_condition(const rounds *r, const char *name) {
  dp_onnx_binding *x = NULL;
  if (!is_wide(r, name) && !number_of(r, name)) DP_TRY(dp_onnx_scope_find(r->inner, name, &x));
  const dp_onnx_known *known = x ? dp_onnx_scope_known(r->reader, x) : NULL;
  if (known && known->count == 1 && dp_dim_is(known->numbers[0].i, 1)) return DP_OK;
  return dp_fail(EX_UNAVAILABLE, "it has a round for each sample and also a condition, which is not supported");
}

dp_status dp_onnx_rounds_run(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m,
                             const Dp__Onnx__Graph *body, dp_dim count) {
  const char *prefix = dp_printf(reader->arena, "%s/", dp_onnx_name(reader, scope, m));
  rounds r = {.reader = reader,
              .inner = dp_onnx_scope_create(reader, prefix, scope->opset),
              .count = count,
              .wide = dp_names_create(reader->arena),
              .round = dp_names_create(reader->arena)};
  r.inner->outer = scope;
  if (m->n_input != 2 || body->n_input != 2 || body->n_output < 1 || body->n_output != m->n_output + 1)
    return dp_fail(EX_UNAVAILABLE,
                   "it has a round for each sample and passes a state from one to the next, which is not supported");
  if (reader->calls >= DP_ONNX_MAX_CALLS) return dp_fail(EX_DATAERR, "its graphs are nested too deeply");
  reader->calls++;
  dp_status status = set_number(&r, body->input[0]->name, (round_number){1, dp_dim_of(0)});
  for (size_t i = 0; i < body->n_initializer && !status; i++) {
    dp_onnx_binding binding = {0};
    status = dp_onnx_tensor_read(reader, body->initializer[i], &binding.tensor);
    if (!status) status = dp_onnx_scope_bind(reader, r.inner, body->initializer[i]->name, binding);
  }
  dp_onnx_known *goes_on = dp_onnx_fold_make(reader, DP_BOOL, 0, NULL);
  if (goes_on) goes_on->numbers[0].i = dp_dim_of(1);
  if (!status && !goes_on) status = dp_fail(EX_DATAERR, "there are too many known numbers");
  dp_onnx_binding condition = {.known = goes_on};
  if (!status) status = dp_onnx_scope_bind(reader, r.inner, body->input[1]->name, condition);
  for (size_t i = 0; i < body->n_node && !status; i++) status = walk_node(&r, body->node[i]);
  reader->calls--;
  DP_TRY(status);
  DP_TRY(check_condition(&r, body->output[0]->name));
  for (size_t i = 0; i < m->n_output; i++) {
    dp_onnx_binding *y;
    if (!*m->output[i]) continue;
    if (!is_wide(&r, body->output[i + 1]->name))
      return dp_fail(EX_UNAVAILABLE, "its result '%s' is not a tensor that each round computes, which is not supported",
                     m->output[i]);
    DP_TRY(dp_onnx_scope_find(r.inner, body->output[i + 1]->name, &y));
    DP_TRY(dp_onnx_scope_alias(reader, scope, m->output[i], y));
  }
  return DP_OK;
}
