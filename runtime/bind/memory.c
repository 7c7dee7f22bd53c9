// See memory.h.
#include "runtime/bind/memory.h"

#include "ir/plan/form.h"
#include "runtime/bind/lay.h"
#include "runtime/comm/region.h"

// ---- arenas ---------------------------------------------------------------------------------------------------------

static uint64_t bytes_of(const Dp__Role *role, Dp__Space space) {
  const Dp__Arena *arena = dp_plan_form_arena(role, space);
  return arena ? arena->bytes : 0;
}

static dp_status check_spaces(const dp_memory *m, const Dp__Role *role) {
  static const bool known[DP_MEMORY_SPACES] = {
      [DP__SPACE__PERSISTENT] = true,  [DP__SPACE__TRANSIENT] = true,    [DP__SPACE__HOST_INPUT] = true,
      [DP__SPACE__HOST_OUTPUT] = true, [DP__SPACE__DEVICE_INPUT] = true, [DP__SPACE__OFFLOAD] = true,
  };
  for (size_t i = 0; i < role->n_arenas; i++) {
    const Dp__Arena *arena = role->arenas[i];
    if ((unsigned)arena->space >= DP_MEMORY_SPACES || !known[arena->space])
      return dp_fail(EX_UNAVAILABLE, "the plan uses memory of kind %d, which backend %s does not have",
                     (int)arena->space, m->backend->name);
    // Between values there is room up to this alignment, which backends may write to (backends/cuda/nccl/calls.c).
    if (arena->alignment < m->backend->target->alignment)
      return dp_fail(EX_UNAVAILABLE,
                     "the plan's arenas are aligned to %u bytes, and backend %s needs %u: compile the model again",
                     arena->alignment, m->backend->name, m->backend->target->alignment);
  }
  return DP_OK;
}

static void measure(dp_memory *m, const dp_role_devices *r) {
  uint64_t input = bytes_of(r->role, DP__SPACE__HOST_INPUT), output = bytes_of(r->role, DP__SPACE__HOST_OUTPUT);
  if (input > m->host_input_bytes) m->host_input_bytes = input;
  if (output > m->host_output_bytes) m->host_output_bytes = output;
  const Dp__Arena *outputs = dp_plan_form_arena(r->role, DP__SPACE__HOST_OUTPUT);
  m->n_outputs = outputs && outputs->copies > 1 ? DP_MEMORY_COPIES : 1;
  for (int i = 0; i < r->n_devices; i++) {
    m->devices[r->devices[i]].persistent_bytes = bytes_of(r->role, DP__SPACE__PERSISTENT);
    m->devices[r->devices[i]].transient_bytes = bytes_of(r->role, DP__SPACE__TRANSIENT);
    m->devices[r->devices[i]].offload_bytes = bytes_of(r->role, DP__SPACE__OFFLOAD);
    m->devices[r->devices[i]].input_bytes = bytes_of(r->role, DP__SPACE__DEVICE_INPUT);
  }
}

// What the plan asks of one memory.
typedef struct {
  uint64_t room, total, most;  // bytes: there, asked for, and of the largest device
  int devices;
  bool over;  // the total has no number
} memory_use;

static void ask(const dp_memory *m, memory_use uses[DP_BACKEND_MEMORIES], dp_place place, uint64_t bytes) {
  uint64_t room;
  memory_use *use = &uses[m->backend->memory(place, &room)];
  use->room = room;
  use->over |= bytes == UINT64_MAX || __builtin_add_overflow(use->total, bytes, &use->total);
  use->devices += !place.host;
  if (!place.host && bytes > use->most) use->most = bytes;
}

