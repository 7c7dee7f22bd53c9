// Operands that kernels have packed: each holds what the operand holds, and nothing else touches its bytes.
//
// The runtime packs before a run if the variable may have changed since it was packed last, and runs of such a plan do
// not overlap. So what a kernel reads is right if its program does not update the variable. No tensor but a variable's
// storage is written in persistent memory (meaning.c), so bytes that no storage and no other packed operand has are the
// instruction's alone.
#include "ir/verify/checker.h"

#define FAIL(c, i, ...) dp_checker_fail(c, dp_checker_at_instruction(c, i), DP_RULE_MEANING_PACKED, __VA_ARGS__)

static dp_status check_operand(dp_checker *c, uint32_t instruction, const Dp__Packed *packed) {
  const dp_checker_tensor *t = dp_checker_input(c, c->instructions[instruction].claim, packed->operand);
  const Dp__Arena *outputs = dp_plan_form_arena(c->role, DP__SPACE__HOST_OUTPUT);
  if (t->value->kind != DP_VALUE_VARIABLE || t->claim->space != DP__SPACE__PERSISTENT)
    return FAIL(c, instruction, "operand %u, '%s', is packed; only a variable in its storage on the device can be",
                packed->operand, t->value->name);
  if (c->exit[t->value->variable] >= 0)
    return FAIL(c, instruction, "operand %u is packed before the program runs, and the program updates '%s'",
                packed->operand, t->value->name);
  if (outputs && outputs->copies > 1)
    return FAIL(c, instruction, "operand %u is packed between two runs, and runs of this plan overlap",
                packed->operand);
  return DP_OK;
}

// The role's bytes of persistent memory that have an owner: at first the storages.
static dp_spans *owned(dp_checker *c) {
  dp_spans **spans = &c->owned[c->role_index];
  if (*spans) return *spans;
  *spans = dp_spans_create(c->plan_arena);
  for (const int32_t *p = dp_checker_storages(c); p < dp_checker_storages_end(c); p++) {
    const dp_variable *v = &c->model->variables[*p];
    const dp_span span = {.begin = v->offset, .end = v->offset + v->bytes};
    if (v->bytes && !v->offloaded) dp_spans_put(*spans, &span);
  }
  return *spans;
}

static dp_status check_bytes(dp_checker *c, uint32_t instruction, const Dp__Packed *packed) {
  dp_spans *spans = owned(c);
  const dp_span mine = {.begin = packed->offset, .end = packed->offset + packed->bytes};
  const dp_span *other = dp_spans_get(spans, dp_spans_find(spans, mine.begin));
  if (other && other->begin < mine.end)
    return FAIL(
        c, instruction,
        "operand %u is packed in bytes [%llu,%llu) of persistent memory; [%llu,%llu) are a variable's, or packed "
        "for another instruction",
        packed->operand, (unsigned long long)mine.begin, (unsigned long long)mine.end, (unsigned long long)other->begin,
        (unsigned long long)other->end);
  dp_spans_put(spans, &mine);
  return DP_OK;
}

dp_status dp_checker_packed(dp_checker *c) {
  for (uint32_t i = 0; i < c->n_instructions; i++) {
    const Dp__Packed *packed = c->instructions[i].claim->packed;
    if (!packed) continue;
    DP_TRY(check_operand(c, i, packed));
    DP_TRY(check_bytes(c, i, packed));
  }
  return DP_OK;
}
