// A plan as a listing: head, memory, and each step of its programs. See print.h.
#include "ir/plan/report/print.h"

#include <inttypes.h>
#include <string.h>

#include "ir/file/proto.h"
#include "ir/graph/op.h"
#include "ir/plan/layout.h"
#include "ir/plan/options.h"
#include "ir/plan/plan.h"
#include "ir/plan/report/stages.h"
#include "ir/text/syntax.h"

typedef struct {
  FILE *out;
  dp_arena *arena;
  const Dp__Plan *plan;
  const Dp__Role *role;
  const Dp__Program *program;
  const dp_plan_notes *notes;
} printer;

// The plan's form was checked (ir/plan/form.h), its embedded models were not: invalid parts print as ?.
static const char *const spaces[] = {"none",        "persistent", "transient", "host input",  "host output",
                                     "peer window", "offload",    "inside",    "device input"};

// ---- small things ---------------------------------------------------------------------------------------------------

static void print_type(const printer *p, const Dp__TensorType *message) {
  dp_type type;
  dp_status status = dp_proto_to_type(message, &type);
  if (status)
    fputs("?", p->out);
  else
    dp_text_print_type(p->out, &type, *p->plan->symbol ? p->plan->symbol : "N");
  dp_status_free(status);
}

static void print_placements(const printer *p, size_t count, Dp__Placement *const *messages) {
  for (size_t a = 0; a < count; a++) {
    dp_placement placement;
    char text[64] = "?";
    dp_status status = dp_proto_to_placement(messages[a], &placement);
    if (!status) dp_placement_print(placement, text, sizeof text);
    dp_status_free(status);
    fprintf(p->out, "%s%s", a ? "," : " [", text);
  }
  if (count) fputs("]", p->out);
}

static void print_attributes(const printer *p, const Dp__Instruction *in) {
  dp_attr *attrs;
  int count;
  if (!in->n_attributes) return;
  dp_status status = dp_proto_to_attrs(p->arena, in->n_attributes, in->attributes, &count, &attrs);
  for (int i = 0; !status && i < count; i++) {
    fputs(i ? ", " : " {", p->out);
    dp_text_print_attr(p->out, &attrs[i], *p->plan->symbol ? p->plan->symbol : "N");
  }
  fputs(status ? " {?}" : "}", p->out);
  dp_status_free(status);
}

// " of micro-batch 2", " of micro-batches 0..3"
static void print_micro(const printer *p, const Dp__MicroSet *set) {
  if (!set || !set->count) return;
  fprintf(p->out, " of micro-batch%s %u", set->count > 1 ? "es" : "", set->first);
  if (set->count > 1) fprintf(p->out, "..%u", set->first + set->count - 1);
}

// "persistent +4096, 256 bytes"
static void print_bytes(const printer *p, Dp__Space space, uint64_t offset, uint64_t bytes) {
  fprintf(p->out, " %s", spaces[space]);
  if (space != DP__SPACE__INSIDE) fprintf(p->out, " +%" PRIu64 ", %" PRIu64 " bytes", offset, bytes);
}

// ---- instructions ---------------------------------------------------------------------------------------------------

static const char *value_name(const printer *p, uint32_t tensor) {
  return p->plan->graphs[p->program->graph]->values[p->program->tensors[tensor]->value]->name;
}

static void print_operand(const printer *p, const char *arrow, uint32_t number) {
  if (!number) return;
  const Dp__DeviceTensor *t = p->program->tensors[number - 1];
  const Dp__Value *value = p->plan->graphs[p->program->graph]->values[t->value];
  fprintf(p->out, "           %s ", arrow);
  dp_text_print_name(p->out, value->name);
  if (t->version) fprintf(p->out, "'%u", t->version);
  fputs(": ", p->out);
  if (value->type)
    print_type(p, value->type);
  else
    fputs(dp_type_name((dp_dtype)t->dtype), p->out);
  print_placements(p, t->n_placements, t->placements);
  if (t->layout != DP__LAYOUT__PLAIN) fprintf(p->out, " %s", dp_text_layouts[dp_plan_to_layout(t->layout)]);
  print_micro(p, t->micro);
  print_bytes(p, t->space, t->offset, t->bytes);
  fputc('\n', p->out);
}

