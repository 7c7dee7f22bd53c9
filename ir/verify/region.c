// A region: an instruction that computes several nodes. Each member is checked like an instruction that stands where
// the region stands. Its operands are operands of the region or results of earlier members. Its results are results of
// the region or stay inside, where no other instruction can reach them. So nothing that is not stored is needed
// elsewhere, and the region computes what its members would compute one after another.
#include <string.h>

#include "ir/verify/checker.h"

// What a tensor is to the current region: c->region_of holds the instruction, plus 1, if it is one of these.
typedef enum { OPERAND = 1, RESULT, MADE } standing;

#define FAIL(...) dp_checker_fail(c, dp_checker_at_instruction(c, instruction), __VA_ARGS__)

static void mark(dp_checker *c, uint32_t instruction, uint32_t tensor, standing as) {
  c->region_of[tensor] = instruction + 1;
  c->standing[tensor] = (uint8_t)as;
}

static int standing_of(const dp_checker *c, uint32_t instruction, uint32_t tensor) {
  return c->region_of[tensor] == instruction + 1 ? c->standing[tensor] : 0;
}

static dp_status check_device(dp_checker *c, uint32_t instruction, const char *what, uint32_t number) {
  const dp_checker_tensor *t = number ? &c->tensors[number - 1] : NULL;
  if (t && dp_checker_is_on_device(t)) return DP_OK;
  return FAIL(DP_RULE_TENSOR_SPACE, "a region has %s%s%s as %s; it takes and gives what is in the device's memory",
              t ? "'" : "nothing", t ? t->value->name : "", t ? "'" : "", what);
}

static dp_status check_ends(dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  for (size_t i = 0; i < in->n_inputs; i++) {
    DP_TRY(check_device(c, instruction, "an operand", in->inputs[i]));
    mark(c, instruction, in->inputs[i] - 1, OPERAND);
  }
  for (size_t i = 0; i < in->n_outputs; i++) {
    DP_TRY(check_device(c, instruction, "a result", in->outputs[i]));
    if (standing_of(c, instruction, in->outputs[i] - 1))
      return FAIL(DP_RULE_MEANING_OPERANDS, "a region has '%s' twice", c->tensors[in->outputs[i] - 1].value->name);
    mark(c, instruction, in->outputs[i] - 1, RESULT);
  }
  return DP_OK;
}

static dp_status check_reads(dp_checker *c, uint32_t instruction, const Dp__Instruction *member) {
  for (size_t i = 0; i < member->n_inputs; i++) {
    if (!member->inputs[i]) continue;
    const int is = standing_of(c, instruction, member->inputs[i] - 1);
    if (is != OPERAND && is != MADE)
      return FAIL(DP_RULE_MEANING_UNDEFINED,
                  "its member %s takes '%s', which is no operand of the region and which no member before it makes",
                  member->op, c->tensors[member->inputs[i] - 1].value->name);
  }
  return DP_OK;
}

static dp_status check_writes(dp_checker *c, uint32_t instruction, size_t m) {
  const Dp__Instruction *member = c->instructions[instruction].claim->members[m];
  for (size_t i = 0; i < member->n_outputs; i++) {
    if (!member->outputs[i]) continue;
    const dp_checker_tensor *t = &c->tensors[member->outputs[i] - 1];
    const int is = standing_of(c, instruction, member->outputs[i] - 1);
    // A tensor inside this region must not be inside an earlier one.
    const bool inside = t->claim->space == DP__SPACE__INSIDE && !c->region_of[member->outputs[i] - 1];
    if (is != RESULT && !inside)
      return FAIL(DP_RULE_MEANING_OPERANDS,
                  "its member %s makes '%s', which is made before, or neither a result nor inside of the region",
                  member->op, t->value->name);
    mark(c, instruction, member->outputs[i] - 1, MADE);
    c->maker[member->outputs[i] - 1] = (uint32_t)m;
  }
  return DP_OK;
}

