// What a plan says of itself as a whole, held against what its programs are: graphs, threads, instruction set, learning
// rate, classes, precision, the sizes of arenas. The runtime acts on these without looking at an instruction, so a plan
// may not say one thing and do another.
#include <stdio.h>
#include <string.h>

#include "ir/base/limits.h"
#include "ir/verify/checker.h"

static dp_status fail(dp_checker *c, const char *format, ...) DP_PRINTF(2, 3);
static dp_status fail(dp_checker *c, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return dp_checker_fail(c, DP_CHECKER_PROGRAM, DP_RULE_PLAN_CLAIM, "%s", text);
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

// Each graph is that of the program of its name, so that none is there that nothing computes.
static dp_status check_graphs(dp_checker *c) {
  const Dp__Role *role = c->plan->roles[0];
  for (size_t i = 0; i < role->n_programs; i++) {
    const char *graph = c->plan->graphs[role->programs[i]->graph]->name;
    if (strcmp(graph, role->programs[i]->name))
      return fail(c, "program %s is of the logical graph '%s'; it must be of the one of its name",
                  role->programs[i]->name, graph);
  }
  if (role->n_programs == c->plan->n_graphs) return DP_OK;
  return fail(c, "it has %zu logical graphs for %zu programs", c->plan->n_graphs, role->n_programs);
}

// What the user wished is for the compiler; a plan says where things are.
static dp_status check_wishes(dp_checker *c) {
  for (size_t i = 0; i < c->plan->n_variables; i++)
    if (c->plan->variables[i]->n_constraints)
      return fail(c, "'%s' has a wish for its placement, which a plan has no use for", c->plan->variables[i]->name);
  for (size_t g = 0; g < c->plan->n_graphs; g++)
    for (size_t i = 0; i < c->plan->graphs[g]->n_nodes; i++) {
      const Dp__Node *node = c->plan->graphs[g]->nodes[i];
      if (node->device || node->stage || node->n_constraints)
        return fail(c,
                    "graph '%s': node '%s' has a wish for its device, stage or placement, which a plan has no use for",
                    c->plan->graphs[g]->name, node->name);
    }
  return DP_OK;
}

// ---- instructions ---------------------------------------------------------------------------------------------------

typedef struct {
  uint32_t threads;  // the most of an instruction
  bool special;      // whether a kernel is of another library than the reference
} used;

// "cpu.reference.Gemm", "cpu.wide.Gemm": the part between the first two dots. Wide kernels compute by the reference's.
static bool is_reference(const char *kernel) {
  const char *dot = strchr(kernel, '.');
  return dot && (!strncmp(dot, ".reference.", 11) || !strncmp(dot, ".wide.", 6));
}

static void look_at(const Dp__Program *program, used *u) {
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++) {
      const Dp__Instruction *in = program->streams[s]->instructions[i];
      if (in->threads > u->threads) u->threads = in->threads;
      u->special |= *in->kernel && !is_reference(in->kernel);
    }
}

static dp_status check_target(dp_checker *c) {
  const Dp__Target *target = c->plan->target;
  used u = {1, false};
  for (size_t r = 0; r < c->plan->n_roles; r++)
    for (size_t p = 0; p < c->plan->roles[r]->n_programs; p++) look_at(c->plan->roles[r]->programs[p], &u);
  const uint32_t threads = target->threads ? target->threads : 1;
  if (threads != u.threads)
    return fail(c, "the target has %u threads an instruction; the most that one has is %u", threads, u.threads);
  if (u.special == (*target->isa != 0)) return DP_OK;
  return u.special ? fail(c, "the target names no instruction set, and kernels of a library depend on it")
                   : fail(c, "the target names the instruction set '%s'; all kernels are the reference's", target->isa);
}

// ---- what the runtime goes by ---------------------------------------------------------------------------------------

static bool is_rate(const dp_value *v) { return v->kind == DP_VALUE_SCALAR && !strcmp(v->name, DP_SCALAR_LR); }

static dp_status check_schedule(dp_checker *c) {
  static const Dp__Schedule none = DP__SCHEDULE__INIT;
  const Dp__Schedule *s = c->plan->schedule ? c->plan->schedule : &none;
  const char *reader = NULL;
  for (size_t g = 0; g < c->plan->n_graphs; g++)
    for (int32_t i = 0; i < c->graphs[g]->n_values; i++)
      if (is_rate(c->graphs[g]->values[i])) reader = c->graphs[g]->name;
  if (reader && !*s->kind) return fail(c, "program %s takes a learning rate, and no schedule gives one", reader);
  if (s->lr < 0 || s->min_lr < 0 || s->gamma < 0)
    return fail(c, "the schedule has lr %g, min_lr %g, gamma %g; none may be negative", s->lr, s->min_lr, s->gamma);
  bool empty = !s->lr && !s->warmup && !s->total && !s->min_lr && !s->step_size && !s->gamma;
  if (!reader && (*s->kind || !empty)) return fail(c, "there is a schedule, and no program takes a learning rate");
  return DP_OK;
}

