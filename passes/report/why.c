// See why.h.
#include "passes/report/why.h"

#include <inttypes.h>
#include <string.h>

#include "ir/file/proto.h"
#include "ir/ops/common.h"
#include "ir/plan/moves.h"
#include "ir/plan/report/stages.h"
#include "passes/report/balance.h"
#include "passes/report/traffic.h"

static const char *const kinds[] = {"parameters", "buffers", "optimizer state", "constants"};

// ---- what lies where ------------------------------------------------------------------------------------------------

static double whole_bytes(const Dp__Variable *p) {
  double bytes = (double)dp_type_bytes((dp_dtype)p->type->dtype);
  for (size_t d = 0; p->type->shape && d < p->type->shape->n_dims; d++)
    bytes *= (double)p->type->shape->dims[d]->offset;
  return bytes;
}

static void print_placements(size_t count, Dp__Placement *const *messages, FILE *out) {
  for (size_t a = 0; a < count; a++) {
    dp_placement at;
    char text[64];
    dp_status status = dp_proto_to_placement(messages[a], &at);
    fprintf(out, "%s%s", a ? "," : "[", status ? "?" : dp_placement_print(at, text, sizeof text));
    dp_status_free(status);
  }
  fputs("]", out);
}

static void print_variables(const Dp__Plan *plan, FILE *out) {
  char a[32], b[32];
  fputs("\nwhat lies where\n", out);
  for (size_t i = 0; i < plan->n_variables; i++) {
    const Dp__Variable *p = plan->variables[i];
    if (p->kind) continue;
    fprintf(out, "  %-32s ", p->name);
    print_placements(p->n_placements, p->placements, out);
    fprintf(out, " %s of %s", dp_plan_stages_bytes((double)p->bytes, a), dp_plan_stages_bytes(whole_bytes(p), b));
    for (size_t s = 0; s < p->n_stages; s++) fprintf(out, "%s%u", s ? ", " : ", stage ", p->stages[s]);
    fputc('\n', out);
  }
}

static bool has(const Dp__Variable *p, size_t stage) {
  bool found = !p->n_stages;
  for (size_t i = 0; i < p->n_stages; i++) found |= p->stages[i] == stage;
  return found;
}

// For each kind, what a device holds, on the stage that holds the most.
static void print_held(const Dp__Plan *plan, FILE *out) {
  char a[32], b[32];
  uint64_t transient = 0, inputs = 0;
  fputs("\na device holds\n", out);
  for (size_t k = 0; k < DP_COUNT(kinds); k++) {
    double most = 0, whole = 0;
    for (size_t i = 0; i < plan->n_variables; i++)
      if ((size_t)plan->variables[i]->kind == k) whole += whole_bytes(plan->variables[i]);
    for (size_t r = 0; r < plan->n_roles; r++) {
      double held = 0;
      for (size_t i = 0; i < plan->n_variables; i++)
        if ((size_t)plan->variables[i]->kind == k && has(plan->variables[i], r))
          held += (double)plan->variables[i]->bytes;
      if (held > most) most = held;
    }
    if (whole > 0)
      fprintf(out, "  %-32s %s of %s\n", kinds[k], dp_plan_stages_bytes(most, a), dp_plan_stages_bytes(whole, b));
  }
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t i = 0; i < plan->roles[r]->n_arenas; i++) {
      const Dp__Arena *arena = plan->roles[r]->arenas[i];
      if (arena->space == DP__SPACE__TRANSIENT && arena->bytes > transient) transient = arena->bytes;
      if (arena->space == DP__SPACE__DEVICE_INPUT && arena->bytes > inputs) inputs = arena->bytes;
    }
  fprintf(out, "  %-32s %s\n", "activations, gradients, scratch", dp_plan_stages_bytes((double)transient, a));
  if (inputs) fprintf(out, "  %-32s %s, twice\n", "inputs of a step", dp_plan_stages_bytes((double)inputs, a));
}

// ---- what is moved --------------------------------------------------------------------------------------------------

typedef struct {
  size_t count;
  double bytes;
} moved;

static uint64_t operand_bytes(const Dp__Program *program, size_t count, const uint32_t *operands, size_t k) {
  return k < count && operands[k] ? program->tensors[operands[k] - 1]->bytes : 0;
}

static double bytes_of(const Dp__Program *program, const Dp__Instruction *in, const dp_moves *moves, double p) {
  double bytes = 0;
  for (size_t k = 0; k < in->n_inputs; k++)
    bytes += dp_moves_bytes(moves, p, (double)operand_bytes(program, in->n_inputs, in->inputs, k),
                            (double)operand_bytes(program, in->n_outputs, in->outputs, k));
  return bytes;
}

static void count_moved(const Dp__Plan *plan, const Dp__Program *program, const Dp__Instruction *in, moved *table) {
  const dp_moves *moves = dp_moves_find(in->op);
  if (!moves) return;
  const size_t axis = in->communication->n_axes ? in->communication->axes[0] : 0;
  moved *entry =
      &table[(moves->between == DP_MOVES_HOST ? 0 : axis) * DP_MOVES_COUNT + (size_t)(moves - dp_moves_table)];
  entry->count++;
  entry->bytes += bytes_of(program, in, moves, axis < plan->n_mesh ? (double)plan->mesh[axis]->size : 1);
}

static void print_program(const Dp__Plan *plan, const Dp__Role *role, const Dp__Program *program, FILE *out) {
  moved table[DP_MAX_MESH * DP_MOVES_COUNT] = {{0, 0}};
  char text[32];
  size_t computations = 0;
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++) {
      const Dp__Instruction *in = program->streams[s]->instructions[i];
      if (in->communication)
        count_moved(plan, program, in, table);
      else
        computations++;
    }
  fprintf(out, "\n%s%s%s: %zu computations; a device moves\n", program->name, plan->n_roles > 1 ? ", " : "",
          plan->n_roles > 1 ? role->name : "", computations);
  for (size_t i = 0; i < DP_COUNT(table); i++) {
    if (!table[i].count) continue;
    const dp_moves *moves = &dp_moves_table[i % DP_MOVES_COUNT];
    fprintf(out, "  %-14s %-17s %4zu times %12s\n", moves->op,
            moves->between == DP_MOVES_HOST ? "host" : plan->mesh[i / DP_MOVES_COUNT]->name, table[i].count,
            dp_plan_stages_bytes(table[i].bytes, text));
  }
  if (computations) dp_why_traffic_print(program, out);
}

dp_status dp_why_print(const Dp__Plan *plan, const dp_target *target, FILE *out) {
  fprintf(out, "strategy %s on", *plan->strategy ? plan->strategy : "that it does not name");
  for (size_t a = 0; a < plan->n_mesh; a++)
    fprintf(out, "%s%s=%" PRId64, a ? "," : " ", plan->mesh[a]->name, plan->mesh[a]->size);
  fprintf(out, ", batch %" PRId64 "%s\n", plan->batch,
          plan->n_roles > 1 ? "" : "; no pipeline stages, so no device waits for another's stage");
  print_variables(plan, out);
  print_held(plan, out);
  dp_plan_stages_print(plan, out);
  DP_TRY(dp_why_balance_print(plan, &target->costs, out));
  for (size_t p = 0; p < plan->roles[0]->n_programs; p++)
    for (size_t r = 0; r < plan->n_roles; r++) print_program(plan, plan->roles[r], plan->roles[r]->programs[p], out);
  return DP_OK;
}
