// See balance.h.
#include "passes/report/balance.h"

#include <math.h>
#include <string.h>

#include "ir/file/proto.h"
#include "ir/plan/plan.h"
#include "ir/plan/report/stages.h"
#include "passes/cost/cost_model.h"

typedef struct {
  const Dp__Plan *plan;
  const dp_target_costs *costs;
  FILE *out;
  dp_arena *arena;
  dp_model *model;
  const dp_graph *graph;  // logical
} clocking;

typedef struct {
  double largest, all;  // bytes: of the largest operand or result, and of all
  double share;         // the part that a device has at a time of the operand or result that is divided most
} sizes;

static void add_sizes(const clocking *c, const Dp__Program *program, size_t count, const uint32_t *operands, sizes *s) {
  for (size_t k = 0; k < count; k++) {
    if (!operands[k]) continue;
    const Dp__DeviceTensor *t = program->tensors[operands[k] - 1];
    const dp_type *type = c->graph->values[t->value]->type;
    const double whole = (double)dp_shape_count(&type->shape, c->model->batch) * (double)dp_type_bytes(type->dtype);
    s->all += (double)t->bytes;
    s->largest = fmax(s->largest, (double)t->bytes);
    if (whole > 0) s->share = fmin(s->share, (double)t->bytes / whole);
  }
}

// When a node's operations are divided, one of its operands or results is divided too.
static double step_ns(const clocking *c, const Dp__Program *program, const Dp__Instruction *in) {
  sizes s = {.share = 1};
  add_sizes(c, program, in->n_inputs, in->inputs, &s);
  add_sizes(c, program, in->n_outputs, in->outputs, &s);
  if (!in->communication)
    return dp_cost_model_compute_ns(c->costs, dp_op_cost(c->graph->nodes[in->nodes[0]], c->model->batch), s.share);
  bool local = !in->communication->n_axes || !strcmp(in->op, "Slice") || !strcmp(in->op, "Accumulate");
  return local ? c->costs->start_ns + s.all / c->costs->bytes_per_ns : dp_cost_model_latency_ns(c->costs, s.largest);
}

static dp_status print(void *arg) {
  clocking *c = arg;
  const Dp__Role *role = c->plan->roles[0];
  size_t index = 0;
  while (index < role->n_programs && strcmp(role->programs[index]->name, "train")) index++;
  if (index == role->n_programs) index = 0;
  dp_graph *graph;
  DP_TRY(dp_plan_model(c->arena, c->plan, &c->model));
  DP_TRY(dp_proto_to_graph(c->model, c->plan->graphs[role->programs[index]->graph], &graph));
  c->graph = graph;
  dp_plan_steps steps = dp_plan_steps_make(c->arena, c->plan, index);
  double *busy = dp_alloc_n(c->arena, c->plan->n_roles, sizeof *busy), all = 0;
  for (uint32_t i = 0; i < steps.n_steps; i++)
    steps.steps[i].ns = step_ns(c, steps.programs[steps.steps[i].role], steps.steps[i].in);
  double idle = dp_plan_stages_idle(&steps, dp_plan_steps_run(&steps), busy);
  for (size_t r = 0; r < c->plan->n_roles; r++) all += busy[r];
  fputs("  computation by stage:", c->out);
  for (size_t r = 0; r < c->plan->n_roles; r++) fprintf(c->out, " %.1f %%", all > 0 ? 100 * busy[r] / all : 0);
  fprintf(c->out, "; by dpc's rough cost model, transfers included, a stage is idle for %.1f %% of a step\n",
          100 * idle);
  return DP_OK;
}

dp_status dp_why_balance_print(const Dp__Plan *plan, const dp_target_costs *costs, FILE *out) {
  if (plan->n_roles == 1) return DP_OK;
  clocking c = {.plan = plan, .costs = costs, .out = out, .arena = dp_arena_create(0)};
  if (!c.arena) return dp_fail(DP_EX_MEMORY, "out of memory");
  dp_status status = dp_arena_run(c.arena, print, &c);
  dp_arena_destroy(c.arena);
  return status;
}
