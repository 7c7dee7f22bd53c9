// See bind.h: operands and kernels.
#include "runtime/bind/bind.h"

#include <string.h>

#include "ir/file/proto.h"
#include "ir/plan/layout.h"

// ---- operands -------------------------------------------------------------------------------------------------------

static int micro_axis(const dp_bind *b) { return dp_mesh_find(b->binding->mesh, DP_MESH_MICRO); }

dp_status dp_bind_check(const dp_bind *b) {
  int64_t of = dp_mesh_microbatches(b->binding->mesh);
  for (size_t i = 0; i < b->program->n_tensors; i++) {
    const Dp__MicroSet *micro = b->program->tensors[i]->micro;
    if (micro && (uint64_t)micro->first + micro->count > (uint64_t)of)
      return dp_fail(EX_DATAERR, "tensor %zu holds %u micro-batches from %u on, but the plan has %lld", i, micro->count,
                     micro->first, (long long)of);
  }
  return DP_OK;
}

dp_local dp_bind_local_at(const dp_bind *b, const Dp__DeviceTensor *t, int device, int64_t micro) {
  int axis = micro_axis(b);
  dp_placement placements[DP_MAX_MESH] = {0};
  for (size_t a = 0; a < t->n_placements; a++)
    dp_status_free(dp_proto_to_placement(t->placements[a], &placements[a]));  // checked when the plan was loaded
  int64_t coordinate[DP_MAX_MESH];
  dp_mesh_coordinate(b->binding->mesh, device, coordinate);
  if (axis >= 0 && micro < 0) placements[axis] = dp_replicate();
  if (axis >= 0 && micro >= 0) coordinate[axis] = micro;
  const dp_type *type = b->graph->values[t->value]->type;
  return dp_shard_range(&type->shape, placements, b->binding->mesh, coordinate, b->n);
}

dp_local dp_bind_local(const dp_bind *b, const Dp__DeviceTensor *t, int device) {
  bool one = t->micro && t->micro->count == 1;
  return dp_bind_local_at(b, t, device, one ? (int64_t)t->micro->first : -1);
}

void dp_bind_use(const dp_bind *b, dp_unit *unit, const void *first, const dp_local *local, dp_dtype dtype,
                 bool written) {
  uint64_t bytes = (uint64_t)dp_local_count(local) * dp_type_bytes(dtype);
  if (!bytes) return;
  dp_range range = {first, bytes, written};
  DP_PUSH(b->arena, unit->ranges, unit->n_ranges, range);
}

typedef struct {
  const dp_bind *bind;
  dp_unit *unit;
  const char *first;
  size_t element_bytes;
  bool written;
} part_use;

static void use_run(void *context, int64_t first, int64_t count) {
  const part_use *u = context;
  dp_range range = {u->first + (size_t)first * u->element_bytes, (uint64_t)count * u->element_bytes, u->written};
  DP_PUSH(u->bind->arena, u->unit->ranges, u->unit->n_ranges, range);
}

void dp_bind_use_part(const dp_bind *b, dp_unit *unit, const void *first, const dp_local *there, const dp_local *part,
                      dp_dtype dtype, bool written) {
  if (!b->binding->memory->backend->enter) return;
  part_use use = {b, unit, first, dp_type_bytes(dtype), written};
  dp_region region = dp_region_make(b->arena, there, part);
  dp_region_each_run(&region, use_run, &use);
}

// ---- kernels --------------------------------------------------------------------------------------------------------

static dp_status find_kernel(const dp_bind *b, const dp_node *node, dp_unit *unit) {
  const dp_backend *backend = b->binding->memory->backend;
  const char *name = unit->at->instruction->kernel;
  const dp_kernel *kernel = unit->kernel = dp_kernel_find(backend->target, name);
  if (!kernel)
    return dp_fail(EX_UNAVAILABLE, "backend %s has no kernel '%s': compile the model again with this version of dpc",
                   backend->name, name);
  if (backend->computes && !(backend->queues ? kernel->enqueue != NULL : kernel->run != NULL))
    return dp_fail(EX_SOFTWARE, "kernel %s is not written for backend %s", name, backend->name);
  if (!dp_kernel_computes(kernel, node->op))
    return dp_fail(EX_DATAERR, "kernel %s computes %s, not %s", name, kernel->op, node->op->name);
  return DP_OK;
}