static dp_status check_classes(dp_checker *c) {
  bool counts = false;
  for (size_t g = 0; g < c->plan->n_graphs; g++)
    for (int i = 0; i < c->graphs[g]->n_outputs && !strcmp(c->graphs[g]->name, "eval"); i++)
      counts |= !strcmp(c->graphs[g]->outputs[i].name, "correct");
  if (counts == (c->plan->classes != 0)) return DP_OK;
  return counts ? fail(c, "program eval counts what is right, and the plan says that the loss has no classes")
                : fail(c, "the plan says that the loss has classes, and no program eval counts what is right");
}

// Whether nothing that a graph begins with is float32.
static bool is_wide(const dp_graph *graph) {
  for (int32_t i = 0; i < graph->n_values; i++)
    if (graph->values[i]->kind != DP_VALUE_RESULT && graph->values[i]->type.dtype == DP_FLOAT32) return false;
  return true;
}

static dp_status check_precision(dp_checker *c) {
  for (size_t g = 0; g < c->plan->n_graphs && c->plan->precision == DP_FLOAT64; g++)
    if (!is_wide(c->graphs[g]))
      return fail(c, "the plan says that its precision is float64, and program %s has float32 to begin with",
                  c->graphs[g]->name);
  return DP_OK;
}

// ---- arenas ---------------------------------------------------------------------------------------------------------

typedef struct {
  uint64_t tops[DP_CHECKER_SPACES];
} extent;

static void raise(extent *e, Dp__Space space, uint64_t offset, uint64_t bytes) {
  if (offset + bytes > e->tops[space]) e->tops[space] = offset + bytes;
}

static void measure(const dp_checker *c, uint32_t role, extent *e) {
  for (int32_t k = 0; k < c->storages[role].count; k++) {
    const dp_variable *p = &c->model->variables[c->storages[role].variables[k]];
    raise(e, DP__SPACE__PERSISTENT, p->offset, p->bytes);
  }
  for (size_t p = 0; p < c->plan->roles[role]->n_programs; p++) {
    const Dp__Program *program = c->plan->roles[role]->programs[p];
    for (size_t i = 0; i < program->n_tensors; i++)
      raise(e, program->tensors[i]->space, program->tensors[i]->offset, program->tensors[i]->bytes);
    for (size_t s = 0; s < program->n_streams; s++)
      for (size_t i = 0; i < program->streams[s]->n_instructions; i++) {
        const Dp__Scratch *scratch = program->streams[s]->instructions[i]->scratch;
        if (scratch) raise(e, DP__SPACE__TRANSIENT, scratch->offset, scratch->bytes);
      }
  }
}

static bool is_of_host(Dp__Space space) {
  return space == DP__SPACE__HOST_INPUT || space == DP__SPACE__HOST_OUTPUT || space == DP__SPACE__OFFLOAD;
}

// An arena ends where the last that lies in it ends, rounded up to its alignment: of the host's, the last of any role.
static dp_status check_arenas(dp_checker *c) {
  extent host = {{0}};
  for (uint32_t r = 0; r < c->plan->n_roles; r++) measure(c, r, &host);
  for (uint32_t r = 0; r < c->plan->n_roles; r++) {
    extent own = {{0}};
    measure(c, r, &own);
    for (size_t i = 0; i < c->plan->roles[r]->n_arenas; i++) {
      const Dp__Arena *arena = c->plan->roles[r]->arenas[i];
      if (arena->alignment < DP_LIMIT_LEAST_ALIGNMENT)
        return dp_checker_fail(c, DP_CHECKER_PROGRAM, DP_RULE_FORM_ALIGN,
                               "role %s: the %s arena has alignment %u; kernels count on at least %d",
                               c->plan->roles[r]->name, dp_checker_space(arena->space), arena->alignment,
                               DP_LIMIT_LEAST_ALIGNMENT);
      uint64_t top = is_of_host(arena->space) ? host.tops[arena->space] : own.tops[arena->space];
      if (arena->bytes == dp_align_up(top, arena->alignment)) continue;
      return fail(c, "role %s: the %s arena has %llu bytes; what lies in it ends at %llu, so that %llu are expected",
                  c->plan->roles[r]->name, dp_checker_space(arena->space), (unsigned long long)arena->bytes,
                  (unsigned long long)top, (unsigned long long)dp_align_up(top, arena->alignment));
    }
  }
  return DP_OK;
}

dp_status dp_checker_claims(dp_checker *c) {
  DP_TRY(check_graphs(c));
  DP_TRY(check_wishes(c));
  DP_TRY(check_target(c));
  DP_TRY(check_schedule(c));
  DP_TRY(check_classes(c));
  DP_TRY(check_precision(c));
  return check_arenas(c);
}
