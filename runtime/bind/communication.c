// Communication of bind.h. The operands, the axes and the placements along them determine what an instruction does, not
// its operator: two operands with one result are concatenated or reduced, one operand for each result is converted.
#include "runtime/bind/bind.h"
#include "runtime/bind/lay.h"

static bool has_transfers(const dp_backend *backend) { return backend->computes || backend->describes_transfers; }

bool dp_bind_is_communication(const Dp__Instruction *in) { return !*in->kernel; }

// The tensor of operand k, and below that of result k, which it is converted to.
static const Dp__DeviceTensor *from_of(const dp_bind *b, const dp_unit *u, size_t k) {
  return dp_bind_tensor(b, u->at->instruction->inputs[k]);
}

static const Dp__DeviceTensor *to_of(const dp_bind *b, const dp_unit *u, size_t k) {
  return dp_bind_tensor(b, u->at->instruction->outputs[k]);
}

static bool concatenates(const Dp__Instruction *in) { return in->n_inputs == 2 && in->n_outputs == 1; }

static dp_status check_operands(const Dp__Instruction *in) {
  bool all = in->n_inputs && in->n_outputs && (concatenates(in) || in->n_inputs == in->n_outputs);
  for (size_t i = 0; all && i < in->n_inputs; i++) all = in->inputs[i] != 0;
  for (size_t i = 0; all && i < in->n_outputs; i++) all = in->outputs[i] != 0;
  return all ? DP_OK : dp_fail(EX_DATAERR, "communication needs one operand for each result");
}

// Whether both devices hold the same copy of the tensor. Along a staged axis every stage has only its own tensors.
static bool same_copy(const dp_bind *b, const Dp__DeviceTensor *t, int device, int other) {
  const dp_mesh *mesh = b->binding->mesh;
  int64_t at[DP_MAX_MESH], there[DP_MAX_MESH];
  dp_mesh_coordinate(mesh, device, at);
  dp_mesh_coordinate(mesh, other, there);
  for (size_t a = 0; a < t->n_placements; a++)
    if (at[a] != there[a] && (t->placements[a]->kind != DP_REPLICATE || dp_mesh_is_staged(&mesh->axes[a])))
      return false;
  return true;
}

// Whether this device copies the tensor to the host. Among equal copies, the first of this process does.
static bool copies_to_host(const dp_bind *b, const Dp__DeviceTensor *t, int device) {
  for (int d = 0; d < device; d++)
    if (dp_peers_here(b->binding->peers, d) && same_copy(b, t, device, d)) return false;
  return true;
}

static dp_region_action action_of(const Dp__DeviceTensor *from, int axis) {
  if (axis < 0 || from->placements[axis]->kind != DP_PARTIAL) return DP_REGION_COPY;
  return from->placements[axis]->reduction == (int)DP_MAX ? DP_REGION_MAX : DP_REGION_SUM;
}

static dp_status check_action(const dp_unit *unit, dp_region_action action, dp_dtype dtype) {
  if (dp_region_can(action, dtype)) return DP_OK;
  return dp_fail(EX_UNAVAILABLE, "%s cannot reduce elements of type %s", unit->at->instruction->op,
                 dp_type_name(dtype));
}

// What is moved keeps its layout, so that dims are named alike wherever it goes.
static dp_local laid(const Dp__DeviceTensor *t, dp_local local) { return dp_lay_local(&local, dp_bind_layout(t)); }

static dp_shard_view view_of(const dp_bind *b, const Dp__DeviceTensor *t, int device) {
  return (dp_shard_view){dp_memory_address(b->binding->memory, t, device, b->slot),
                         laid(t, dp_bind_local(b, t, device))};
}

// ---- collectives ----------------------------------------------------------------------------------------------------

// The axis whose partial values are reduced; -1: there is none.
static int reduced_axis(const Dp__DeviceTensor *from, const Dp__DeviceTensor *to) {
  for (size_t a = 0; a < from->n_placements; a++)
    if (from->placements[a]->kind == DP_PARTIAL && to->placements[a]->kind != DP_PARTIAL) return (int)a;
  return -1;
}

static bool is_on_host(const Dp__DeviceTensor *t) {
  return t->space == DP__SPACE__HOST_INPUT || t->space == DP__SPACE__HOST_OUTPUT;
}