// ", over pipe, channel 3, with stage 2"
static void print_communication(const printer *p, const Dp__Communication *c) {
  for (size_t i = 0; i < c->n_axes; i++) fprintf(p->out, ", over %s", p->plan->mesh[c->axes[i]]->name);
  if (c->reduction) fputs(", maximum", p->out);
  if (c->channel) fprintf(p->out, ", channel %u", c->channel);
  for (size_t i = 0; i < c->n_peer; i++) {
    const Dp__MeshAxis *axis = p->plan->mesh[c->peer[i]->axis];
    int64_t other = (p->role->devices[c->peer[i]->axis]->first + c->peer[i]->offset % axis->size) % axis->size;
    fprintf(p->out, ", with %s %" PRId64, strcmp(axis->name, DP_MESH_PIPE) ? axis->name : "stage", other);
  }
}

// "dp.Scale {by=2} node s"
static void print_computation(const printer *p, const Dp__Instruction *in) {
  fprintf(p->out, "%s%s%s", in->domain, *in->domain ? "." : "", in->op);
  print_attributes(p, in);
  for (size_t i = 0; i < in->n_nodes && !in->n_members; i++) {
    fputs(" node ", p->out);
    dp_text_print_name(p->out, p->plan->graphs[p->program->graph]->nodes[in->nodes[i]]->name);
  }
}

static void print_names(const printer *p, size_t count, const uint32_t *operands) {
  for (size_t i = 0; i < count; i++) {
    if (i) fputs(", ", p->out);
    if (operands[i])
      dp_text_print_name(p->out, value_name(p, operands[i] - 1));
    else
      fputc('_', p->out);
  }
}

// "y = Add node sum (x, b)", a line each.
static void print_members(const printer *p, const Dp__Instruction *in) {
  for (size_t i = 0; i < in->n_members; i++) {
    const Dp__Instruction *member = in->members[i];
    fputs("           | ", p->out);
    print_names(p, member->n_outputs, member->outputs);
    fputs(" = ", p->out);
    print_computation(p, member);
    fputs(" (", p->out);
    print_names(p, member->n_inputs, member->inputs);
    fputs(")\n", p->out);
  }
}

static void print_instruction(const printer *p, size_t index, const Dp__Instruction *in) {
  FILE *out = p->out;
  fprintf(out, "      %4zu ", index);
  print_computation(p, in);
  if (*in->kernel) fprintf(out, ", kernel %s", in->kernel);
  if (in->threads > 1) fprintf(out, ", %u threads", in->threads);
  if (in->communication) print_communication(p, in->communication);
  for (size_t i = 0; i < in->n_waits; i++) fprintf(out, "%s %u", i ? "" : ", waits for", in->waits[i]);
  if (in->signal) fprintf(out, ", signals %u", in->signal - 1);
  fputc('\n', out);
  print_members(p, in);
  for (size_t i = 0; i < in->n_inputs; i++) print_operand(p, "<-", in->inputs[i]);
  for (size_t i = 0; i < in->n_outputs; i++) print_operand(p, "->", in->outputs[i]);
  if (in->scratch && in->scratch->bytes) {
    fputs("           scratch", out);
    print_bytes(p, DP__SPACE__TRANSIENT, in->scratch->offset, in->scratch->bytes);
    fputc('\n', out);
  }
  if (in->packed) {
    fprintf(out, "           packed operand %u", in->packed->operand);
    print_bytes(p, DP__SPACE__PERSISTENT, in->packed->offset, in->packed->bytes);
    fputc('\n', out);
  }
  if (p->notes) p->notes->print(p->notes->context, p->program, in, out);
}

// ---- programs -------------------------------------------------------------------------------------------------------

