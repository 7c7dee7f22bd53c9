// What one unit of a program does: its operands' addresses and extents at n, its kernel or what it moves. See program.h.
#include <string.h>

#include "ir/proto.h"
#include "runtime/program.h"

// ---- operands -------------------------------------------------------------------------------------------------------

static dp_kernel_operand operand_of(const dp_bind *b, const Dp__DeviceTensor *t, int device) {
  dp_placement placements[DP_MAX_MESH] = {0};
  for (size_t a = 0; a < t->n_placements; a++)
    dp_status_free(dp_proto_to_placement(t->placements[a], &placements[a]));  // checked with the plan
  int64_t coordinate[DP_MAX_MESH];
  dp_mesh_coordinate(b->binding->mesh, device, coordinate);
  const dp_type *type = &b->graph->values[t->value]->type;
  dp_local local = dp_shard_range(&type->shape, placements, b->binding->mesh, coordinate, b->n);
  return (dp_kernel_operand){type->dtype, true, local};
}

static void add_range(const dp_bind *b, dp_unit *unit, const void *first, const dp_kernel_operand *x, bool written) {
  uint64_t bytes = (uint64_t)dp_local_count(&x->local) * dp_type_bytes(x->dtype);
  if (!bytes) return;
  dp_range range = {first, bytes, written};
  DP_PUSH(b->arena, unit->ranges, unit->n_ranges, range);
}

// ---- kernels --------------------------------------------------------------------------------------------------------

static dp_status find_kernel(const dp_bind *b, const dp_node *node, dp_unit *unit) {
  const char *backend = b->binding->memory->backend->name, *name = unit->instruction->kernel;
  unit->kernel = dp_kernel_find(b->binding->memory->backend->target, name);
  if (!unit->kernel)
    return dp_fail(EX_UNAVAILABLE, "backend %s has no kernel '%s': compile the model again with this version of dpc",
                   backend, name);
  if (!dp_kernel_computes(unit->kernel, node->op))
    return dp_fail(EX_DATAERR, "kernel %s computes %s, not %s", name, unit->kernel->op, node->op->name);
  return DP_OK;
}

static void bind_operands(const dp_bind *b, dp_unit *unit, dp_kernel_spec *spec) {
  const Dp__Instruction *in = unit->instruction;
  int device = unit->devices[0];
  spec->n_inputs = (int)in->n_inputs;
  spec->n_outputs = (int)in->n_outputs;
  for (int i = 0; i < spec->n_inputs; i++) {
    if (!in->inputs[i]) continue;
    const Dp__DeviceTensor *t = b->program->tensors[in->inputs[i] - 1];
    spec->inputs[i] = operand_of(b, t, device);
    unit->in[i] = dp_memory_address(b->binding->memory, t, device);
    add_range(b, unit, unit->in[i], &spec->inputs[i], false);
  }
  for (int i = 0; i < spec->n_outputs; i++) {
    if (!in->outputs[i]) continue;
    const Dp__DeviceTensor *t = b->program->tensors[in->outputs[i] - 1];
    spec->outputs[i] = operand_of(b, t, device);
    unit->out[i] = dp_memory_address(b->binding->memory, t, device);
    add_range(b, unit, unit->out[i], &spec->outputs[i], true);
  }
  if (in->scratch && in->scratch->bytes) {
    dp_range range = {b->binding->memory->devices[device].transient + in->scratch->offset, in->scratch->bytes, true};
    unit->scratch = (void *)(uintptr_t)range.first;
    DP_PUSH(b->arena, unit->ranges, unit->n_ranges, range);
  }
}

static bool same_operand(const dp_kernel_operand *a, const dp_kernel_operand *b) {
  if (a->present != b->present || a->dtype != b->dtype || a->local.rank != b->local.rank) return false;
  size_t bytes = (size_t)a->local.rank * sizeof a->local.lo[0];
  return !memcmp(a->local.whole, b->local.whole, bytes) && !memcmp(a->local.outer, b->local.outer, bytes) &&
         !memcmp(a->local.unit, b->local.unit, bytes) && !memcmp(a->local.lo, b->local.lo, bytes) &&
         !memcmp(a->local.hi, b->local.hi, bytes);
}

// Of one instruction.
static bool same_spec(const dp_kernel_spec *a, const dp_kernel_spec *b) {
  for (int i = 0; i < a->n_inputs; i++)
    if (!same_operand(&a->inputs[i], &b->inputs[i])) return false;
  for (int i = 0; i < a->n_outputs; i++)
    if (!same_operand(&a->outputs[i], &b->outputs[i])) return false;
  return true;
}

