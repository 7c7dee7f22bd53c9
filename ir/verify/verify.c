// The checker's run over a plan. See verify.h.
#include "ir/verify/verify.h"

#include <stdio.h>

#include "ir/plan_check.h"
#include "ir/verify/checker.h"

// ---- wording --------------------------------------------------------------------------------------------------------

dp_fault *dp_checker_at(dp_checker *c, uint32_t step) {
  dp_fault *fault = &c->report->fault;
  *fault = (dp_fault){.program = c->program ? c->program->name : NULL};
  if (step == DP_CHECKER_PROGRAM) return fault;
  const dp_checker_step *s = &c->steps[step];
  fault->stream = c->program->streams[s->stream]->name;
  fault->instruction = s->place - 1;
  fault->op = s->claim->op;
  fault->op_domain = s->claim->domain;
  return fault;
}

dp_fault *dp_checker_at_tensor(dp_checker *c, size_t tensor) {
  dp_fault *fault = dp_checker_at(c, DP_CHECKER_PROGRAM);
  dp_plan_check_user(fault, c->program, tensor);
  return fault;
}

dp_status dp_checker_fail_tensor(dp_checker *c, size_t tensor, dp_rule rule, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return dp_rule_fail(dp_checker_at_tensor(c, tensor), rule, "%s", text);
}

dp_status dp_checker_fail(dp_checker *c, uint32_t step, dp_rule rule, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return dp_rule_fail(dp_checker_at(c, step), rule, "%s", text);
}

char *dp_checker_step_print(const dp_checker *c, uint32_t step, char *text, size_t bytes) {
  const dp_checker_step *s = &c->steps[step];
  snprintf(text, bytes, "stream %s, instruction %u (%s%s%s)", c->program->streams[s->stream]->name, s->place - 1,
           s->op->domain, *s->op->domain ? "." : "", s->op->name);
  return text;
}

const char *dp_checker_space(Dp__Space space) {
  static const char *const names[] = {"no",          "persistent",  "transient", "host input",
                                      "host output", "peer window", "offload"};
  return names[space];
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

// ---- the run --------------------------------------------------------------------------------------------------------

static dp_status check_program(void *arg) {
  dp_checker *c = arg;
  DP_TRY(dp_checker_tensors(c));
  DP_TRY(dp_checker_flow(c));
  DP_TRY(dp_checker_ends(c));
  DP_TRY(dp_checker_steps(c));
  DP_TRY(dp_checker_order(c));
  DP_TRY(dp_checker_meaning(c));
  c->report->programs++;
  return DP_OK;
}

static dp_status check_plan(void *arg) {
  dp_checker *c = arg;
  DP_TRY(dp_plan_check(c->plan, &c->report->fault));
  DP_TRY(dp_checker_model(c));
  DP_TRY(dp_checker_init(c));
  for (size_t i = 0; i < c->role->n_programs; i++) {
    c->program = c->role->programs[i];
    c->graph = c->graphs[c->program->graph];
    c->arena = dp_arena_create(0);
    if (!c->arena) return dp_fail(DP_EX_MEMORY, "no memory to check program %s", c->program->name);
    dp_status status = dp_arena_run(c->arena, check_program, c);
    dp_arena_destroy(c->arena);
    if (status) return status;
    c->program = NULL;
  }
  return DP_OK;
}

dp_status dp_verify_plan(const Dp__Plan *plan, dp_verify_report *report) {
  dp_verify_report own;
  if (!report) report = &own;
  *report = (dp_verify_report){0};
  dp_checker c = {.report = report, .plan = plan, .plan_arena = dp_arena_create(0)};
  if (!c.plan_arena) return dp_fail(DP_EX_MEMORY, "no memory to check the plan");
  dp_status status = dp_arena_run(c.plan_arena, check_plan, &c);
  dp_arena_destroy(c.plan_arena);
  if (!status) report->fault = (dp_fault){0};
  return status;
}

void dp_verify_print(const dp_verify_report *r, FILE *out) {
#define N(field) (unsigned long long)r->field
  fprintf(out, "order: %llu instructions in %llu programs, for %llu devices: %llu events without cycle,\n",
          N(instructions), N(programs), N(devices), N(events));
  fprintf(out,
          "  %llu accesses to memory, of which %llu pairs conflict and are ordered, %llu collectives in one order\n",
          N(accesses), N(conflicts), N(collectives));
  fprintf(out,
          "meaning: %llu operands hold the value, version and placement said; %llu instructions compute their node,\n",
          N(operands), N(nodes));
  fprintf(out,
          "  %llu convert a placement and keep the value; %llu inputs, %llu outputs, %llu updates of %llu persistent "
          "values\n",
          N(conversions), N(inputs), N(outputs), N(updates), N(persistents));
#undef N
}