// On the host, each device touches only its own part of the tensor, since other devices use the rest concurrently.
static void use_views(const dp_bind *b, dp_unit *unit, size_t k, int device, const dp_shard_view *source,
                      const dp_shard_view *target) {
  const Dp__DeviceTensor *from = from_of(b, unit, k), *to = to_of(b, unit, k);
  dp_dtype dtype = dp_bind_dtype(b, from);
  if (to->space == DP__SPACE__HOST_OUTPUT && !copies_to_host(b, from, device)) return;
  if (is_on_host(from))
    dp_bind_use_part(b, unit, source->data, &source->local, &target->local, dtype, false);
  else
    dp_bind_use(b, unit, source->data, &source->local, dtype, false);
  if (is_on_host(to))
    dp_bind_use_part(b, unit, target->data, &target->local, &source->local, dtype, true);
  else
    dp_bind_use(b, unit, target->data, &target->local, dtype, true);
}

// Exchanges an operand of a unit with members in other processes: `source` is where it lies, or where it will.
static void exchange_operand(const dp_bind *b, dp_unit *unit, int32_t k, int device, dp_dtype dtype,
                             dp_shard_view *source) {
  const dp_peers *peers = b->binding->peers;
  const dp_message_key key = {.role = unit->role, .instruction = unit->number, .operand = k, .device = device};
  const uint64_t bytes = (uint64_t)dp_local_count(&source->local) * dp_type_bytes(dtype);
  if (!unit->exchange) unit->exchange = dp_exchange_create(b->arena, peers);
  if (dp_peers_here(peers, device))
    dp_exchange_send(b->arena, unit->exchange, key, source->data, bytes, unit->n_devices, unit->devices);
  else
    source->data = dp_exchange_receive(b->arena, unit->exchange, key, bytes);
}

static int count_here(const dp_bind *b, const dp_unit *unit) {
  int here = 0;
  for (int m = 0; m < unit->n_devices; m++) here += dp_peers_here(b->binding->peers, unit->devices[m]);
  return here;
}

// Fills sources, which is (operands, devices of the unit), and targets, which is (operands, those of them that are
// here).
static void bind_views(const dp_bind *b, dp_unit *unit, dp_shard_view *sources, dp_shard_view *targets) {
  const bool all = count_here(b, unit) == unit->n_devices || !b->binding->memory->backend->computes;
  for (size_t k = 0; k < unit->at->instruction->n_inputs; k++)
    for (int m = 0; m < unit->n_devices; m++) {
      int device = unit->devices[m];
      *sources = view_of(b, from_of(b, unit, k), device);
      if (!all) exchange_operand(b, unit, (int32_t)k, device, dp_bind_dtype(b, from_of(b, unit, k)), sources);
      if (dp_peers_here(b->binding->peers, device)) {
        *targets = view_of(b, to_of(b, unit, k), device);
        use_views(b, unit, k, device, sources, targets++);
      }
      sources++;
    }
}

// Reads the host's copy that a run has.
static void alternate_host_copies(const dp_bind *b, dp_unit *unit) {
  const dp_memory *memory = b->binding->memory;
  const ptrdiff_t distance = (intptr_t)memory->host_input[1] - (intptr_t)memory->host_input[0];
  const char *begin = memory->host_input[0], *end = begin + memory->host_input_bytes;
  unit->transfer->host_copy_distance = distance;
  if (!unit->n_ranges) return;
  unit->other_ranges = dp_memdup(b->arena, unit->ranges, (size_t)unit->n_ranges * sizeof *unit->ranges);
  for (int i = 0; i < unit->n_ranges; i++) {
    dp_range *range = &unit->other_ranges[i];
    if (range->first >= begin && range->first < end) range->first = (const char *)((intptr_t)range->first + distance);
  }
}

