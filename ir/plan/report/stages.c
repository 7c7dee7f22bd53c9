// See stages.h.
#include "ir/plan/report/stages.h"

#include <inttypes.h>
#include <string.h>

#include "ir/graph/graph.h"
#include "ir/plan/form.h"
#include "ir/plan/report/tasks.h"

static int64_t size_of(const Dp__Plan *plan, const char *axis) {
  for (size_t a = 0; a < plan->n_mesh; a++)
    if (!strcmp(plan->mesh[a]->name, axis)) return plan->mesh[a]->size;
  return 1;
}

// ---- what a stage holds and moves -----------------------------------------------------------------------------------

static bool has_storage(const Dp__Variable *p, size_t stage) {
  bool has = !p->n_stages;
  for (size_t i = 0; i < p->n_stages; i++) has |= p->stages[i] == stage;
  return has;
}

static uint64_t arena_bytes(const Dp__Role *role, Dp__Space space) {
  const Dp__Arena *arena = dp_plan_form_arena(role, space);
  return arena ? arena->bytes : 0;
}

static void measure_memory(const Dp__Plan *plan, size_t r, dp_plan_stage *stage) {
  for (size_t i = 0; i < plan->n_variables; i++) {
    const Dp__Variable *p = plan->variables[i];
    uint64_t bytes = has_storage(p, r) ? p->bytes : 0;
    *(p->kind == DP_PARAMETER ? &stage->parameters : p->kind == DP_STATE ? &stage->state : &stage->others) += bytes;
  }
  stage->variable = arena_bytes(plan->roles[r], DP__SPACE__PERSISTENT);
  stage->transient = arena_bytes(plan->roles[r], DP__SPACE__TRANSIENT);
}

static uint64_t bytes_of(const Dp__Program *program, size_t count, const uint32_t *operands) {
  uint64_t bytes = 0;
  for (size_t k = 0; k < count; k++)
    if (operands[k]) bytes += program->tensors[operands[k] - 1]->bytes;
  return bytes;
}

static void measure_steps(dp_arena *arena, const dp_plan_steps *steps, dp_plan_stages *all) {
  uint32_t *seen = dp_alloc_n(arena, steps->plan->graphs[steps->programs[0]->graph]->n_nodes,
                              sizeof *seen);  // index of the role, plus 1
  for (uint32_t i = 0; i < steps->n_steps; i++) {
    const dp_plan_step *step = &steps->steps[i];
    const Dp__Program *program = steps->programs[step->role];
    const Dp__Instruction *in = step->in;
    dp_plan_stage *stage = &all->stages[step->role];
    for (size_t k = 0; k < in->n_nodes; k++) {
      stage->nodes += seen[in->nodes[k]] != step->role + 1;
      seen[in->nodes[k]] = step->role + 1;
    }
    const Dp__Communication *c = in->communication;
    if (!c || !c->n_axes) continue;
    bool own = !strcmp(in->op, "Slice") || !strcmp(in->op, "Accumulate");  // local to the device
    if (c->n_peer)
      *(in->n_inputs && in->inputs[0] ? &stage->sent : &stage->received) +=
          bytes_of(program, in->n_inputs, in->inputs) + bytes_of(program, in->n_outputs, in->outputs);
    else
      stage->collectives += !own;
  }
}

// ---- micro-batches --------------------------------------------------------------------------------------------------

static bool is_task(const dp_plan_step *step, const dp_plan_stages *all) {
  return dp_plan_step_computes(step) && step->micro >= 0 && step->micro < all->microbatches;
}

// From a micro-batch's first step on a stage to its last, in the order of the stage's computation.
static void measure_flight(dp_arena *arena, const dp_plan_steps *steps, dp_plan_stages *all) {
  size_t m = (size_t)all->microbatches;
  // For the current stage, plus 1; 0: not seen yet.
  uint32_t *first = dp_alloc_n(arena, m, sizeof *first), *last = dp_alloc_n(arena, m, sizeof *last);
  for (uint32_t i = 0, end; i < steps->n_steps; i = end) {
    dp_plan_stage *stage = &all->stages[steps->steps[i].role];
    for (end = i; end < steps->n_steps && steps->steps[end].role == steps->steps[i].role; end++) {
      const dp_plan_step *step = &steps->steps[end];
      if (!is_task(step, all)) continue;
      last[step->micro] = end + 1;
      if (!first[step->micro]) first[step->micro] = end + 1;
    }
    int64_t there = 0;
    for (uint32_t k = i; k < end; k++) {
      const dp_plan_step *step = &steps->steps[k];
      if (!is_task(step, all)) continue;
      there += first[step->micro] == k + 1;
      if (there > stage->in_flight) stage->in_flight = there;
      if (last[step->micro] != k + 1) continue;
      there--;
      first[step->micro] = 0;
    }
  }
}

