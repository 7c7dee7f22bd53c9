// What may run beside another run. A stream that is `ahead` begins while the run before goes on, which reads and writes
// the other copies of host input, device input and host output. So no order between two runs is needed, and none is
// looked at: what is ahead waits for nothing and goes from its copy of host input to its copy of device input. Nothing
// else writes there, so that uploads alone fill the copy that a run reads. And where there are two copies of host
// output, the host may refill its input and begin the next run as soon as the uploads are over, so nothing else reads
// it.
#include "ir/verify/checker.h"

static dp_status check_space(dp_checker *c, uint32_t instruction, const dp_checker_tensor *t, Dp__Space space) {
  if (!t || t->claim->space == space) return DP_OK;
  return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_ORDER_AHEAD,
                         "its stream runs ahead, and '%s' is in %s memory; it must be in %s memory", t->value->name,
                         dp_plan_form_space(t->claim->space), dp_plan_form_space(space));
}

static dp_status check_ahead(dp_checker *c, uint32_t instruction) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  if (in->n_waits || (in->scratch && in->scratch->bytes))
    return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_ORDER_AHEAD,
                           "its stream runs ahead, and it %s, which is of the run before",
                           in->n_waits ? "waits for an event" : "has scratch memory");
  for (size_t k = 0; k < in->n_inputs; k++)
    DP_TRY(check_space(c, instruction, dp_checker_input(c, in, k), DP__SPACE__HOST_INPUT));
  for (size_t k = 0; k < in->n_outputs; k++)
    DP_TRY(check_space(c, instruction, dp_checker_output(c, in, k), DP__SPACE__DEVICE_INPUT));
  return DP_OK;
}

static dp_status check_beside(dp_checker *c, uint32_t instruction, bool overlap) {
  const Dp__Instruction *in = c->instructions[instruction].claim;
  for (size_t k = 0; k < in->n_inputs && overlap; k++) {
    const dp_checker_tensor *t = dp_checker_input(c, in, k);
    if (t && t->claim->space == DP__SPACE__HOST_INPUT)
      return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_ORDER_BESIDE,
                             "it reads '%s' in host input memory, which the host fills anew once it is uploaded",
                             t->value->name);
  }
  for (size_t k = 0; k < in->n_outputs; k++) {
    const dp_checker_tensor *t = dp_checker_output(c, in, k);
    if (t && t->claim->space == DP__SPACE__DEVICE_INPUT)
      return dp_checker_fail(c, dp_checker_at_instruction(c, instruction), DP_RULE_ORDER_BESIDE,
                             "it writes '%s' to device input memory, which only what runs ahead may", t->value->name);
  }
  return DP_OK;
}

dp_status dp_checker_ahead(dp_checker *c) {
  const Dp__Arena *outputs = dp_plan_form_arena(c->role, DP__SPACE__HOST_OUTPUT);
  const bool overlap = outputs && outputs->copies > 1;
  for (uint32_t i = 0; i < c->n_instructions; i++) {
    const bool ahead = c->program->streams[c->instructions[i].stream]->ahead;
    DP_TRY(ahead ? check_ahead(c, i) : check_beside(c, i, overlap));
  }
  return DP_OK;
}
