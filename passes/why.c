// See why.h. What a device moves follows from the operator: an all-reduce over p devices sends and receives 2 (p - 1) / p of
// its bytes, half of that to scatter and half to gather (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009).
#include "passes/why.h"

#include <inttypes.h>
#include <string.h>

#include "ir/ops/common.h"
#include "ir/proto.h"

static const char *const kinds[] = {"parameters", "buffers", "optimizer state", "constants"};

static const char *size_text(double bytes, char text[32]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t u = 0;
  for (; bytes >= 1024 && u + 1 < DP_COUNT(units); u++) bytes /= 1024;
  snprintf(text, 32, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
  return text;
}

// ---- what lies where ------------------------------------------------------------------------------------------------

static double whole_bytes(const Dp__Persistent *p) {
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

static void print_persistents(const Dp__Plan *plan, FILE *out) {
  double held[DP_COUNT(kinds)] = {0}, whole[DP_COUNT(kinds)] = {0};
  char a[32], b[32];
  fputs("\nwhat lies where\n", out);
  for (size_t i = 0; i < plan->n_persistents; i++) {
    const Dp__Persistent *p = plan->persistents[i];
    held[p->kind] += (double)p->bytes;
    whole[p->kind] += whole_bytes(p);
    if (p->kind) continue;
    fprintf(out, "  %-32s ", p->name);
    print_placements(p->n_placements, p->placements, out);
    fprintf(out, " %s of %s\n", size_text((double)p->bytes, a), size_text(whole_bytes(p), b));
  }
  fputs("\na device holds\n", out);
  for (size_t k = 0; k < DP_COUNT(kinds); k++)
    if (whole[k] > 0) fprintf(out, "  %-32s %s of %s\n", kinds[k], size_text(held[k], a), size_text(whole[k], b));
}

static void print_arenas(const Dp__Plan *plan, FILE *out) {
  uint64_t transient = 0;
  char text[32];
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t i = 0; i < plan->roles[r]->n_arenas; i++) {
      const Dp__Arena *arena = plan->roles[r]->arenas[i];
      if (arena->space == DP__SPACE__TRANSIENT && arena->bytes > transient) transient = arena->bytes;
    }
  fprintf(out, "  %-32s %s\n", "activations, gradients, scratch", size_text((double)transient, text));
}

// ---- what is moved --------------------------------------------------------------------------------------------------

// Of the bytes that a device has, the larger of operand and result: how many of p devices' passes over the link.
static const struct {
  const char *op;
  double passes;  // times (p - 1) / p
  bool host;      // moved between host and device, whole
} moves[] = {{"AllReduce", 2, false}, {"ReduceScatter", 1, false}, {"AllGather", 1, false}, {"AllToAll", 1, false},
             {"Scatter", 1, true},    {"Broadcast", 1, true},      {"Gather", 1, true}};

typedef struct {
  size_t count;
  double bytes;
} moved;

static double bytes_of(const Dp__Program *program, const Dp__Instruction *in) {
  double bytes = 0;
  for (size_t k = 0; k < in->n_inputs; k++) {
    uint64_t from = in->inputs[k] ? program->tensors[in->inputs[k] - 1]->bytes : 0;
    uint64_t to = k < in->n_outputs && in->outputs[k] ? program->tensors[in->outputs[k] - 1]->bytes : 0;
    bytes += (double)(from > to ? from : to);
  }
  return bytes;
}

// Of a host transfer a device has the smaller part.
static double part_of(const Dp__Program *program, const Dp__Instruction *in) {
  uint64_t from = program->tensors[in->inputs[0] - 1]->bytes, to = program->tensors[in->outputs[0] - 1]->bytes;
  return (double)(from < to ? from : to);
}

static void count(const Dp__Plan *plan, const Dp__Program *program, const Dp__Instruction *in, moved *table) {
  size_t axis = in->communication->n_axes ? in->communication->axes[0] : 0;
  for (size_t m = 0; m < DP_COUNT(moves); m++) {
    if (strcmp(moves[m].op, in->op)) continue;
    double p = moves[m].host || axis >= plan->n_mesh ? 1 : (double)plan->mesh[axis]->size;
    moved *entry = &table[(moves[m].host ? 0 : axis) * DP_COUNT(moves) + m];
    entry->count++;
    entry->bytes += moves[m].host ? part_of(program, in) : moves[m].passes * (p - 1) / p * bytes_of(program, in);
  }
}

static void print_program(const Dp__Plan *plan, const Dp__Program *program, FILE *out) {
  moved table[DP_MAX_MESH * DP_COUNT(moves)] = {{0, 0}};
  char text[32];
  size_t computations = 0;
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++) {
      const Dp__Instruction *in = program->streams[s]->instructions[i];
      if (in->communication)
        count(plan, program, in, table);
      else
        computations++;
    }
  fprintf(out, "\n%s: %zu computations; a device moves\n", program->name, computations);
  for (size_t i = 0; i < DP_COUNT(table); i++) {
    if (!table[i].count) continue;
    const char *axis = moves[i % DP_COUNT(moves)].host ? "host" : plan->mesh[i / DP_COUNT(moves)]->name;
    fprintf(out, "  %-14s %-17s %4zu times %12s\n", moves[i % DP_COUNT(moves)].op, axis, table[i].count,
            size_text(table[i].bytes, text));
  }
}

void dp_why_print(const Dp__Plan *plan, FILE *out) {
  fprintf(out, "strategy %s on", plan->strategy && *plan->strategy ? plan->strategy : "single");
  for (size_t a = 0; a < plan->n_mesh; a++)
    fprintf(out, "%s%s=%" PRId64, a ? "," : " ", plan->mesh[a]->name, plan->mesh[a]->size);
  fprintf(out, ", batch %" PRId64 "; no pipeline stages, so no device waits for another's stage\n", plan->batch);
  print_persistents(plan, out);
  print_arenas(plan, out);
  for (size_t p = 0; p < plan->roles[0]->n_programs; p++) print_program(plan, plan->roles[0]->programs[p], out);
}