dp_status dp_bind_kernel(dp_bind *b, const dp_node *node, dp_unit *unit) {
  const Dp__Instruction *in = unit->instruction;
  DP_TRY(find_kernel(b, node, unit));
  dp_kernel_spec here = {.op = node->op, .node = node, .threads = in->threads ? (int)in->threads : 1}, *spec = &here;
  bind_operands(b, unit, spec);
  if (!b->last || !same_spec(b->last, spec)) b->last = dp_memdup(b->arena, spec, sizeof *spec);
  unit->spec = b->last;
  if (!dp_kernel_takes(unit->kernel, spec) || (unit->kernel->match && !unit->kernel->match(spec)))
    return dp_fail(EX_DATAERR, "kernel %s does not take the operands that the plan gives it", in->kernel);
  bool over = in->n_inputs && in->inputs[0] && in->outputs[0] && unit->in[0] == unit->out[0] &&
              b->program->tensors[in->outputs[0] - 1]->bytes;
  if (over && !unit->kernel->in_place && !dp_op_is(node->op, DP_OP_UPDATE))
    return dp_fail(EX_DATAERR, "kernel %s cannot write its result over its operand, where the plan puts it",
                   in->kernel);
  uint64_t needed = unit->kernel->scratch_bytes ? unit->kernel->scratch_bytes(spec) : 0;
  uint64_t given = in->scratch ? in->scratch->bytes : 0;
  if (needed > given)
    return dp_fail(
        EX_UNAVAILABLE,
        "kernel %s asks for %llu bytes of scratch on this machine, the plan has %llu: compile the model here (dpc "
        "compile, with --isa and --threads as wanted)",
        in->kernel, (unsigned long long)needed, (unsigned long long)given);
  if (!unit->kernel->prepare || !b->binding->memory->backend->computes) return DP_OK;
  return dp_status_context(unit->kernel->prepare(spec, &unit->state), "kernel %s", in->kernel);
}

// ---- communication --------------------------------------------------------------------------------------------------

// Operand k and the result that it becomes. Only an all-reduce has more than one; what is asked here of the instruction as
// a whole is the same for all.
static const Dp__DeviceTensor *from_of(const dp_bind *b, const dp_unit *u, size_t k) {
  return b->program->tensors[u->instruction->inputs[k] - 1];
}

static const Dp__DeviceTensor *to_of(const dp_bind *b, const dp_unit *u, size_t k) {
  return b->program->tensors[u->instruction->outputs[k] - 1];
}

static bool has(const Dp__DeviceTensor *t, dp_placement_kind kind) {
  for (size_t a = 0; a < t->n_placements; a++)
    if (t->placements[a]->kind == (int)kind) return true;
  return false;
}

// Of copies that are equal, coordinate 0's goes to the host.
static bool speaks(const dp_bind *b, const Dp__DeviceTensor *t, int device) {
  int64_t coordinate[DP_MAX_MESH];
  dp_mesh_coordinate(b->binding->mesh, device, coordinate);
  for (size_t a = 0; a < t->n_placements; a++)
    if (t->placements[a]->kind == DP_REPLICATE && coordinate[a]) return false;
  return true;
}

// The axis on which it converts; -1: none, as between host and devices, where each device moves its own part.
static int reduced_axis(const Dp__DeviceTensor *from, const Dp__DeviceTensor *to) {
  for (size_t a = 0; a < from->n_placements; a++)
    if (from->placements[a]->kind == DP_PARTIAL && to->placements[a]->kind != DP_PARTIAL) return (int)a;
  return -1;
}

// Host memory that several units use at once is left out: inputs, which are only read, and an output of which each device
// writes its own part.
static void add_transfer_ranges(const dp_bind *b, dp_unit *unit, size_t k, int device, const dp_shard_view *source,
                                const dp_shard_view *target) {
  const Dp__DeviceTensor *from = from_of(b, unit, k), *to = to_of(b, unit, k);
  dp_dtype dtype = b->graph->values[from->value]->type.dtype;
  dp_kernel_operand in = {dtype, true, source->local}, out = {dtype, true, target->local};
  if (from->space != DP__SPACE__HOST_INPUT) add_range(b, unit, source->data, &in, false);
  if (to->space != DP__SPACE__HOST_OUTPUT || (!has(from, DP_SHARD) && speaks(b, from, device)))
    add_range(b, unit, target->data, &out, true);
}