// Refuses up front what cannot fit: systems commit memory page by page, so the run would otherwise fail in the middle
// of a step.
static dp_status check_room(const dp_memory *m) {
  memory_use uses[DP_BACKEND_MEMORIES] = {0};
  for (int d = 0; d < m->n_devices; d++) {
    if (!dp_peers_here(m->peers, d)) continue;
    uint64_t device;
    bool over = __builtin_add_overflow(m->devices[d].persistent_bytes, m->devices[d].transient_bytes, &device);
    for (int copy = 0; copy < DP_MEMORY_COPIES; copy++)
      over |= __builtin_add_overflow(device, m->devices[d].input_bytes, &device);
    ask(m, uses, (dp_place){.device = d}, over ? UINT64_MAX : device);
    ask(m, uses, (dp_place){.host = true}, m->devices[d].offload_bytes);
  }
  for (int copy = 0; copy < m->n_outputs; copy++) ask(m, uses, (dp_place){.host = true}, m->host_output_bytes);
  for (int copy = 0; copy < DP_MEMORY_COPIES; copy++) ask(m, uses, (dp_place){.host = true}, m->host_input_bytes);
  for (int i = 0; i < DP_BACKEND_MEMORIES; i++) {
    const memory_use *use = &uses[i];
    if (!use->over && (use->total <= use->room || !m->backend->computes)) continue;
    if (!use->devices)
      return dp_fail(DP_EX_MEMORY,
                     "the plan needs %llu bytes of the host's memory, but this machine has only %llu: compile without "
                     "--offload, for a smaller batch (dpc compile --batch), or run on a larger machine",
                     (unsigned long long)(use->over ? UINT64_MAX : use->total), (unsigned long long)use->room);
    return dp_fail(DP_EX_MEMORY,
                   "the plan needs %llu bytes for %d device%s (up to %llu each), but %s has only %llu: compile for a "
                   "smaller batch (dpc compile --batch) or run on a larger machine",
                   (unsigned long long)(use->over ? UINT64_MAX : use->total), use->devices,
                   use->devices == 1 ? "" : "s", (unsigned long long)use->most,
                   m->backend->memory_name ? m->backend->memory_name(i) : "this machine",
                   (unsigned long long)use->room);
  }
  return DP_OK;
}

static dp_status allocate(dp_memory *m, const Dp__Role *role, Dp__Space space, dp_place place, uint64_t bytes,
                          char **memory) {
  if (!bytes) return DP_OK;
  const Dp__Arena *arena = dp_plan_form_arena(role, space);
  const uint32_t least = m->backend->target->alignment, asked = arena ? arena->alignment : 0;
  *memory = m->backend->allocate(place, bytes, asked > least ? asked : least);
  if (*memory) {
    m->allocated[space] += bytes;
    return DP_OK;
  }
  dp_status refusal = m->backend->refusal ? m->backend->refusal() : DP_OK;
  if (refusal && dp_status_code(refusal) != DP_EX_MEMORY)
    return dp_status_context(refusal, "an arena of %llu bytes", (unsigned long long)bytes);
  dp_status_free(refusal);
  return dp_fail(DP_EX_MEMORY,
                 "no memory for an arena of %llu bytes: compile for a smaller batch (dpc compile --batch)",
                 (unsigned long long)bytes);
}

dp_status dp_memory_make(dp_arena *arena, const dp_role_map *roles, const dp_backend *backend, const dp_peers *peers,
                         dp_memory *m) {
  *m = (dp_memory){.backend = backend, .peers = peers, .n_devices = roles->n_devices};
  m->devices = dp_alloc_n(arena, (size_t)m->n_devices, sizeof *m->devices);
  for (int i = 0; i < roles->n_roles; i++) {
    DP_TRY(check_spaces(m, roles->roles[i].role));
    measure(m, &roles->roles[i]);
  }
  DP_TRY(check_room(m));
  const dp_place host = {.host = true};
  for (int d = 0; d < m->n_devices; d++) {
    if (!dp_peers_here(peers, d)) continue;
    const Dp__Role *role = roles->roles[roles->of_device[d]].role;
    dp_device_memory *device = &m->devices[d];
    DP_TRY(
        allocate(m, role, DP__SPACE__PERSISTENT, (dp_place){.device = d}, device->persistent_bytes, &device->variable));
    DP_TRY(
        allocate(m, role, DP__SPACE__TRANSIENT, (dp_place){.device = d}, device->transient_bytes, &device->transient));
    if (device->offload_bytes)
      DP_TRY(allocate(m, role, DP__SPACE__OFFLOAD, host, device->offload_bytes, &device->offload));
    for (int copy = 0; copy < DP_MEMORY_COPIES; copy++)
      DP_TRY(allocate(m, role, DP__SPACE__DEVICE_INPUT, (dp_place){.device = d}, device->input_bytes,
                      &device->input[copy]));
  }
  const Dp__Role *first = roles->roles[0].role;
  for (int copy = 0; copy < DP_MEMORY_COPIES; copy++)
    DP_TRY(allocate(m, first, DP__SPACE__HOST_INPUT, host, m->host_input_bytes, &m->host_input[copy]));
  for (int copy = 0; copy < m->n_outputs; copy++)
    DP_TRY(allocate(m, first, DP__SPACE__HOST_OUTPUT, host, m->host_output_bytes, &m->host_output[copy]));
  return DP_OK;
}

