// What a plan declares of itself as a whole, compared with its programs: graphs, threads, learning rate, classes,
// precision, the sizes of arenas. The runtime relies on these without looking at any instruction, so a plan must not
// declare one thing and do another.
#include <stdio.h>
#include <string.h>

#include "ir/base/limits.h"
#include "ir/plan/schedule.h"
#include "ir/verify/checker.h"

#define FAIL(...) dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_PLAN_CLAIM, __VA_ARGS__)

// ---- graphs ---------------------------------------------------------------------------------------------------------

// Each program has the graph of its own name, so no graph is left over that nothing computes.
static dp_status check_graphs(dp_checker *c) {
  const Dp__Role *role = c->plan->roles[0];
  for (size_t i = 0; i < role->n_programs; i++) {
    const char *graph = c->plan->graphs[role->programs[i]->graph]->name;
    if (strcmp(graph, role->programs[i]->name))
      return FAIL("program %s has the logical graph '%s'; it must have the one of its own name",
                  role->programs[i]->name, graph);
  }
  if (role->n_programs == c->plan->n_graphs) return DP_OK;
  return FAIL("it has %zu logical graphs for %zu programs", c->plan->n_graphs, role->n_programs);
}

// Annotations are for the compiler; a plan itself says where values are.
static dp_status check_wishes(dp_checker *c) {
  for (size_t i = 0; i < c->plan->n_variables; i++)
    if (c->plan->variables[i]->n_constraints)
      return FAIL("'%s' has a sharding constraint, which is of no use in a plan", c->plan->variables[i]->name);
  for (size_t g = 0; g < c->plan->n_graphs; g++)
    for (size_t i = 0; i < c->plan->graphs[g]->n_nodes; i++) {
      const Dp__Node *node = c->plan->graphs[g]->nodes[i];
      if (node->device || node->stage || node->n_constraints)
        return FAIL("graph '%s': node '%s' has a wish for its device, stage or placement, which is of no use in a plan",
                    c->plan->graphs[g]->name, node->name);
    }
  return DP_OK;
}

// ---- instructions ---------------------------------------------------------------------------------------------------

static uint32_t most_threads(const Dp__Program *program) {
  uint32_t most = 1;
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++)
      if (program->streams[s]->instructions[i]->threads > most) most = program->streams[s]->instructions[i]->threads;
  return most;
}

// runtime/target.c checks the instruction set, as it knows the kernels.
static dp_status check_threads(dp_checker *c) {
  const uint32_t threads = c->plan->target->threads ? c->plan->target->threads : 1;
  uint32_t most = 1;
  for (size_t r = 0; r < c->plan->n_roles; r++)
    for (size_t p = 0; p < c->plan->roles[r]->n_programs; p++) {
      const uint32_t own = most_threads(c->plan->roles[r]->programs[p]);
      if (own > most) most = own;
    }
  if (threads == most) return DP_OK;
  return FAIL("the target has %u threads an instruction; the most that one has is %u", threads, most);
}

// ---- what the runtime goes by ---------------------------------------------------------------------------------------

static bool is_learning_rate(const dp_value *v) { return v->kind == DP_VALUE_SCALAR && !strcmp(v->name, DP_SCALAR_LR); }

static dp_status check_learning_rate(dp_checker *c) {
  static const Dp__Schedule none = DP__SCHEDULE__INIT;
  const Dp__Schedule *s = c->plan->schedule ? c->plan->schedule : &none;
  const char *reader = NULL;
  for (size_t g = 0; g < c->plan->n_graphs; g++)
    for (int32_t i = 0; i < c->graphs[g]->n_values; i++)
      if (is_learning_rate(c->graphs[g]->values[i])) reader = c->graphs[g]->name;
  if (reader && !*s->kind) return FAIL("program %s takes a learning rate, and no schedule gives one", reader);
  bool empty = !s->n_milestones;
  for (int i = 0; i < DP_SCHEDULE_NUMBERS; i++) {
    const double number = dp_schedule_number(s, i);
    if (number < 0) return FAIL("the schedule has %s=%g; it may not be negative", dp_schedule_numbers[i].name, number);
    empty &= number == 0;
  }
  for (int i = 0; i < DP_SCHEDULE_COUNTS; i++) empty &= !dp_schedule_count(s, i);
  if (!reader && (*s->kind || !empty)) return FAIL("there is a schedule, and no program takes a learning rate");
  return DP_OK;
}