static void print_bindings(const printer *p, const char *what, size_t count, Dp__Binding *const *bindings) {
  for (size_t i = 0; i < count; i++) {
    fprintf(p->out, "    %s ", what);
    dp_text_print_name(p->out, bindings[i]->name);
    const Dp__DeviceTensor *t = p->program->tensors[bindings[i]->tensor];
    const Dp__Value *value = p->plan->graphs[p->program->graph]->values[t->value];
    fputs(": ", p->out);
    if (value->type)
      print_type(p, value->type);
    else
      fputs(dp_type_name((dp_dtype)t->dtype), p->out);
    print_bytes(p, t->space, t->offset, t->bytes);
    fputc('\n', p->out);
  }
}

static void print_program(printer *p, const Dp__Program *program) {
  p->program = program;
  fprintf(p->out, "  program %s: graph '%s', %zu tensors, %zu streams, %u events\n", program->name,
          p->plan->graphs[program->graph]->name, program->n_tensors, program->n_streams, program->events);
  print_bindings(p, "input", program->n_inputs, program->inputs);
  for (size_t s = 0; s < program->n_streams; s++) {
    fprintf(p->out, "    stream %s%s\n", program->streams[s]->name, program->streams[s]->ahead ? ", ahead" : "");
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++)
      print_instruction(p, i, program->streams[s]->instructions[i]);
  }
  print_bindings(p, "output", program->n_outputs, program->outputs);
  for (size_t i = 0; i < program->n_exit; i++) {
    fputs("    leaves ", p->out);
    dp_text_print_name(p->out, p->plan->variables[program->exit[i]->variable]->name);
    fputs(" as ", p->out);
    dp_text_print_name(p->out, value_name(p, program->exit[i]->value));
    fputc('\n', p->out);
  }
}

static void print_role(printer *p, const Dp__Role *role) {
  p->role = role;
  fprintf(p->out, "role %s:", role->name);
  for (size_t a = 0; a < role->n_devices; a++)
    fprintf(p->out, " %s %" PRId64 "..%" PRId64, p->plan->mesh[a]->name, role->devices[a]->first,
            role->devices[a]->first + role->devices[a]->count - 1);
  fputc('\n', p->out);
  for (size_t i = 0; i < role->n_arenas; i++) {
    const Dp__Arena *arena = role->arenas[i];
    fprintf(p->out, "  arena %s: %" PRIu64 " bytes, aligned to %u", spaces[arena->space], arena->bytes,
            arena->alignment);
    if (arena->copies > 1) fprintf(p->out, ", %u copies", arena->copies);
    fputc('\n', p->out);
  }
  for (size_t i = 0; i < role->n_programs; i++) print_program(p, role->programs[i]);
}

// ---- plan -----------------------------------------------------------------------------------------------------------

static void print_text(const printer *p, const char *what, const char *text) {
  if (*text) fprintf(p->out, "  %s %s\n", what, text);
}

static void print_learning_rate(const printer *p, const Dp__Schedule *s) {
  fprintf(p->out, "  learning rate %g, %s", s->lr, s->kind);
  if (s->step_size) fprintf(p->out, ", times %g every %" PRIu64 " steps", s->gamma, s->step_size);
  if (s->warmup) fprintf(p->out, ", warm-up %" PRIu64, s->warmup);
  if (s->total) fprintf(p->out, ", total %" PRIu64, s->total);
  if (s->min_lr != 0) fprintf(p->out, ", at least %g", s->min_lr);
  for (size_t i = 0; i < s->n_milestones; i++)
    fprintf(p->out, "%s%" PRIu64, i ? ", " : ", milestones ", s->milestones[i]);
  if (s->period) fprintf(p->out, ", period %" PRIu64, s->period);
  if (s->decay) fprintf(p->out, ", decay %" PRIu64, s->decay);
  fputc('\n', p->out);
}

static void print_options(const printer *p) {
  if (!p->plan->options) return;
  fputs("  compiled with", p->out);
  dp_plan_options_print(p->arena, p->plan->options, false, NULL, p->out);
  fputs("\n  by default", p->out);
  dp_plan_options_print(p->arena, p->plan->options, true, NULL, p->out);
  fputc('\n', p->out);
}