static dp_kernel_operand operand_of(const dp_bind *b, const Dp__DeviceTensor *t, int device) {
  return (dp_kernel_operand){dp_bind_dtype(b, t), true, dp_bind_local(b, t, device), dp_bind_layout(t)};
}

static void *bind_operand(const dp_bind *b, dp_unit *unit, uint32_t index, bool written, dp_kernel_operand *operand) {
  const Dp__DeviceTensor *t = dp_bind_tensor(b, index);
  char *at = dp_memory_address(b->binding->memory, t, unit->devices[0], b->slot);
  *operand = operand_of(b, t, unit->devices[0]);
  dp_bind_use(b, unit, at, &operand->local, operand->dtype, written);
  return at;
}

static bool is_empty(const dp_kernel_operand *o) { return dp_local_count(&o->local) == 0; }

// An operand without elements, and one from which nothing is computed, is not packed.
static void bind_packed(const dp_bind *b, dp_unit *unit) {
  const Dp__Instruction *in = unit->at->instruction;
  const uint32_t k = in->packed->operand;
  if (is_empty(&b->room[k]) || is_empty(&b->room[in->n_inputs])) return;
  unit->plain = unit->in[k];
  unit->in[k] = unit->packed = b->binding->memory->devices[unit->devices[0]].variable + in->packed->offset;
  const dp_range range = {unit->packed, in->packed->bytes, false};
  DP_PUSH(b->arena, unit->ranges, unit->n_ranges, range);
}

// The spec's values: operands, results, and what stays inside of a region.
static void bind_operands(dp_bind *b, dp_unit *unit, dp_kernel_spec *spec) {
  const Dp__Instruction *in = unit->at->instruction;
  spec->n_inputs = (int)in->n_inputs;
  spec->n_outputs = (int)in->n_outputs;
  spec->inputs = b->room;
  spec->outputs = b->room + in->n_inputs;
  unit->in = dp_alloc_n(b->arena, in->n_inputs, sizeof *unit->in);
  unit->out = dp_alloc_n(b->arena, in->n_outputs, sizeof *unit->out);
  memset(b->room, 0, b->n_values * sizeof *b->room);
  for (size_t i = 0; i < in->n_inputs; i++)
    if (in->inputs[i]) unit->in[i] = bind_operand(b, unit, in->inputs[i], false, &b->room[i]);
  for (size_t i = 0; i < in->n_outputs; i++)
    if (in->outputs[i]) unit->out[i] = bind_operand(b, unit, in->outputs[i], true, &b->room[in->n_inputs + i]);
  for (size_t i = in->n_inputs + in->n_outputs; i < b->n_values; i++)
    b->room[i] = operand_of(b, b->program->tensors[b->slots[i]], unit->devices[0]);
  if (in->packed) bind_packed(b, unit);
  if (in->scratch && in->scratch->bytes) {
    const dp_device_memory *device = &b->binding->memory->devices[unit->devices[0]];
    dp_range range = {device->transient + in->scratch->offset, in->scratch->bytes, true};
    unit->scratch = (void *)(uintptr_t)range.first;
    DP_PUSH(b->arena, unit->ranges, unit->n_ranges, range);
  }
}

static bool same_values(const dp_bind *b) {
  for (size_t i = 0; i < b->n_values; i++)
    if (!dp_kernel_operand_equal(&b->last->inputs[i], &b->room[i])) return false;
  return true;
}

// The spec with values of its own.
static const dp_kernel_spec *keep_spec(const dp_bind *b, const dp_kernel_spec *spec) {
  dp_kernel_spec *kept = dp_memdup(b->arena, spec, sizeof *spec);
  kept->inputs = dp_memdup(b->arena, b->room, b->n_values * sizeof *b->room);
  kept->outputs = kept->inputs + spec->n_inputs;
  if (b->members) {
    const dp_kernel_region region = {b->n_members, (int)b->n_values, b->members, kept->inputs};
    kept->region = dp_memdup(b->arena, &region, sizeof region);
  }
  return kept;
}