// Whether a member works on rows or channels, or on single elements as updates do.
static bool works_on_parts(const dp_checker *c, const Dp__Instruction *member) {
  const dp_node *node = c->graph->nodes[member->nodes[0]];
  const int rank = node->n_inputs && node->inputs[0] ? node->inputs[0]->type->shape.rank : 0;
  return dp_op_is(node->op, DP_OP_UPDATE) || dp_op_is_pointwise(node->op) || dp_op_is(node->op, DP_OP_CHANNELS) ||
         dp_op_row(node, rank) > 0;
}

static dp_status check_member(dp_checker *c, dp_arena *rules, uint32_t instruction, size_t m) {
  dp_checker_instruction *at = &c->instructions[instruction], region = *at;
  const Dp__Instruction *member = region.claim->members[m];
  DP_TRY(check_reads(c, instruction, member));
  at->claim = member;
  at->op = dp_op_find(member->domain, member->op);
  dp_status status = dp_checker_node(c, rules, instruction);
  *at = region;
  DP_TRY(status);
  return check_writes(c, instruction, m);
}

// Another region may make the same tensor again, by another member.
static dp_status keep_makers(dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  uint32_t *makers = dp_alloc_n(c->arena, in->n_outputs, sizeof *makers);
  for (size_t i = 0; i < in->n_outputs; i++) {
    if (standing_of(c, instruction, in->outputs[i] - 1) != MADE)
      return FAIL(DP_RULE_MEANING_OPERANDS, "no member makes the result '%s'",
                  c->tensors[in->outputs[i] - 1].value->name);
    makers[i] = c->maker[in->outputs[i] - 1];
  }
  c->instructions[instruction].makers = makers;
  return DP_OK;
}

dp_status dp_checker_region(dp_checker *c, dp_arena *rules, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  bool named = in->n_members && in->n_nodes == in->n_members && !in->n_attributes && !in->communication;
  for (size_t m = 0; m < in->n_members && named; m++)
    named = in->members[m]->n_nodes == 1 && in->members[m]->nodes[0] == in->nodes[m];
  if (!named) return FAIL(DP_RULE_MEANING_NODE, "a region names the node of each member, in order, and nothing else");
  DP_TRY(dp_checker_kernel(c, instruction));
  DP_TRY(check_ends(c, instruction));
  bool by_parts = true;
  for (size_t m = 0; m < in->n_members; m++) {
    DP_TRY(check_member(c, rules, instruction, m));
    by_parts &= works_on_parts(c, in->members[m]);
  }
  c->instructions[instruction].by_parts = by_parts;
  return keep_makers(c, instruction);
}

// ---- operands under results -----------------------------------------------------------------------------------------

// The operand that a member's result may replace while the member reads it; -1: none.
static int64_t replaced(const Dp__Instruction *member, size_t result) {
  const dp_op *op = dp_op_find(member->domain, member->op);
  if (dp_op_is(op, DP_OP_UPDATE)) return (int64_t)result;
  return dp_op_is_pointwise(op) && !result ? 0 : -1;
}

// Members process their operands row by row or channel by channel, together or one after another. So a result may
// overwrite an operand that no member after its producer reads. A pointwise producer may read it itself, as the operand
// that it replaces.
bool dp_checker_region_replaces(const dp_checker *c, uint32_t instruction, int32_t r, int32_t o) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  const dp_type *result = dp_checker_output(c, in, (size_t)r)->value->type;
  const dp_type *operand = dp_checker_input(c, in, (size_t)o)->value->type;
  if (result->dtype != operand->dtype || !dp_shape_equal(&result->shape, &operand->shape)) return false;
  if (!c->instructions[instruction].by_parts) return false;
  const size_t maker = c->instructions[instruction].makers[r];
  int64_t over = -1;
  for (size_t i = 0; i < in->members[maker]->n_outputs; i++)
    if (in->members[maker]->outputs[i] == in->outputs[r]) over = replaced(in->members[maker], i);
  for (size_t m = maker; m < in->n_members; m++) {
    const Dp__Instruction *member = in->members[m];
    for (size_t i = 0; i < member->n_inputs; i++)
      if (member->inputs[i] == in->inputs[o] && (m > maker || (int64_t)i != over)) return false;
  }
  return true;
}
