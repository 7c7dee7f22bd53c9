// The checker's run over a plan. See verify.h.
#include "ir/verify/verify.h"

#include <stdio.h>
#include <string.h>

#include "ir/plan/form.h"
#include "ir/verify/checker.h"

// ---- the run --------------------------------------------------------------------------------------------------------

static dp_status check_role(void *arg) {
  dp_checker *c = arg;
  DP_TRY(dp_checker_tensors(c));
  DP_TRY(dp_checker_flow(c));
  DP_TRY(dp_checker_ends(c));
  DP_TRY(dp_checker_instructions(c));
  DP_TRY(dp_checker_packed(c));
  DP_TRY(dp_checker_ahead(c));
  DP_TRY(dp_checker_order(c));
  return dp_checker_meaning(c);
}

// Runs it with a fresh arena.
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
  c->shared.computed = dp_alloc_n(c->shared.arena, (size_t)c->graph->n_nodes, sizeof *c->shared.computed);
  c->shared.given = dp_alloc_n(c->shared.arena, (size_t)c->graph->n_outputs, sizeof *c->shared.given);
  for (c->role_index = 0; c->role_index < c->plan->n_roles; c->role_index++) {
    c->role = c->plan->roles[c->role_index];
    c->program = dp_checker_program(c, c->role_index);
    DP_TRY(with_arena(c, &c->arena, check_role));
  }
  c->role = NULL;
  DP_TRY(dp_checker_transfers(c));
  DP_TRY(dp_checker_host(c));
  DP_TRY(dp_checker_deadlock(c));
  DP_TRY(dp_checker_unused(c));
  c->program = NULL;
  c->report->programs++;
  return DP_OK;
}

static dp_status check_plan(void *arg) {
  dp_checker *c = arg;
  DP_TRY(dp_plan_form_check(c->plan, &c->report->fault));
  DP_TRY(dp_checker_model(c));
  DP_TRY(dp_checker_init(c));
  DP_TRY(dp_checker_skip(c));
  for (c->program_index = 0; c->program_index < c->plan->roles[0]->n_programs; c->program_index++) {
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
  fprintf(out, "order: %llu instructions in %llu programs, for %llu devices: %llu events without a cycle;\n",
          N(instructions), N(programs), N(devices), N(events));
  fprintf(out, "  %llu memory accesses, of which %llu pairs conflict and are ordered; %llu collectives in one order\n",
          N(accesses), N(conflicts), N(collectives));
  if (r->stages > 1)
    fprintf(out, "  %llu stages; %llu transfers between them, each with both its sides, and no cycle of waits\n",
            N(stages), N(transfers));
  fprintf(out,
          "meaning: %llu operands hold the value, version and placement that they claim; %llu instructions compute "
          "their node,\n",
          N(operands), N(nodes));
  if (r->microbatches > 1)
    fprintf(out, "  for one of %llu micro-batches or for all; %llu accumulations lose none and count none twice;\n",
            N(microbatches), N(accumulations));
  fprintf(out,
          "  %llu convert a placement and keep the value; %llu inputs, %llu outputs, %llu updates of %llu variables\n",
          N(conversions), N(inputs), N(outputs), N(updates), N(variables));
#undef N
}
