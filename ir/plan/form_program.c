// The form of a plan's programs: tensors, streams, instructions, bindings. See form.h.
#include <stdio.h>
#include <string.h>

#include "ir/base/limits.h"
#include "ir/graph/op.h"
#include "ir/plan/form_private.h"

typedef struct {
  dp_fault *fault;
  const Dp__Plan *plan;
  const Dp__Role *role;
  const Dp__Program *program;
  const Dp__Graph *graph;
} form;

const char *dp_plan_form_space(Dp__Space space) {
  static const char *const names[] = {NULL,          "persistent", "transient", "host input",  "host output",
                                      "peer window", "offload",    "no",        "device input"};
  return (unsigned)space < DP_COUNT(names) ? names[space] : NULL;
}

dp_status dp_plan_form_range(dp_fault *fault, const Dp__Role *role, Dp__Space space, uint64_t offset, uint64_t bytes,
                             const char *what) {
  const Dp__Arena *arena = dp_plan_form_arena(role, space);
  const char *name = dp_plan_form_space(space);
  if (!name) return dp_rule_fail(fault, DP_RULE_FORM_NAME, "%s lies in an unknown memory", what);
  if (!arena) return dp_rule_fail(fault, DP_RULE_FORM_RANGE, "%s lies in %s memory, which has no arena", what, name);
  if (offset > arena->bytes || bytes > arena->bytes - offset)
    return dp_rule_fail(fault, DP_RULE_FORM_RANGE, "%s: %llu bytes at %llu leave the %s arena of %llu bytes", what,
                        (unsigned long long)bytes, (unsigned long long)offset, name, (unsigned long long)arena->bytes);
  if (offset % arena->alignment)
    return dp_rule_fail(fault, DP_RULE_FORM_ALIGN, "%s: offset %llu is not a multiple of the %s arena's alignment, %u",
                        what, (unsigned long long)offset, name, arena->alignment);
  return DP_OK;
}

static bool uses(size_t count, const uint32_t *indices, size_t tensor) {
  for (size_t i = 0; i < count; i++)
    if (indices[i] == tensor + 1) return true;
  return false;
}

bool dp_plan_form_user(const Dp__Program *program, size_t tensor, uint32_t *stream, uint32_t *instruction) {
  for (uint32_t s = 0; s < program->n_streams; s++)
    for (uint32_t i = 0; i < program->streams[s]->n_instructions; i++) {
      const Dp__Instruction *in = program->streams[s]->instructions[i];
      if (!uses(in->n_inputs, in->inputs, tensor) && !uses(in->n_outputs, in->outputs, tensor)) continue;
      *stream = s;
      *instruction = i;
      return true;
    }
  return false;
}

void dp_plan_form_fault_at(dp_fault *fault, const Dp__Program *program, uint32_t stream, uint32_t instruction) {
  const Dp__Instruction *in = program->streams[stream]->instructions[instruction];
  fault->stream = program->streams[stream]->name;
  fault->instruction = instruction;
  fault->op = in->op;
  fault->op_domain = in->domain;
}

// ---- tensors --------------------------------------------------------------------------------------------------------

// what: for messages.
static dp_status check_tensor(const form *f, size_t i, const char *what) {
  const Dp__DeviceTensor *t = f->program->tensors[i];
  if (t->value >= f->graph->n_values)
    return dp_rule_fail(f->fault, DP_RULE_FORM_INDEX, "tensor %zu is value %u of %zu", i, t->value, f->graph->n_values);
  if (t->n_placements != f->plan->n_mesh)
    return dp_rule_fail(f->fault, DP_RULE_FORM_INDEX, "%s has %zu placements on a mesh of %zu axes", what,
                        t->n_placements, f->plan->n_mesh);
  if (t->dtype < 0 || !dp_type_bytes((dp_dtype)t->dtype))
    return dp_rule_fail(f->fault, DP_RULE_FORM_NAME, "%s has element type %d, which is unknown", what, t->dtype);
  if (t->layout < DP__LAYOUT__PLAIN || t->layout > DP__LAYOUT__OIHW16I32O)
    return dp_rule_fail(f->fault, DP_RULE_FORM_NAME, "%s has an unknown layout", what);
  if (t->space != DP__SPACE__INSIDE) return dp_plan_form_range(f->fault, f->role, t->space, t->offset, t->bytes, what);
  if (t->offset || t->bytes)
    return dp_rule_fail(f->fault, DP_RULE_FORM_RANGE, "%s is inside a region, where it has no bytes", what);
  return DP_OK;
}

