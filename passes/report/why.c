// See why.h. The bytes that a device moves follow from the operator: an all-reduce over p devices sends and receives 2
// (p - 1) / p of its bytes, half of that to scatter and half to gather (Patarasuk and Yuan, "Bandwidth optimal
// all-reduce algorithms", 2009).
#include "passes/report/why.h"

#include <inttypes.h>
#include <string.h>

#include "ir/file/proto.h"
#include "ir/ops/common.h"
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

typedef enum {
  AMONG,  // p devices: moves (p - 1) / p of the larger of operand and result
  PEER,   // one other device: the whole
  HOST,   // host and device: the device's part
} moves_between;

static const struct {
  const char *op;
  moves_between between;
  double passes;
} moves[] = {{"AllReduce", AMONG, 2}, {"ReduceScatter", AMONG, 1}, {"AllGather", AMONG, 1},
             {"AllToAll", AMONG, 1},  {"Send", PEER, 1},           {"Recv", PEER, 1},
             {"Scatter", HOST, 1},    {"Broadcast", HOST, 1},      {"Gather", HOST, 1}};

typedef struct {
  size_t count;
  double bytes;
} moved;

static uint64_t operand_bytes(const Dp__Program *program, size_t count, const uint32_t *operands, size_t k) {
  return k < count && operands[k] ? program->tensors[operands[k] - 1]->bytes : 0;
}

static double bytes_of(const Dp__Program *program, const Dp__Instruction *in, moves_between between) {
  double bytes = 0;
  for (size_t k = 0; k < in->n_inputs; k++) {
    uint64_t from = operand_bytes(program, in->n_inputs, in->inputs, k);
    uint64_t to = operand_bytes(program, in->n_outputs, in->outputs, k);
    bytes += (double)((from > to) == (between != HOST) ? from : to);
  }
  return bytes;
}

static void count_moved(const Dp__Plan *plan, const Dp__Program *program, const Dp__Instruction *in, moved *table) {
  size_t axis = in->communication->n_axes ? in->communication->axes[0] : 0;
  for (size_t m = 0; m < DP_COUNT(moves); m++) {
    if (strcmp(moves[m].op, in->op)) continue;
    double p = axis < plan->n_mesh ? (double)plan->mesh[axis]->size : 1;
    moved *entry = &table[(moves[m].between == HOST ? 0 : axis) * DP_COUNT(moves) + m];
    entry->count++;
    entry->bytes +=
        moves[m].passes * (moves[m].between == AMONG ? (p - 1) / p : 1) * bytes_of(program, in, moves[m].between);
  }
}

static void print_program(const Dp__Plan *plan, const Dp__Role *role, const Dp__Program *program, FILE *out) {
  moved table[DP_MAX_MESH * DP_COUNT(moves)] = {{0, 0}};
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
    const bool host = moves[i % DP_COUNT(moves)].between == HOST;
    fprintf(out, "  %-14s %-17s %4zu times %12s\n", moves[i % DP_COUNT(moves)].op,
            host ? "host" : plan->mesh[i / DP_COUNT(moves)]->name, table[i].count,
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