static dp_status bind_conversion(const dp_bind *b, dp_unit *unit) {
  const Dp__Instruction *in = unit->at->instruction;
  const Dp__DeviceTensor *from = from_of(b, unit, 0), *to = to_of(b, unit, 0);
  const dp_memory *memory = b->binding->memory;
  const int n = unit->n_devices, here = count_here(b, unit);
  const size_t views = in->n_inputs * (size_t)n;
  dp_shard_view *sources = dp_alloc_n(b->arena, views, sizeof *sources);
  dp_shard_view *targets = dp_alloc_n(b->arena, views, sizeof *targets);
  bind_views(b, unit, sources, targets);
  if (to->space == DP__SPACE__HOST_OUTPUT && !copies_to_host(b, from, unit->devices[0])) return DP_OK;
  dp_dtype dtype = dp_bind_dtype(b, from);
  int axis = reduced_axis(from, to);
  dp_region_action action = action_of(from, axis);
  DP_TRY(check_action(unit, action, dtype));
  if (!has_transfers(memory->backend)) return DP_OK;
  if (axis >= 0 && to->placements[axis]->kind == DP_REPLICATE)
    unit->transfer = dp_transfer_reduce(b->arena, dtype, action, (int)in->n_inputs, n, sources, here, targets);
  else
    unit->transfer = dp_transfer_shards(b->arena, dtype, action, n, sources, here, targets);
  const bool of_host = from->space == DP__SPACE__HOST_INPUT;
  unit->transfer->by_copies = of_host || from->space == DP__SPACE__OFFLOAD || to->space == DP__SPACE__OFFLOAD;
  if (of_host && !dp_memory_alternates(memory)) alternate_host_copies(b, unit);
  return DP_OK;
}

// ---- concatenating micro-batches ------------------------------------------------------------------------------------

// The part of an operand that its micro-batches fill. They lie side by side along one dim, in the extents of the whole
// tensor.
static dp_local filled(const dp_bind *b, const Dp__DeviceTensor *t, int device) {
  dp_local first = laid(t, dp_bind_local_at(b, t, device, t->micro->first));
  const dp_local last = laid(t, dp_bind_local_at(b, t, device, (int64_t)t->micro->first + t->micro->count - 1));
  for (int d = 0; d < first.rank; d++) {
    first.hi[d] = last.hi[d];
    first.extents[d] = first.outer[d] * (first.hi[d] - first.lo[d]) * first.unit[d];
  }
  return first;
}

static bool same_extents(const dp_local *a, const dp_local *b) {
  for (int d = 0; d < a->rank; d++)
    if (a->extents[d] != b->extents[d]) return false;
  return a->rank == b->rank;
}

static dp_status check_concatenation(const dp_bind *b, const dp_unit *unit, int axis) {
  const Dp__DeviceTensor *from = from_of(b, unit, 0), *more = from_of(b, unit, 1);
  int kind = (int)from->placements[axis]->kind;
  bool alike = kind != DP_REPLICATE && kind == (int)more->placements[axis]->kind && from->value == more->value &&
               from->micro && more->micro && from->micro->count && more->micro->count;
  if (!alike) return dp_fail(EX_DATAERR, "both operands must hold micro-batches of one value");
  for (size_t a = 0; a < from->n_placements && kind == DP_SHARD; a++)
    if ((int)a != axis && from->placements[a]->kind == DP_SHARD &&
        from->placements[a]->dim == from->placements[axis]->dim)
      return dp_fail(EX_DATAERR, "axis '%s' splits dim %u, which the micro-batches split already",
                     b->binding->mesh->axes[a].name, from->placements[a]->dim);
  return DP_OK;
}

// Concatenates or reduces two operands of one value on one device.
static dp_status bind_concatenation(const dp_bind *b, dp_unit *unit) {
  const Dp__Communication *c = unit->at->instruction->communication;
  int device = unit->devices[0], axis = c && c->n_axes == 1 ? (int)c->axes[0] : -1;
  if (axis < 0 || !dp_mesh_is_sequential(&b->binding->mesh->axes[axis]))
    return dp_fail(EX_DATAERR, "two operands with one result need an axis of micro-batches");
  DP_TRY(check_concatenation(b, unit, axis));
  const Dp__DeviceTensor *to = to_of(b, unit, 0);
  dp_shard_view target = view_of(b, to, device), sources[2];
  dp_dtype dtype = dp_bind_dtype(b, to);
  dp_region_action action = action_of(from_of(b, unit, 0), axis);
  DP_TRY(check_action(unit, action, dtype));
  bool wide[2];
  for (size_t k = 0; k < 2; k++) {
    const Dp__DeviceTensor *from = from_of(b, unit, k);
    sources[k] = view_of(b, from, device);
    wide[k] = from->micro->count > 1;
    if (dp_bind_dtype(b, from) != dtype || (action && !same_extents(&sources[k].local, &target.local)))
      return dp_fail(EX_DATAERR, "operand %zu differs from the result in type or extents", k);
    dp_bind_use(b, unit, sources[k].data, &sources[k].local, dtype, false);
    if (!action && wide[k]) sources[k].local = filled(b, from, device);
  }
  dp_bind_use(b, unit, target.data, &target.local, dtype, true);
  if (!has_transfers(b->binding->memory->backend)) return DP_OK;
  int kept = !action && sources[0].data == target.data;  // the first operand is in place already
  unit->transfer = action ? dp_transfer_reduce(b->arena, dtype, action, 1, 2, sources, 1, &target)
                          : dp_transfer_concatenate(b->arena, dtype, 2 - kept, sources + kept, wide + kept, &target);
  return DP_OK;
}