// A fault is reported with the instruction that has the tensor.
static dp_status check_tensors(const form *f) {
  for (size_t i = 0; i < f->program->n_tensors; i++) {
    dp_status status = check_tensor(f, i, "");
    if (!status) continue;
    dp_status_free(status);
    const uint32_t value = f->program->tensors[i]->value;
    char what[256];
    snprintf(what, sizeof what, "tensor %zu ('%.200s')", i,
             value < f->graph->n_values ? f->graph->values[value]->name : "");
    uint32_t stream, instruction;
    if (dp_plan_form_user(f->program, i, &stream, &instruction))
      dp_plan_form_fault_at(f->fault, f->program, stream, instruction);
    return check_tensor(f, i, what);
  }
  return DP_OK;
}

// ---- instructions ---------------------------------------------------------------------------------------------------

static dp_status check_indices(const form *f, const char *what, size_t count, const uint32_t *indices, size_t limit,
                               uint32_t plus) {
  for (size_t i = 0; i < count; i++)
    if (indices[i] >= limit + plus)
      return dp_rule_fail(f->fault, DP_RULE_FORM_INDEX, "%s %zu is number %u of %zu", what, i, indices[i] - plus,
                          limit);
  return DP_OK;
}

// "cpu.reference.Gemm", "cpu.onednn.dp.ConvGradInput": backend, library, operator.
static bool is_kernel_name(const char *name) {
  size_t part = 0, parts = 1;
  for (const char *c = name; *c; c++) {
    bool word = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_';
    if (!word && *c != '.') return false;
    if (!word && !part) return false;
    parts += !word;
    part = word ? part + 1 : 0;
  }
  return part && parts >= 3;
}

static dp_status check_communication(const form *f, const Dp__Communication *c) {
  DP_TRY(check_indices(f, "axis", c->n_axes, c->axes, f->plan->n_mesh, 0));
  for (size_t i = 1; i < c->n_axes; i++)
    if (c->axes[i] <= c->axes[i - 1])
      return dp_rule_fail(f->fault, DP_RULE_FORM_NAME, "its axes are not in rising order");
  if (c->reduction != DP_SUM && c->reduction != DP_MAX)
    return dp_rule_fail(f->fault, DP_RULE_FORM_NAME, "reduction %d is unknown", c->reduction);
  for (size_t i = 0; i < c->n_peer; i++)
    DP_TRY(check_indices(f, "the axis of peer", 1, &c->peer[i]->axis, f->plan->n_mesh, 0));
  return DP_OK;
}

// Nodes, operands and results, of an instruction or of a member.
static dp_status check_operands(const form *f, const Dp__Instruction *in, const dp_op *op) {
  const size_t limit = op->variadic_results ? DP_LIMIT_OUTPUTS : DP_MAX_OPERANDS;
  if (in->n_inputs > limit || in->n_outputs > limit || !in->n_outputs)
    return dp_rule_fail(f->fault, DP_RULE_FORM_LIMIT,
                        "%zu operands and %zu results; at most %zu of each, and at least one result", in->n_inputs,
                        in->n_outputs, limit);
  DP_TRY(check_indices(f, "node", in->n_nodes, in->nodes, f->graph->n_nodes, 0));
  DP_TRY(check_indices(f, "operand", in->n_inputs, in->inputs, f->program->n_tensors, 1));
  return check_indices(f, "result", in->n_outputs, in->outputs, f->program->n_tensors, 1);
}

static dp_status check_member(const form *f, const Dp__Instruction *member) {
  const dp_op *op = dp_op_find(member->domain, member->op);
  if (!op) return dp_rule_fail(f->fault, DP_RULE_FORM_NAME, "there is no operator '%s'", member->op);
  if (op->variadic_results || dp_op_is(op, DP_OP_COMMUNICATION))
    return dp_rule_fail(f->fault, DP_RULE_FORM_NAME, "a region cannot have %s as a member", member->op);
  if (*member->kernel || member->n_waits || member->signal || member->scratch || member->packed || member->threads ||
      member->compute_dtype || member->communication || member->n_members)
    return dp_rule_fail(f->fault, DP_RULE_FORM_NAME,
                        "its member %s has more than an operator, attributes, a node, operands and results",
                        member->op);
  return check_operands(f, member, op);
}