// Calls visit for every allocated arena and returns the sum of its results.
static uint64_t each_arena(const dp_memory *m,
                           uint64_t (*visit)(const dp_backend *backend, dp_place place, char *memory, uint64_t bytes)) {
  uint64_t sum = 0;
  const dp_place host = {.host = true};
  for (int d = 0; d < m->n_devices; d++) {
    const dp_device_memory *device = &m->devices[d];
    const dp_place place = {.device = d};
    if (device->variable) sum += visit(m->backend, place, device->variable, device->persistent_bytes);
    if (device->transient) sum += visit(m->backend, place, device->transient, device->transient_bytes);
    if (device->offload) sum += visit(m->backend, host, device->offload, device->offload_bytes);
    for (int copy = 0; copy < DP_MEMORY_COPIES; copy++)
      if (device->input[copy]) sum += visit(m->backend, place, device->input[copy], device->input_bytes);
  }
  for (int copy = 0; copy < DP_MEMORY_COPIES; copy++) {
    if (m->host_input[copy]) sum += visit(m->backend, host, m->host_input[copy], m->host_input_bytes);
    if (m->host_output[copy]) sum += visit(m->backend, host, m->host_output[copy], m->host_output_bytes);
  }
  return sum;
}

static uint64_t release(const dp_backend *backend, dp_place place, char *memory, uint64_t bytes) {
  backend->release(place, memory, bytes);
  return 0;
}

void dp_memory_release(dp_memory *m) { each_arena(m, release); }

static uint64_t resident(const dp_backend *backend, dp_place place, char *memory, uint64_t bytes) {
  (void)place;
  return backend->resident ? backend->resident(memory, bytes) : bytes;
}

uint64_t dp_memory_resident(const dp_memory *m) { return each_arena(m, resident); }

bool dp_memory_alternates(const dp_memory *m) {
  bool has = m->n_outputs > 1;
  for (int d = 0; d < m->n_devices; d++) has |= m->devices[d].input_bytes > 0;
  return has;
}

char *dp_memory_address(const dp_memory *m, const Dp__DeviceTensor *t, int device, int slot) {
  char *base = t->space == DP__SPACE__PERSISTENT     ? m->devices[device].variable
               : t->space == DP__SPACE__TRANSIENT    ? m->devices[device].transient
               : t->space == DP__SPACE__OFFLOAD      ? m->devices[device].offload
               : t->space == DP__SPACE__DEVICE_INPUT ? m->devices[device].input[slot]
               : t->space == DP__SPACE__HOST_INPUT   ? m->host_input[slot]
               : t->space == DP__SPACE__HOST_OUTPUT  ? m->host_output[m->n_outputs > 1 ? slot : 0]
                                                     : NULL;
  return base ? base + t->offset : NULL;
}

// ---- variables ----------------------------------------------------------------------------------------------

typedef struct {
  const dp_memory *memory;
  const dp_model *model;
  dp_arena *arena;
  int32_t variable;
  char *whole;
  bool write;
} moving;

static void move_blocks(const moving *m, char *storage) {
  const dp_type *type = m->model->variables[m->variable].type;
  int64_t extents[DP_MAX_RANK];
  dp_shape_at(&type->shape, 0, extents);
  if (m->write)
    dp_lay_to_weight_blocks(dp_type_bytes(type->dtype), extents, m->whole, storage);
  else
    dp_lay_from_weight_blocks(dp_type_bytes(type->dtype), extents, storage, m->whole);
}

// Copies one device's shard, at `storage` on the host, from or to its region of the whole tensor.
static void move_region(const moving *m, const dp_local *part, const dp_local *whole, char *storage) {
  if (m->model->variables[m->variable].layout == DP_LAYOUT_OIHW16I32O) {
    move_blocks(m, storage);
    return;
  }
  dp_region region = m->write ? dp_region_make(m->arena, part, whole) : dp_region_make(m->arena, whole, part);
  dp_region_apply(&region, DP_REGION_COPY, m->model->variables[m->variable].type->dtype, m->write ? storage : m->whole,
                  m->write ? m->whole : storage);
}

// The same for memory that only the device can use: the shard goes through `room` on the host.
static dp_status move_far(const moving *m, int device, const dp_local *part, const dp_local *whole, char *storage) {
  const dp_backend *backend = m->memory->backend;
  uint64_t bytes = (uint64_t)dp_local_count(part) * dp_type_bytes(m->model->variables[m->variable].type->dtype);
  char *room = dp_alloc(m->arena, bytes);
  if (!m->write) DP_TRY(backend->download(device, room, storage, bytes));
  move_region(m, part, whole, room);
  return m->write ? backend->upload(device, storage, room, bytes) : DP_OK;
}