static void print_calibration(const printer *p, const Dp__Calibration *c) {
  fprintf(p->out, "  %zu calls of libraries measured on %s", c->n_choices, c->device);
  for (size_t i = 0; i < c->n_libraries; i++) fprintf(p->out, ", %s", c->libraries[i]);
  fputc('\n', p->out);
  for (size_t i = 0; i < c->n_choices; i++) fprintf(p->out, "    %s: %s\n", c->choices[i]->call, c->choices[i]->choice);
}

static void print_head(const printer *p) {
  const Dp__Plan *plan = p->plan;
  int64_t devices = 1;
  fputs("plan ", p->out);
  dp_text_print_name(p->out, *plan->name ? plan->name : "model");
  fprintf(p->out, ": batch %" PRId64 ", mesh", plan->batch);
  for (size_t a = 0; a < plan->n_mesh; a++) {
    fprintf(p->out, " %s=%" PRId64, plan->mesh[a]->name, plan->mesh[a]->size);
    // Micro-batches run one after the other on the same devices.
    if (strcmp(plan->mesh[a]->name, DP_MESH_MICRO)) devices *= plan->mesh[a]->size;
  }
  fprintf(p->out, " (%" PRId64 " device%s)\n", devices, devices == 1 ? "" : "s");
  print_text(p, "made by", plan->producer);
  print_options(p);
  print_text(p, "strategy", plan->strategy);
  print_text(p, "loss", plan->loss);
  print_text(p, "optimizer", plan->optimizer);
  if (plan->precision) fprintf(p->out, "  precision %s\n", dp_type_name((dp_dtype)plan->precision));
  if (plan->tf32) fputs("  fast math: products and convolutions may round operands in float32 to TF32\n", p->out);
  if (plan->winograd) fputs("  fast math: convolutions in float32 may be Winograd's\n", p->out);
  if (plan->target)
    fprintf(p->out, "  target %s%s%s, at most %u thread%s an instruction\n", plan->target->backend,
            *plan->target->isa ? " " : "", plan->target->isa, plan->target->threads,
            plan->target->threads == 1 ? "" : "s");
  if (plan->calibration) print_calibration(p, plan->calibration);
  if (plan->schedule && *plan->schedule->kind) print_learning_rate(p, plan->schedule);
}

static void print_variable(const printer *p, const Dp__Variable *variable) {
  static const char *const kinds[] = {"parameter", "buffer", "state", "stored constant"};
  fprintf(p->out, "  %s ", (unsigned)variable->kind < DP_COUNT(kinds) ? kinds[variable->kind] : "?");
  dp_text_print_name(p->out, variable->name);
  fputs(": ", p->out);
  print_type(p, variable->type);
  print_placements(p, variable->n_placements, variable->placements);
  if (variable->layout) fprintf(p->out, " %s", dp_text_layouts[dp_plan_to_layout(variable->layout)]);
  print_bytes(p, variable->offloaded ? DP__SPACE__OFFLOAD : DP__SPACE__PERSISTENT, variable->offset, variable->bytes);
  for (size_t i = 0; i < variable->n_stages; i++)
    fprintf(p->out, "%s%u", i ? ", " : ", on stage ", variable->stages[i]);
  fputs(variable->frozen ? ", frozen\n" : "\n", p->out);
}

static dp_status print_plan(void *arg) {
  printer *p = arg;
  print_head(p);
  if (p->plan->n_variables) fputs("variables\n", p->out);
  for (size_t i = 0; i < p->plan->n_variables; i++) print_variable(p, p->plan->variables[i]);
  for (size_t i = 0; i < p->plan->n_roles; i++) print_role(p, p->plan->roles[i]);
  return DP_OK;
}

void dp_plan_print(const Dp__Plan *plan, const dp_plan_notes *notes, FILE *out) {
  printer p = {.out = out, .arena = dp_arena_create(0), .plan = plan, .notes = notes};
  dp_status status = p.arena ? dp_arena_run(p.arena, print_plan, &p) : DP_OK;
  if (status || !p.arena) fputs("out of memory\n", out);
  dp_status_free(status);
  dp_arena_destroy(p.arena);
  dp_plan_stages_print(plan, out);
}