static dp_status check_members(const form *f, const Dp__Instruction *in, const dp_op *op) {
  const bool is_region = op->variadic_results && !dp_op_is(op, DP_OP_COMMUNICATION);
  if (in->n_members > DP_LIMIT_OUTPUTS || (in->n_members && !is_region))
    return dp_rule_fail(f->fault, DP_RULE_FORM_LIMIT,
                        "%zu members; a region has at most %d, other instructions have none", in->n_members,
                        DP_LIMIT_OUTPUTS);
  for (size_t i = 0; i < in->n_members; i++) DP_TRY(check_member(f, in->members[i]));
  return DP_OK;
}

static dp_status check_packed(const form *f, const Dp__Instruction *in) {
  const Dp__Packed *p = in->packed;
  if (!*in->kernel || in->n_members || p->operand >= in->n_inputs || !in->inputs[p->operand])
    return dp_rule_fail(f->fault, DP_RULE_FORM_INDEX,
                        "operand %u is packed; only a kernel's that is no region's and is there can be", p->operand);
  if (!p->bytes) return dp_rule_fail(f->fault, DP_RULE_FORM_MISSING, "operand %u is packed in 0 bytes", p->operand);
  return dp_plan_form_range(f->fault, f->role, DP__SPACE__PERSISTENT, p->offset, p->bytes, "its packed operand");
}

static dp_status check_instruction(const form *f, const Dp__Instruction *in) {
  const dp_op *op = dp_op_find(in->domain, in->op);
  if (!op) return dp_rule_fail(f->fault, DP_RULE_FORM_NAME, "there is no such operator");
  bool communication = dp_op_is(op, DP_OP_COMMUNICATION);
  if (communication ? *in->kernel != 0 : !is_kernel_name(in->kernel))
    return dp_rule_fail(f->fault, DP_RULE_FORM_NAME, "its kernel is '%s' where %s is expected", in->kernel,
                        communication ? "none" : "a name like cpu.reference.Gemm");
  DP_TRY(check_operands(f, in, op));
  DP_TRY(check_members(f, in, op));
  DP_TRY(check_indices(f, "event waited for", in->n_waits, in->waits, f->program->events, 0));
  DP_TRY(check_indices(f, "event signalled,", 1, &in->signal, f->program->events, 1));
  if (in->threads > 1 && in->threads > f->plan->target->threads)
    return dp_rule_fail(f->fault, DP_RULE_FORM_LIMIT, "%u threads; the target has %u", in->threads,
                        f->plan->target->threads);
  if (in->compute_dtype && (in->compute_dtype < 0 || !dp_type_bytes((dp_dtype)in->compute_dtype)))
    return dp_rule_fail(f->fault, DP_RULE_FORM_NAME, "its compute type, %d, is unknown", in->compute_dtype);
  if (in->scratch && (in->scratch->bytes || in->scratch->offset))
    DP_TRY(dp_plan_form_range(f->fault, f->role, DP__SPACE__TRANSIENT, in->scratch->offset, in->scratch->bytes,
                              "its scratch"));
  if (in->packed) DP_TRY(check_packed(f, in));
  return in->communication ? check_communication(f, in->communication) : DP_OK;
}

static dp_status check_stream(const form *f, const Dp__Stream *stream) {
  f->fault->stream = stream->name;
  for (size_t i = 0; i < stream->n_instructions; i++) {
    f->fault->instruction = i;
    f->fault->op = stream->instructions[i]->op;
    f->fault->op_domain = stream->instructions[i]->domain;
    DP_TRY(check_instruction(f, stream->instructions[i]));
  }
  f->fault->stream = NULL;
  return DP_OK;
}