// Its dims come in the order in which they lie.
static dp_local shard_of(const moving *m, int device) {
  const dp_variable *p = &m->model->variables[m->variable];
  int64_t at[DP_MAX_MESH] = {0};
  dp_mesh_coordinate(&m->model->mesh, device, at);
  const dp_local plain = dp_shard_range(&p->type->shape, p->placements, &m->model->mesh, at, 0);
  return dp_lay_local(&plain, p->layout);
}

static bool same_part(const dp_local *a, const dp_local *b) {
  for (int d = 0; d < a->rank; d++)
    if (a->lo[d] != b->lo[d] || a->hi[d] != b->hi[d]) return false;
  return true;
}

// Whether what the device holds can be read here: it is here, or another that holds the same is.
static bool can_read(const moving *m, int device, const dp_local *part) {
  bool here = dp_peers_here(m->memory->peers, device);
  for (int d = 0; d < m->memory->n_devices && !here; d++) {
    if (!dp_peers_here(m->memory->peers, d)) continue;
    if (!dp_role_map_holds(&m->model->mesh, &m->model->variables[m->variable], d)) continue;
    const dp_local other = shard_of(m, d);
    here = same_part(&other, part);
  }
  return here;
}

// Copies between each device's shard and the whole tensor. Devices with the same shard hold the same bytes, so it does
// not matter which of them is read last.
static dp_status move_shards(const moving *m) {
  const dp_variable *p = &m->model->variables[m->variable];
  const dp_mesh *mesh = &m->model->mesh;
  dp_placement nowhere[DP_MAX_MESH] = {0};
  int64_t at[DP_MAX_MESH] = {0};
  const dp_local plain = dp_shard_range(&p->type->shape, nowhere, mesh, at, 0);
  const dp_local whole = dp_lay_local(&plain, p->layout);
  for (int d = 0; d < m->memory->n_devices; d++) {
    if (!dp_role_map_holds(mesh, p, d)) continue;
    dp_local part = shard_of(m, d);
    if (!dp_local_count(&part)) continue;
    if (!m->write && !can_read(m, d, &part))
      return dp_fail(EX_UNAVAILABLE, "a part of '%s' is on device %d, in another process", p->name, d);
    if (!dp_peers_here(m->memory->peers, d)) continue;
    const dp_device_memory *device = &m->memory->devices[d];
    char *storage = (p->offloaded ? device->offload : device->variable) + p->offset;
    if (m->memory->backend->upload && !p->offloaded)
      DP_TRY(move_far(m, d, &part, &whole, storage));
    else
      move_region(m, &part, &whole, storage);
  }
  return DP_OK;
}

// A variable that lies in NHWC is plain to all but its devices: it changes its order here, going and coming.
static dp_status move_laid(void *arg) {
  moving *m = arg;
  const dp_type *type = m->model->variables[m->variable].type;
  if (m->model->variables[m->variable].layout != DP_LAYOUT_NHWC) return move_shards(m);
  char *const plain = m->whole;
  const size_t element_bytes = dp_type_bytes(type->dtype);
  int64_t extents[DP_MAX_RANK];
  dp_shape_at(&type->shape, 0, extents);
  m->whole = dp_alloc(m->arena, (size_t)dp_shape_count(&type->shape, 0) * element_bytes);
  if (m->write) dp_lay_to_nhwc(element_bytes, extents, plain, m->whole);
  DP_TRY(move_shards(m));
  if (!m->write) dp_lay_to_plain(element_bytes, extents, m->whole, plain);
  return DP_OK;
}

static dp_status move_variable(moving m) {
  m.arena = dp_arena_create(0);
  if (!m.arena) return dp_fail(DP_EX_MEMORY, "no memory to move '%s'", m.model->variables[m.variable].name);
  dp_status status = dp_arena_run(m.arena, move_laid, &m);
  dp_arena_destroy(m.arena);
  return status;
}

dp_status dp_memory_read(const dp_memory *memory, const dp_model *model, int32_t variable, void *whole) {
  return move_variable((moving){memory, model, NULL, variable, whole, false});
}

dp_status dp_memory_write(const dp_memory *memory, const dp_model *model, int32_t variable, const void *whole) {
  return move_variable((moving){memory, model, NULL, variable, (char *)(uintptr_t)whole, true});
}
