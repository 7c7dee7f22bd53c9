// See traffic.h.
#include "passes/report/traffic.h"

#include "ir/graph/op.h"
#include "ir/plan/report/stages.h"

static bool updates(const dp_op *op) { return dp_op_is(op, DP_OP_UPDATE); }
static bool elementwise(const dp_op *op) { return dp_op_is(op, DP_OP_ELEMENTWISE) && !dp_op_is(op, DP_OP_POSITIONAL); }
static bool rows(const dp_op *op) { return elementwise(op) || op->row; }
static bool channels(const dp_op *op) { return elementwise(op) || dp_op_is(op, DP_OP_CHANNELS); }

// An instruction is of the first kind that all its operators belong to; the last kind takes the rest.
static const struct {
  const char *name;
  bool (*has)(const dp_op *op);
} kinds[] = {
    {"updates", updates}, {"elementwise", elementwise}, {"rows", rows}, {"channels", channels}, {"others", NULL}};

typedef struct {
  size_t count;
  double bytes;
} passed_over;

static bool is_of(const Dp__Instruction *in, size_t kind) {
  for (size_t m = 0; m < in->n_members; m++)
    if (!is_of(in->members[m], kind)) return false;
  const dp_op *op = dp_op_find(in->domain, in->op);
  return in->n_members || (op && kinds[kind].has(op));
}

static double bytes_of(const Dp__Program *program, size_t count, const uint32_t *operands) {
  double bytes = 0;
  for (size_t i = 0; i < count; i++)
    if (operands[i]) bytes += (double)program->tensors[operands[i] - 1]->bytes;
  return bytes;
}

static void count_instruction(const Dp__Program *program, const Dp__Instruction *in, passed_over *table) {
  size_t k = 0;
  while (k + 1 < DP_COUNT(kinds) && !is_of(in, k)) k++;
  table[k].count++;
  table[k].bytes += bytes_of(program, in->n_inputs, in->inputs) + bytes_of(program, in->n_outputs, in->outputs);
}

void dp_why_traffic_print(const Dp__Program *program, FILE *out) {
  passed_over table[DP_COUNT(kinds)] = {{0, 0}};
  char text[32];
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++) {
      const Dp__Instruction *in = program->streams[s]->instructions[i];
      if (!in->communication) count_instruction(program, in, table);
    }
  fputs("  its computations read and write\n", out);
  for (size_t k = 0; k < DP_COUNT(kinds); k++)
    if (table[k].count)
      fprintf(out, "  %-32s %4zu times %12s\n", kinds[k].name, table[k].count,
              dp_plan_stages_bytes(table[k].bytes, text));
}