// Views are (pairs, devices of the unit).
static void bind_views(const dp_bind *b, dp_unit *unit, dp_shard_view *sources, dp_shard_view *targets) {
  const dp_memory *memory = b->binding->memory;
  for (size_t k = 0; k < unit->instruction->n_inputs; k++)
    for (int m = 0; m < unit->n_devices; m++) {
      const Dp__DeviceTensor *from = from_of(b, unit, k), *to = to_of(b, unit, k);
      int device = unit->devices[m];
      *sources = (dp_shard_view){dp_memory_address(memory, from, device), operand_of(b, from, device).local};
      *targets = (dp_shard_view){dp_memory_address(memory, to, device), operand_of(b, to, device).local};
      add_transfer_ranges(b, unit, k, device, sources++, targets++);
    }
}

dp_status dp_bind_communication(const dp_bind *b, dp_unit *unit) {
  const Dp__Instruction *in = unit->instruction;
  if (in->communication && in->communication->n_peer)
    return dp_fail(EX_UNAVAILABLE, "%s to a single peer is not built yet: compile for a strategy without it", in->op);
  const Dp__DeviceTensor *from = from_of(b, unit, 0), *to = to_of(b, unit, 0);
  const dp_memory *memory = b->binding->memory;
  int n = unit->n_devices;
  size_t views = in->n_inputs * (size_t)n;
  dp_shard_view *sources = dp_alloc_n(b->arena, views, sizeof *sources);
  dp_shard_view *targets = dp_alloc_n(b->arena, views, sizeof *targets);
  bind_views(b, unit, sources, targets);
  if (to->space == DP__SPACE__HOST_OUTPUT && !speaks(b, from, unit->devices[0])) return DP_OK;
  dp_dtype dtype = b->graph->values[from->value]->type.dtype;
  int axis = reduced_axis(from, to);
  dp_region_action action = axis < 0                                           ? DP_REGION_COPY
                            : from->placements[axis]->reduction == (int)DP_MAX ? DP_REGION_MAX
                                                                               : DP_REGION_SUM;
  if (!dp_region_can(action, dtype))
    return dp_fail(EX_UNAVAILABLE, "%s of %s is not supported", in->op, dp_type_name(dtype));
  if (!memory->backend->computes) return DP_OK;
  if (axis >= 0 && to->placements[axis]->kind == DP_REPLICATE)
    unit->transfer = dp_transfer_all_reduce(b->arena, dtype, action, (int)in->n_inputs, n, sources, targets);
  else
    unit->transfer = dp_transfer_shards(b->arena, dtype, action, n, sources, n, targets);
  if (from->space == DP__SPACE__HOST_INPUT)
    unit->transfer->host_copy_distance = (intptr_t)memory->host_input[1] - (intptr_t)memory->host_input[0];
  return DP_OK;
}

bool dp_bind_is_communication(const Dp__Instruction *in) { return !*in->kernel; }

// A device that holds the operand whole along the axes cuts its part out of it, and meets nobody.
static bool meets_peers(const dp_bind *b, const dp_unit *unit) {
  const Dp__Instruction *in = unit->instruction;
  if (!dp_bind_is_communication(in) || !in->communication) return false;
  for (size_t i = 0; i < in->communication->n_axes; i++)
    if (from_of(b, unit, 0)->placements[in->communication->axes[i]]->kind != DP_REPLICATE) return true;
  return false;
}

// Those whose coordinates differ on the instruction's axes only.
void dp_bind_group(const dp_bind *b, int device, dp_unit *unit) {
  const dp_mesh *mesh = b->binding->mesh;
  int64_t coordinate[DP_MAX_MESH], members = 1;
  bool along[DP_MAX_MESH] = {0};
  if (meets_peers(b, unit)) {
    const Dp__Communication *c = unit->instruction->communication;
    for (size_t i = 0; i < c->n_axes; i++) along[c->axes[i]] = true;
  }
  dp_mesh_coordinate(mesh, device, coordinate);
  for (int a = 0; a < mesh->n_axes; a++)
    if (along[a]) members *= mesh->axes[a].size;
  unit->devices = dp_alloc_n(b->arena, (size_t)members, sizeof *unit->devices);
  for (int64_t m = 0; m < members; m++) {
    int64_t rest = m;
    for (int a = mesh->n_axes - 1; a >= 0; a--)
      if (along[a]) {
        coordinate[a] = rest % mesh->axes[a].size;
        rest /= mesh->axes[a].size;
      }
    unit->devices[unit->n_devices++] = (int)dp_mesh_device(mesh, coordinate);
  }
}