static dp_status check_streams(const form *f) {
  const Dp__Program *p = f->program;
  size_t instructions = 0;
  if (p->n_streams > DP_LIMIT_STREAMS)
    return dp_rule_fail(f->fault, DP_RULE_FORM_LIMIT, "%zu streams; the limit is %d", p->n_streams, DP_LIMIT_STREAMS);
  for (size_t s = 0; s < p->n_streams; s++) {
    instructions += p->streams[s]->n_instructions;
    if (!*p->streams[s]->name) return dp_rule_fail(f->fault, DP_RULE_FORM_MISSING, "a stream has no name");
    for (size_t k = 0; k < s; k++)
      if (!strcmp(p->streams[k]->name, p->streams[s]->name))
        return dp_rule_fail(f->fault, DP_RULE_FORM_NAME, "two streams are called '%s'", p->streams[s]->name);
  }
  if (instructions > DP_LIMIT_INSTRUCTIONS || p->events > instructions)
    return dp_rule_fail(f->fault, DP_RULE_FORM_LIMIT,
                        "%zu instructions and %u events; the limit is %d instructions and one event each", instructions,
                        p->events, DP_LIMIT_INSTRUCTIONS);
  for (size_t s = 0; s < p->n_streams; s++) DP_TRY(check_stream(f, p->streams[s]));
  return DP_OK;
}

// ---- ends -----------------------------------------------------------------------------------------------------------

static dp_status check_bindings(const form *f, const char *what, size_t count, Dp__Binding *const *bindings) {
  if (count > DP_LIMIT_BINDINGS)
    return dp_rule_fail(f->fault, DP_RULE_FORM_LIMIT, "%zu %ss; the limit is %d", count, what, DP_LIMIT_BINDINGS);
  for (size_t i = 0; i < count; i++) {
    if (!*bindings[i]->name) return dp_rule_fail(f->fault, DP_RULE_FORM_MISSING, "%s %zu has no name", what, i);
    for (size_t k = 0; k < i; k++)
      if (!strcmp(bindings[k]->name, bindings[i]->name))
        return dp_rule_fail(f->fault, DP_RULE_FORM_NAME, "two %ss are called '%s'", what, bindings[i]->name);
    if (bindings[i]->tensor >= f->program->n_tensors)
      return dp_rule_fail(f->fault, DP_RULE_FORM_INDEX, "%s '%s' is tensor %u of %zu", what, bindings[i]->name,
                          bindings[i]->tensor, f->program->n_tensors);
  }
  return DP_OK;
}

static dp_status check_storages(const form *f, const char *what, size_t count, Dp__Update *const *storages) {
  for (size_t i = 0; i < count; i++)
    if (storages[i]->variable >= f->plan->n_variables || storages[i]->value >= f->program->n_tensors)
      return dp_rule_fail(f->fault, DP_RULE_FORM_INDEX, "%s names variable %u of %zu, tensor %u of %zu", what,
                          storages[i]->variable, f->plan->n_variables, storages[i]->value, f->program->n_tensors);
  return DP_OK;
}

dp_status dp_plan_form_program(dp_fault *fault, const Dp__Plan *plan, const Dp__Role *role,
                               const Dp__Program *program) {
  if (!*program->name) return dp_rule_fail(fault, DP_RULE_FORM_MISSING, "a program has no name");
  if (program->graph >= plan->n_graphs)
    return dp_rule_fail(fault, DP_RULE_FORM_INDEX, "its logical graph is number %u of %zu", program->graph,
                        plan->n_graphs);
  form f = {fault, plan, role, program, plan->graphs[program->graph]};
  bool folded = program->n_loops;
  for (size_t s = 0; s < program->n_streams; s++) folded |= program->streams[s]->n_loops;
  if (folded) return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "a loop that was not written out");
  if (program->n_tensors > DP_LIMIT_TENSORS)
    return dp_rule_fail(fault, DP_RULE_FORM_LIMIT, "%zu tensors; the limit is %d", program->n_tensors,
                        DP_LIMIT_TENSORS);
  DP_TRY(check_tensors(&f));
  DP_TRY(check_streams(&f));
  DP_TRY(check_bindings(&f, "input", program->n_inputs, program->inputs));
  DP_TRY(check_bindings(&f, "output", program->n_outputs, program->outputs));
  DP_TRY(check_storages(&f, "what it finds", program->n_entry, program->entry));
  return check_storages(&f, "what it leaves", program->n_exit, program->exit);
}
