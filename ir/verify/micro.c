// Micro-batches: what a tensor and an instruction claim of them.
//
// Where a value is Shard on the sequential axis, the value itself defines each part, so parts may come from anywhere. A
// partial result is not defined so: the same sum can be taken apart in many ways, and pieces of two ways do not add up.
// On an axis of devices one instruction makes all the pieces. Here each piece is made by an instruction of its own, so
// all instructions that make pieces of one node, on any stage, must apply the same sharding rule. Then a node's pieces
// follow from its operands', and all pieces of a value in a program belong to one sum.
#include <string.h>

#include "ir/verify/checker.h"

#define FAIL(...) dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_MEANING_MICRO, __VA_ARGS__)

// ---- tensors --------------------------------------------------------------------------------------------------------

dp_status dp_checker_micro_tensor(dp_checker *c, size_t tensor) {
  dp_checker_tensor *t = &c->tensors[tensor];
  const Dp__MicroSet *m = t->claim->micro;
  const char *name = t->value->name;
  char text[64];
  if (c->micro < 0 || t->at[c->micro].kind == DP_REPLICATE) {
    if (!m) return DP_OK;
    return dp_checker_fail(c, dp_checker_at_tensor(c, tensor), DP_RULE_TENSOR_LAYOUT,
                           "tensor %zu ('%s') names %u micro-batches of %u from %u on, but its placement has none: the "
                           "whole batch is expected",
                           tensor, name, m->count, m->of, m->first);
  }
  const uint64_t of = (uint64_t)c->model->mesh.axes[c->micro].size;
  dp_placement_print(t->at[c->micro], text, sizeof text);
  if (!m)
    return dp_checker_fail(c, dp_checker_at_tensor(c, tensor), DP_RULE_TENSOR_LAYOUT,
                           "tensor %zu ('%s') is %s on axis '%s' and does not say of which micro-batches", tensor, name,
                           text, c->model->mesh.axes[c->micro].name);
  if (m->of != of || !m->count || m->count >= of || m->first > of - m->count)
    return dp_checker_fail(c, dp_checker_at_tensor(c, tensor), DP_RULE_TENSOR_LAYOUT,
                           "tensor %zu ('%s') is %s of micro-batches [%u,%llu) of %u; some of %llu, but not all, "
                           "are expected: a tensor of all is Replicate",
                           tensor, name, text, m->first, (unsigned long long)m->first + m->count, m->of,
                           (unsigned long long)of);
  t->first = m->first;
  t->count = m->count;
  return DP_OK;
}

// ---- kernels --------------------------------------------------------------------------------------------------------

// Operand k or, from n_inputs on, a result; NULL: left out.
static const dp_checker_tensor *operand_or_result(const dp_checker *c, const Dp__Instruction *in, size_t k) {
  return k < in->n_inputs ? dp_checker_input(c, in, k) : dp_checker_output(c, in, k - in->n_inputs);
}

static dp_status check_partial_rule(dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  dp_checker_partial **first = &c->shared.partials[in->nodes[0]],
                     mine = {.location = dp_checker_at_instruction(c, instruction)};
  bool partial = false;
  for (size_t k = 0; k < in->n_inputs + in->n_outputs; k++) {
    const dp_checker_tensor *t = operand_or_result(c, in, k);
    mine.at[k] = t ? t->at[c->micro] : dp_replicate();
    partial |= k >= in->n_inputs && mine.at[k].kind == DP_PARTIAL;
  }
  if (!partial) return DP_OK;
  if (!*first) *first = dp_memdup(c->shared.arena, &mine, sizeof mine);
  for (size_t k = 0; k < in->n_inputs + in->n_outputs; k++) {
    char text[512], a[64], b[64];
    if (dp_placement_equal(mine.at[k], (*first)->at[k])) continue;
    return FAIL("its %s %zu is %s on axis '%s'; in %s it is %s: the pieces of '%s' would not add up to one sum",
                k < in->n_inputs ? "operand" : "result", k < in->n_inputs ? k : k - in->n_inputs,
                dp_placement_print(mine.at[k], a, sizeof a), c->model->mesh.axes[c->micro].name,
                dp_checker_location_print(c, (*first)->location, text, sizeof text),
                dp_placement_print((*first)->at[k], b, sizeof b), c->graph->nodes[in->nodes[0]]->name);
  }
  return DP_OK;
}