// Tells the kernel its addresses. A unit that fails here is not kept, nor is its state.
static dp_status settle(dp_unit *unit) {
  if (!unit->kernel->settle) return DP_OK;
  dp_status status = unit->kernel->settle(unit->spec, unit->state, unit->in, unit->out);
  if (status) unit->kernel->release(unit->state);
  return status;
}

static dp_status check_packed(const Dp__Packed *packed, const dp_unit *unit) {
  const dp_kernel *kernel = unit->kernel;
  if (!kernel->packed_bytes || packed->operand != (uint32_t)kernel->packs)
    return dp_fail(EX_DATAERR, "kernel %s cannot take operand %u packed, as the plan asks", kernel->name,
                   packed->operand);
  const uint64_t needed = kernel->packed_bytes(unit->spec);
  if (needed && needed <= packed->bytes) return DP_OK;
  return dp_fail(EX_UNAVAILABLE,
                 "kernel %s packs operand %u in %llu bytes on this machine, but the plan reserves %llu: compile the "
                 "model for it (dpc compile, with --isa and --threads as wanted)",
                 kernel->name, packed->operand, (unsigned long long)needed, (unsigned long long)packed->bytes);
}

dp_status dp_bind_kernel(dp_bind *b, const dp_node *node, dp_unit *unit) {
  const Dp__Instruction *in = unit->at->instruction;
  DP_TRY(find_kernel(b, node, unit));
  if (!b->last) dp_bind_values(b, node, in);
  dp_kernel_spec here = {.op = node->op,
                         .node = node,
                         .threads = in->threads ? (int)in->threads : 1,
                         .tf32 = b->binding->tf32,
                         .winograd = b->binding->winograd};
  bind_operands(b, unit, &here);
  here.packed = unit->plain != NULL;
  if (!b->last || !same_values(b)) b->last = keep_spec(b, &here);
  const dp_kernel_spec *spec = unit->spec = b->last;
  if (!dp_kernel_takes(unit->kernel, spec) || (unit->kernel->match && !unit->kernel->match(spec)))
    return dp_fail(EX_DATAERR,
                   "kernel %s cannot take the operands that the plan gives it: compile the model again with this "
                   "version of dpc",
                   in->kernel);
  bool over = in->n_inputs && in->inputs[0] && in->outputs[0] && unit->in[0] == unit->out[0] &&
              dp_bind_tensor(b, in->outputs[0])->bytes;
  if (over && !unit->kernel->in_place && !dp_op_is(node->op, DP_OP_UPDATE))
    return dp_fail(EX_DATAERR, "kernel %s cannot write its result over its operand, as the plan asks", in->kernel);
  if (unit->plain) DP_TRY(check_packed(in->packed, unit));
  uint64_t needed = unit->kernel->scratch_bytes ? unit->kernel->scratch_bytes(spec) : 0;
  uint64_t given = in->scratch ? in->scratch->bytes : 0;
  if (needed > given)
    return dp_fail(
        EX_UNAVAILABLE,
        "kernel %s needs %llu bytes of scratch memory on this machine for %lld samples, but the plan reserves %llu: "
        "compile the model for it (dpc compile, with --isa and --threads as wanted). If it runs with other numbers of "
        "samples, extents of the model agree for these alone: write them alike",
        in->kernel, (unsigned long long)needed, (long long)b->n, (unsigned long long)given);
  if (!unit->kernel->prepare || !b->binding->memory->backend->computes) return DP_OK;
  const dp_backend *backend = b->binding->memory->backend;
  const int chip = backend->use ? backend->use(unit->devices[0]) : 0;
  dp_status status = unit->kernel->shares_state
                         ? dp_prepared_state(b->binding->prepared, unit->kernel, spec, chip, &unit->state)
                         : unit->kernel->prepare(spec, &unit->state);
  if (!status) status = settle(unit);
  return dp_status_context(status, "kernel %s", in->kernel);
}