dp_status dp_bind_collective(const dp_bind *b, dp_unit *unit) {
  return concatenates(unit->at->instruction) ? bind_concatenation(b, unit) : bind_conversion(b, unit);
}

// ---- between two devices --------------------------------------------------------------------------------------------

dp_status dp_bind_between(const dp_bind *sender, const dp_bind *receiver, dp_unit *unit) {
  const Dp__DeviceTensor *from = dp_bind_tensor(sender, unit->at[0].instruction->inputs[0]);
  const Dp__DeviceTensor *to = dp_bind_tensor(receiver, unit->at[1].instruction->outputs[0]);
  dp_shard_view source = view_of(sender, from, unit->devices[0]), target = view_of(receiver, to, unit->devices[1]);
  dp_dtype dtype = dp_bind_dtype(sender, from);
  if (dtype != dp_bind_dtype(receiver, to) || !same_extents(&source.local, &target.local))
    return dp_fail(EX_DATAERR, "channel %u: the tensors sent and received differ in type or extents",
                   unit->at[0].instruction->communication->channel);
  const bool sends = dp_peers_here(sender->binding->peers, unit->devices[0]);
  const bool receives = dp_peers_here(sender->binding->peers, unit->devices[1]);
  if (sends) dp_bind_use(sender, unit, source.data, &source.local, dtype, false);
  if (receives) dp_bind_use(receiver, unit, target.data, &target.local, dtype, true);
  if (!has_transfers(sender->binding->memory->backend)) return DP_OK;
  if (!sends || !receives) exchange_operand(sender, unit, 0, unit->devices[0], dtype, &source);
  if (receives) unit->transfer = dp_transfer_reduce(sender->arena, dtype, DP_REGION_COPY, 1, 1, &source, 1, &target);
  return DP_OK;
}

// ---- who takes part -------------------------------------------------------------------------------------------------

// Whether the instruction involves other devices. A device that holds the whole operand along the axes cuts its part
// out locally, and micro-batches are concatenated locally.
static bool meets_peers(const dp_bind *b, const dp_unit *unit) {
  const Dp__Instruction *in = unit->at->instruction;
  if (!in->communication || concatenates(in)) return false;
  for (size_t i = 0; i < in->communication->n_axes; i++)
    if (from_of(b, unit, 0)->placements[in->communication->axes[i]]->kind != DP_REPLICATE) return true;
  return false;
}

// Devices communicate only along axes whose coordinates are devices of one role.
static dp_status check_axes(const dp_bind *b, const Dp__Communication *c) {
  const dp_mesh *mesh = b->binding->mesh;
  for (size_t i = 0; i < c->n_axes; i++)
    if (dp_mesh_is_sequential(&mesh->axes[c->axes[i]]) || dp_mesh_is_staged(&mesh->axes[c->axes[i]]))
      return dp_fail(EX_DATAERR, "no communication is possible along axis '%s'", mesh->axes[c->axes[i]].name);
  return DP_OK;
}

// The group consists of the devices whose coordinates differ only along the instruction's axes.
dp_status dp_bind_group(const dp_bind *b, int device, dp_unit *unit) {
  const dp_mesh *mesh = b->binding->mesh;
  const dp_role_map *roles = b->binding->roles;
  int64_t coordinate[DP_MAX_MESH], members = 1;
  bool along[DP_MAX_MESH] = {0};
  DP_TRY(check_operands(unit->at->instruction));
  if (meets_peers(b, unit)) {
    const Dp__Communication *c = unit->at->instruction->communication;
    DP_TRY(check_axes(b, c));
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
    int other = (int)dp_mesh_device(mesh, coordinate);
    if (roles->of_device[other] != roles->of_device[device])
      return dp_fail(EX_DATAERR, "its group includes device %d, which has another role", other);
    unit->devices[unit->n_devices++] = other;
  }
  return DP_OK;
}