dp_status dp_checker_micro_node(dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  const dp_checker_tensor *first = NULL;
  if (c->micro < 0) return DP_OK;
  for (size_t k = 0; k < in->n_inputs + in->n_outputs; k++) {
    const dp_checker_tensor *t = operand_or_result(c, in, k);
    if (!t || !t->count) continue;
    if (t->count > 1)
      return FAIL("'%s' is of micro-batches [%u,%u); a kernel computes one of them, or the whole batch", t->value->name,
                  t->first, t->first + t->count);
    if (first && t->first != first->first)
      return FAIL("'%s' is of micro-batch %u, '%s' of %u", first->value->name, first->first, t->value->name, t->first);
    first = t;
  }
  return first ? check_partial_rule(c, instruction) : DP_OK;
}

// ---- Accumulate -----------------------------------------------------------------------------------------------------

// Unites two adjacent sets of micro-batches, the lower first.
dp_status dp_checker_accumulate(dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  int axis = -1;
  if (in->n_nodes || in->n_inputs != 2 || in->n_outputs != 1 || !in->inputs[0] || !in->inputs[1] || !in->outputs[0])
    return FAIL("it takes two operands to one result, and has no logical node");
  const dp_checker_tensor *a = dp_checker_input(c, in, 0), *b = dp_checker_input(c, in, 1),
                          *to = dp_checker_output(c, in, 0);
  DP_TRY(dp_checker_axis(c, instruction, &axis));
  if (axis != c->micro)
    return FAIL("it is over axis '%s', which is an axis of devices", c->model->mesh.axes[axis].name);
  if (a->value != b->value || a->value != to->value)
    return FAIL("it makes '%s' of '%s' and '%s'", to->value->name, a->value->name, b->value->name);
  if (in->compute_dtype && in->compute_dtype != to->claim->dtype)
    return FAIL("it computes in %s; the value is %s", dp_type_name((dp_dtype)in->compute_dtype),
                dp_type_name((dp_dtype)to->claim->dtype));
  if (!dp_checker_is_on_device(a) || !dp_checker_is_on_device(b) || !dp_checker_is_on_device(to))
    return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_TENSOR_SPACE,
                           "it works in a device's memory");
  for (int i = 0; i < c->model->mesh.n_axes; i++)
    if (!dp_placement_equal(a->at[i], b->at[i]) || (i != axis && !dp_placement_equal(a->at[i], to->at[i])))
      return FAIL("operands and result are placed differently on axis '%s'", c->model->mesh.axes[i].name);
  if (!a->count || !b->count || a->first + a->count != b->first)
    return FAIL(
        "operand 0 is of micro-batches [%u,%u), operand 1 of [%u,%u); the second set must begin where the first ends",
        a->first, a->first + a->count, b->first, b->first + b->count);
  const uint32_t count = a->count + b->count;
  if (count == (uint64_t)c->model->mesh.axes[axis].size
          ? to->at[axis].kind != DP_REPLICATE
          : to->first != a->first || to->count != count || !dp_placement_equal(to->at[axis], a->at[axis]))
    return FAIL("its result is said to be of micro-batches [%u,%u); it is of [%u,%u)", to->first, to->first + to->count,
                a->first, a->first + count);
  if (!dp_checker_is_innermost(c, a->at, axis))
    return FAIL("a later axis splits the same dim of '%s' and has to be joined first", a->value->name);
  int32_t reduction = a->at[axis].kind == DP_PARTIAL ? (int32_t)a->at[axis].reduction : 0;
  if (in->communication->reduction != reduction)
    return FAIL("it reduces by %s; '%s' is partial by %s", reduction ? "sum" : "maximum", a->value->name,
                reduction ? "maximum" : "sum");
  c->report->accumulations++;
  return DP_OK;
}
