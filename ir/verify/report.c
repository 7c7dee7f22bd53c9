// See report.h.
#include "ir/verify/report.h"

#include <stdio.h>
#include <string.h>

#include "ir/verify/checker.h"

// ---- where ----------------------------------------------------------------------------------------------------------

dp_checker_location dp_checker_at_role(uint32_t role) {
  return (dp_checker_location){role, DP_CHECKER_WHOLE, DP_CHECKER_WHOLE};
}

dp_checker_location dp_checker_at_whole(const dp_checker *c) {
  return dp_checker_at_role(c->role ? c->role_index : DP_CHECKER_WHOLE);
}

dp_checker_location dp_checker_at_instruction(const dp_checker *c, uint32_t instruction) {
  const dp_checker_instruction *i = &c->instructions[instruction];
  return (dp_checker_location){c->role_index, i->stream, i->position - 1};
}

dp_checker_location dp_checker_at_tensor(const dp_checker *c, size_t tensor) {
  dp_checker_location at = dp_checker_at_whole(c);
  dp_plan_form_user(c->program, tensor, &at.stream, &at.instruction);
  return at;
}

// ---- failing --------------------------------------------------------------------------------------------------------

static dp_fault *set_fault(dp_checker *c, dp_checker_location at) {
  dp_fault *fault = &c->report->fault;
  *fault = (dp_fault){.program = c->program ? c->program->name : NULL};
  if (at.role != DP_CHECKER_WHOLE && c->plan->n_roles > 1) fault->role = c->plan->roles[at.role]->name;
  if (at.stream == DP_CHECKER_WHOLE) return fault;
  dp_plan_form_fault_at(fault, dp_checker_program(c, at.role), at.stream, at.instruction);
  return fault;
}

dp_status dp_checker_fail(dp_checker *c, dp_checker_location at, dp_rule rule, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return dp_rule_fail(set_fault(c, at), rule, "%s", text);
}

dp_status dp_checker_wrap(dp_checker *c, dp_checker_location at, dp_rule rule, dp_status status) {
  return dp_rule_wrap(set_fault(c, at), rule, status);
}

// ---- words ----------------------------------------------------------------------------------------------------------

char *dp_checker_location_print(const dp_checker *c, dp_checker_location at, char *text, size_t bytes) {
  const Dp__Instruction *in = dp_checker_claim_at(c, at);
  const bool several = c->plan->n_roles > 1;
  snprintf(text, bytes, "%s%s%sstream %s, instruction %u (%s%s%s)", several ? "role " : "",
           several ? c->plan->roles[at.role]->name : "", several ? ", " : "",
           dp_checker_program(c, at.role)->streams[at.stream]->name, at.instruction, in->domain, *in->domain ? "." : "",
           in->op);
  return text;
}

char *dp_checker_instruction_print(const dp_checker *c, uint32_t instruction, char *text, size_t bytes) {
  const dp_checker_instruction *i = &c->instructions[instruction];
  snprintf(text, bytes, "stream %s, instruction %u (%s%s%s)", c->program->streams[i->stream]->name, i->position - 1,
           i->op->domain, *i->op->domain ? "." : "", i->op->name);
  return text;
}

char *dp_checker_placements_print(const dp_checker *c, const dp_placement *at, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = 0;
  for (int a = 0; a < c->model->mesh.n_axes && used < bytes; a++) {
    char one[64];
    dp_placement_print(at[a], one, sizeof one);
    used += (size_t)snprintf(text + used, bytes - used, "%s%s", a ? "," : "[", one);
  }
  if (used < bytes) snprintf(text + used, bytes - used, "%s]", used ? "" : "[");
  return text;
}

char *dp_checker_tensor_print(const dp_checker *c, const dp_checker_tensor *t, char *text, size_t bytes) {
  dp_checker_placements_print(c, t->at, text, bytes);
  size_t used = strlen(text);
  if (t->count) snprintf(text + used, bytes - used, " of micro-batches [%u,%u)", t->first, t->first + t->count);
  return text;
}