static dp_status check_classes(dp_checker *c) {
  bool counts = false;
  for (size_t g = 0; g < c->plan->n_graphs; g++)
    for (int i = 0; i < c->graphs[g]->n_outputs && !strcmp(c->graphs[g]->name, "eval"); i++)
      counts |= !strcmp(c->graphs[g]->outputs[i].name, "correct");
  if (counts == (c->plan->classes != 0)) return DP_OK;
  return counts ? FAIL("program eval counts what is right, and the plan says that the loss has no classes")
                : FAIL("the plan says that the loss has classes, and no program eval counts what is right");
}

// Whether no input, variable or constant of the graph is float32.
static bool has_no_float32(const dp_graph *graph) {
  for (int32_t i = 0; i < graph->n_values; i++)
    if (graph->values[i]->kind != DP_VALUE_RESULT && graph->values[i]->type->dtype == DP_FLOAT32) return false;
  return true;
}

static dp_status check_precision(dp_checker *c) {
  for (size_t g = 0; g < c->plan->n_graphs && c->plan->precision == DP_FLOAT64; g++)
    if (!has_no_float32(c->graphs[g]))
      return FAIL("the plan says that its precision is float64, and program %s begins with float32 values",
                  c->graphs[g]->name);
  return DP_OK;
}

// ---- arenas ---------------------------------------------------------------------------------------------------------

// Where the last thing in each kind of memory ends.
typedef struct {
  uint64_t ends[DP_CHECKER_SPACES];
} extent;

static void extend(extent *e, Dp__Space space, uint64_t offset, uint64_t bytes) {
  if (offset + bytes > e->ends[space]) e->ends[space] = offset + bytes;
}

static void measure_role(const dp_checker *c, uint32_t role, extent *e) {
  for (int32_t k = 0; k < c->storages[role].count; k++) {
    const dp_variable *p = &c->model->variables[c->storages[role].variables[k]];
    extend(e, dp_checker_storage_space(p), p->offset, p->bytes);
  }
  for (size_t p = 0; p < c->plan->roles[role]->n_programs; p++) {
    const Dp__Program *program = c->plan->roles[role]->programs[p];
    for (size_t i = 0; i < program->n_tensors; i++)
      extend(e, program->tensors[i]->space, program->tensors[i]->offset, program->tensors[i]->bytes);
    for (size_t s = 0; s < program->n_streams; s++)
      for (size_t i = 0; i < program->streams[s]->n_instructions; i++) {
        const Dp__Instruction *in = program->streams[s]->instructions[i];
        if (in->scratch) extend(e, DP__SPACE__TRANSIENT, in->scratch->offset, in->scratch->bytes);
        if (in->packed) extend(e, DP__SPACE__PERSISTENT, in->packed->offset, in->packed->bytes);
      }
  }
}

// An arena ends where the last thing in it ends, rounded up to its alignment; one of the host, where the last thing of
// any role ends.
static dp_status check_arenas(dp_checker *c) {
  extent host = {{0}};
  for (uint32_t r = 0; r < c->plan->n_roles; r++) measure_role(c, r, &host);
  for (uint32_t r = 0; r < c->plan->n_roles; r++) {
    extent own = {{0}};
    measure_role(c, r, &own);
    for (size_t i = 0; i < c->plan->roles[r]->n_arenas; i++) {
      const Dp__Arena *arena = c->plan->roles[r]->arenas[i];
      if (arena->alignment < DP_LIMIT_LEAST_ALIGNMENT)
        return dp_checker_fail(c, dp_checker_at_whole(c), DP_RULE_FORM_ALIGN,
                               "role %s: the %s arena has alignment %u; kernels rely on at least %d",
                               c->plan->roles[r]->name, dp_plan_form_space(arena->space), arena->alignment,
                               DP_LIMIT_LEAST_ALIGNMENT);
      uint64_t end = dp_checker_is_on_host(arena->space) ? host.ends[arena->space] : own.ends[arena->space];
      if (arena->bytes == dp_align_up(end, arena->alignment)) continue;
      return FAIL("role %s: the %s arena has %llu bytes; what lies in it ends at %llu, so %llu are expected",
                  c->plan->roles[r]->name, dp_plan_form_space(arena->space), (unsigned long long)arena->bytes,
                  (unsigned long long)end, (unsigned long long)dp_align_up(end, arena->alignment));
    }
  }
  return DP_OK;
}

dp_status dp_checker_claims(dp_checker *c) {
  DP_TRY(check_graphs(c));
  DP_TRY(check_wishes(c));
  DP_TRY(check_threads(c));
  DP_TRY(check_learning_rate(c));
  DP_TRY(check_classes(c));
  DP_TRY(check_precision(c));
  return check_arenas(c);
}