static void measure_tasks(dp_arena *arena, const dp_plan_steps *steps, dp_plan_stages *all) {
  double *sums = dp_alloc_n(arena, (size_t)all->n_stages, sizeof *sums), idle = 1;
  double whole = dp_plan_tasks_run(arena, steps, sums);
  for (size_t r = 0; r < (size_t)all->n_stages && whole > 0; r++) {
    all->stages[r].busy = sums[r] / whole;
    idle -= all->stages[r].busy / (double)all->n_stages;
  }
  if (whole > 0) all->idle = idle < 0 ? 0 : idle;
}

double dp_plan_stages_idle(const dp_plan_steps *steps, double makespan, double *busy) {
  size_t n = steps->plan->n_roles;
  double idle = 1;
  memset(busy, 0, n * sizeof *busy);
  for (uint32_t i = 0; i < steps->n_steps; i++)
    if (dp_plan_step_computes(&steps->steps[i]) && makespan > 0)
      busy[steps->steps[i].role] += steps->steps[i].ns / makespan;
  for (size_t r = 0; r < n; r++) idle -= busy[r] / (double)n;
  return idle;
}

// ---- all of it ------------------------------------------------------------------------------------------------------

bool dp_plan_stages_measure(dp_arena *arena, const Dp__Plan *plan, const char *program, dp_plan_stages *stages) {
  dp_plan_stages all = {(int64_t)plan->n_roles, size_of(plan, DP_MESH_MICRO), NULL, -1, 0};
  size_t index = 0, count = plan->roles[0]->n_programs;
  while (index < count && strcmp(plan->roles[0]->programs[index]->name, program)) index++;
  if (index == count) return false;
  all.stages = dp_alloc_n(arena, plan->n_roles, sizeof *all.stages);
  all.formula = (double)(all.n_stages - 1) / (double)(all.microbatches + all.n_stages - 1);
  dp_plan_steps steps = dp_plan_steps_make(arena, plan, index);
  for (size_t r = 0; r < plan->n_roles; r++) measure_memory(plan, r, &all.stages[r]);
  measure_steps(arena, &steps, &all);
  if (all.microbatches > 1 && all.microbatches <= steps.n_steps) {
    measure_flight(arena, &steps, &all);
    measure_tasks(arena, &steps, &all);
  }
  *stages = all;
  return true;
}

char *dp_plan_stages_bytes(double bytes, char text[32]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t u = 0;
  for (; bytes >= 1024 && u + 1 < DP_COUNT(units); u++) bytes /= 1024;
  snprintf(text, 32, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
  return text;
}

static void print_stage(const dp_plan_stages *all, size_t r, FILE *out) {
  const dp_plan_stage *s = &all->stages[r];
  const uint64_t bytes[] = {s->parameters, s->state, s->others, s->variable, s->transient, s->sent, s->received};
  char text[32];
  fprintf(out, "  %5zu %6" PRId64, r, s->nodes);
  for (size_t i = 0; i < DP_COUNT(bytes); i++) fprintf(out, " %11s", dp_plan_stages_bytes((double)bytes[i], text));
  fprintf(out, " %11" PRId64, s->collectives);
  if (all->idle >= 0) fprintf(out, " %9" PRId64 " %5.1f %%", s->in_flight, 100 * s->busy);
  fputc('\n', out);
}

typedef struct {
  dp_arena *arena;
  const Dp__Plan *plan;
  FILE *out;
} printing;

static dp_status print(void *arg) {
  const printing *p = arg;
  dp_plan_stages all;
  const char *program = "train";
  if (!dp_plan_stages_measure(p->arena, p->plan, program, &all) &&
      !dp_plan_stages_measure(p->arena, p->plan, program = "infer", &all))
    return DP_OK;
  if (all.n_stages == 1 && all.microbatches == 1) return DP_OK;
  fprintf(p->out, "\n%s, by stage: a device of it holds and moves, %" PRId64 " micro-batch%s\n", program,
          all.microbatches, all.microbatches == 1 ? "" : "es");
  fprintf(p->out, "  %5s %6s %11s %11s %11s %11s %11s %11s %11s %11s", "stage", "nodes", "parameters", "state",
          "others", "storage", "transient", "sent", "received", "collectives");
  fputs(all.idle >= 0 ? " in flight    busy\n" : "\n", p->out);
  for (size_t r = 0; r < (size_t)all.n_stages; r++) print_stage(&all, r, p->out);
  fprintf(p->out, "  idle %.1f %% = (p - 1) / (m + p - 1)", 100 * all.formula);
  if (all.idle >= 0)
    fprintf(p->out, "; in this plan %.1f %%, where forward takes 1, backward 2 and transfers nothing", 100 * all.idle);
  fputc('\n', p->out);
  return DP_OK;
}

void dp_plan_stages_print(const Dp__Plan *plan, FILE *out) {
  printing p = {dp_arena_create(0), plan, out};
  dp_status status = p.arena ? dp_arena_run(p.arena, print, &p) : DP_OK;
  if (status || !p.arena) fputs("out of memory\n", out);
  dp_status_free(status);
  dp_arena_destroy(p.arena);
}
