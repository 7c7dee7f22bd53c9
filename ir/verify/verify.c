// The checker's run over a plan. See verify.h.
#include "ir/verify/verify.h"

#include <stdio.h>
#include <string.h>

#include "ir/plan/form.h"
#include "ir/verify/checker.h"

// ---- wording --------------------------------------------------------------------------------------------------------

dp_fault *dp_checker_at(dp_checker *c, uint32_t step) {
  dp_fault *fault = &c->report->fault;
  *fault = (dp_fault){.role = c->role && c->plan->n_roles > 1 ? c->role->name : NULL,
                      .program = c->program ? c->program->name : NULL};
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
  dp_plan_form_user(fault, c->program, tensor);
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

dp_status dp_checker_fail_place(dp_checker *c, dp_checker_place place, dp_rule rule, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const Dp__Program *program = dp_checker_program(c, place.role);
  const Dp__Instruction *in = dp_checker_instruction(c, place);
  c->report->fault = (dp_fault){.role = c->plan->n_roles > 1 ? c->plan->roles[place.role]->name : NULL,
                                .program = program->name,
                                .stream = program->streams[place.stream]->name,
                                .instruction = place.instruction,
                                .op = in->op,
                                .op_domain = in->domain};
  return dp_rule_fail(&c->report->fault, rule, "%s", text);
}

char *dp_checker_place_print(const dp_checker *c, dp_checker_place place, char *text, size_t bytes) {
  const Dp__Program *program = dp_checker_program(c, place.role);
  const Dp__Instruction *in = dp_checker_instruction(c, place);
  const bool several = c->plan->n_roles > 1;
  snprintf(text, bytes, "%s%s%sstream %s, instruction %u (%s%s%s)", several ? "role " : "",
           several ? c->plan->roles[place.role]->name : "", several ? ", " : "", program->streams[place.stream]->name,
           place.instruction, in->domain, *in->domain ? "." : "", in->op);
  return text;
}

dp_checker_place dp_checker_place_of(const dp_checker *c, uint32_t step) {
  return (dp_checker_place){c->n_role, c->steps[step].stream, c->steps[step].place - 1};
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

char *dp_checker_part_print(const dp_checker *c, const dp_checker_tensor *t, char *text, size_t bytes) {
  dp_checker_placements_print(c, t->at, text, bytes);
  size_t used = strlen(text);
  if (t->count) snprintf(text + used, bytes - used, " of micro-batches [%u,%u)", t->first, t->first + t->count);
  return text;
}

// ---- the run --------------------------------------------------------------------------------------------------------

static dp_status check_role(void *arg) {
  dp_checker *c = arg;
  DP_TRY(dp_checker_tensors(c));
  DP_TRY(dp_checker_flow(c));
  DP_TRY(dp_checker_ends(c));
  DP_TRY(dp_checker_steps(c));
  DP_TRY(dp_checker_order(c));
  return dp_checker_meaning(c);
}

// Runs it with an arena of its own.
static dp_status with_arena(dp_checker *c, dp_arena **arena, dp_status (*run)(void *)) {
  *arena = dp_arena_create(0);
  if (!*arena) return dp_fail(DP_EX_MEMORY, "no memory to check the plan");
  dp_status status = dp_arena_run(*arena, run, c);
  dp_arena_destroy(*arena);
  *arena = NULL;
  return status;
}

static dp_status check_program(void *arg) {
  dp_checker *c = arg;
  c->graph = c->graphs[dp_checker_program(c, 0)->graph];
  c->shared.partials = dp_alloc_n(c->shared.arena, (size_t)c->graph->n_nodes, sizeof *c->shared.partials);
  c->shared.given = dp_alloc_n(c->shared.arena, (size_t)c->graph->n_outputs, sizeof *c->shared.given);
  for (c->n_role = 0; c->n_role < c->plan->n_roles; c->n_role++) {
    c->role = c->plan->roles[c->n_role];
    c->program = dp_checker_program(c, c->n_role);
    DP_TRY(with_arena(c, &c->arena, check_role));
  }
  c->role = NULL;
  DP_TRY(dp_checker_transfers(c));
  DP_TRY(dp_checker_host(c));
  DP_TRY(dp_checker_deadlock(c));
  c->program = NULL;
  c->report->programs++;
  return DP_OK;
}

static dp_status check_plan(void *arg) {
  dp_checker *c = arg;
  DP_TRY(dp_plan_form_check(c->plan, &c->report->fault));
  DP_TRY(dp_checker_model(c));
  DP_TRY(dp_checker_init(c));
  for (c->n_program = 0; c->n_program < c->plan->roles[0]->n_programs; c->n_program++) {
    c->shared = (dp_checker_shared){0};
    DP_TRY(with_arena(c, &c->shared.arena, check_program));
  }
  return dp_checker_claims(c);
}

dp_status dp_verify_plan(const Dp__Plan *plan, dp_verify_report *report) {
  dp_verify_report own;
  if (!report) report = &own;
  *report = (dp_verify_report){0};
  dp_checker c = {.report = report, .plan = plan};
  dp_status status = with_arena(&c, &c.plan_arena, check_plan);
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
  if (r->stages > 1)
    fprintf(out, "  %llu stages; %llu transfers between them, each with its other side, and no wait in a circle\n",
            N(stages), N(transfers));
  fprintf(out,
          "meaning: %llu operands hold the value, version and placement said; %llu instructions compute their node,\n",
          N(operands), N(nodes));
  if (r->microbatches > 1)
    fprintf(out, "  each of one of %llu micro-batches or of all; %llu accumulations lose none and count none twice,\n",
            N(microbatches), N(accumulations));
  fprintf(out,
          "  %llu convert a placement and keep the value; %llu inputs, %llu outputs, %llu updates of %llu persistent "
          "values\n",
          N(conversions), N(inputs), N(outputs), N(updates), N(variables));
#undef N
}
