// See memory.h.
#include "runtime/bind/memory.h"

#include <unistd.h>

#include "ir/plan/form.h"
#include "runtime/comm/region.h"

// ---- arenas ---------------------------------------------------------------------------------------------------------

static uint64_t bytes_of(const Dp__Role *role, Dp__Space space) {
  const Dp__Arena *arena = dp_plan_form_arena(role, space);
  return arena ? arena->bytes : 0;
}

static dp_status check_spaces(const dp_memory *m, const Dp__Role *role) {
  static const bool known[DP_MEMORY_SPACES] = {
      [DP__SPACE__PERSISTENT] = true,
      [DP__SPACE__TRANSIENT] = true,
      [DP__SPACE__HOST_INPUT] = true,
      [DP__SPACE__HOST_OUTPUT] = true,
  };
  for (size_t i = 0; i < role->n_arenas; i++) {
    const Dp__Arena *arena = role->arenas[i];
    if ((unsigned)arena->space >= DP_MEMORY_SPACES || !known[arena->space])
      return dp_fail(EX_UNAVAILABLE, "the plan uses memory of kind %d, which backend %s does not have",
                     (int)arena->space, m->backend->name);
  }
  return DP_OK;
}

static void measure(dp_memory *m, const dp_role_devices *r) {
  uint64_t input = bytes_of(r->role, DP__SPACE__HOST_INPUT), output = bytes_of(r->role, DP__SPACE__HOST_OUTPUT);
  if (input > m->host_input_bytes) m->host_input_bytes = input;
  if (output > m->host_output_bytes) m->host_output_bytes = output;
  for (int i = 0; i < r->n_devices; i++) {
    m->devices[r->devices[i]].persistent_bytes = bytes_of(r->role, DP__SPACE__PERSISTENT);
    m->devices[r->devices[i]].transient_bytes = bytes_of(r->role, DP__SPACE__TRANSIENT);
  }
}

// Refuses up front what cannot fit: the system commits memory page by page, so the run would otherwise fail in the
// middle of a step.
static dp_status check_room(const dp_memory *m) {
  uint64_t most = 0, total = 0, room = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  bool over = false;
  for (int d = 0; d < m->n_devices; d++) {
    uint64_t device;
    over |= __builtin_add_overflow(m->devices[d].persistent_bytes, m->devices[d].transient_bytes, &device) ||
            __builtin_add_overflow(total, device, &total);
    if (!over && device > most) most = device;
  }
  over |= __builtin_add_overflow(total, m->host_output_bytes, &total);
  for (int copy = 0; copy < DP_MEMORY_HOST_COPIES; copy++)
    over |= __builtin_add_overflow(total, m->host_input_bytes, &total);
  if (!over && (total <= room || !m->backend->computes)) return DP_OK;
  return dp_fail(
      DP_EX_MEMORY,
      "the plan needs %llu bytes on each of %d devices, but this machine has only %llu in total: compile for a smaller "
      "batch (dpc compile --batch) or run on a larger machine",
      (unsigned long long)most, m->n_devices, (unsigned long long)room);
}

static dp_status allocate(dp_memory *m, const Dp__Role *role, Dp__Space space, uint64_t bytes, char **memory) {
  if (!bytes) return DP_OK;
  const Dp__Arena *arena = dp_plan_form_arena(role, space);
  const uint32_t least = m->backend->target->alignment, asked = arena ? arena->alignment : 0;
  *memory = m->backend->allocate(bytes, asked > least ? asked : least);
  if (*memory) {
    m->allocated[space] += bytes;
    return DP_OK;
  }
  return dp_fail(DP_EX_MEMORY,
                 "no memory for an arena of %llu bytes: compile for a smaller batch (dpc compile --batch)",
                 (unsigned long long)bytes);
}

dp_status dp_memory_make(dp_arena *arena, const dp_role_map *roles, const dp_backend *backend, dp_memory *m) {
  *m = (dp_memory){.backend = backend, .n_devices = roles->n_devices};
  m->devices = dp_alloc_n(arena, (size_t)m->n_devices, sizeof *m->devices);
  for (int i = 0; i < roles->n_roles; i++) {
    DP_TRY(check_spaces(m, roles->roles[i].role));
    measure(m, &roles->roles[i]);
  }
  DP_TRY(check_room(m));
  for (int d = 0; d < m->n_devices; d++) {
    const Dp__Role *role = roles->roles[roles->of_device[d]].role;
    dp_device_memory *device = &m->devices[d];
    DP_TRY(allocate(m, role, DP__SPACE__PERSISTENT, device->persistent_bytes, &device->variable));
    DP_TRY(allocate(m, role, DP__SPACE__TRANSIENT, device->transient_bytes, &device->transient));
  }
  const Dp__Role *first = roles->roles[0].role;
  for (int copy = 0; copy < DP_MEMORY_HOST_COPIES; copy++)
    DP_TRY(allocate(m, first, DP__SPACE__HOST_INPUT, m->host_input_bytes, &m->host_input[copy]));
  return allocate(m, first, DP__SPACE__HOST_OUTPUT, m->host_output_bytes, &m->host_output);
}

// Calls visit for every allocated arena and returns the sum of its results.
static uint64_t each_arena(const dp_memory *m,
                           uint64_t (*visit)(const dp_backend *backend, char *memory, uint64_t bytes)) {
  uint64_t sum = 0;
  for (int d = 0; d < m->n_devices; d++) {
    const dp_device_memory *device = &m->devices[d];
    if (device->variable) sum += visit(m->backend, device->variable, device->persistent_bytes);
    if (device->transient) sum += visit(m->backend, device->transient, device->transient_bytes);
  }
  for (int copy = 0; copy < DP_MEMORY_HOST_COPIES; copy++)
    if (m->host_input[copy]) sum += visit(m->backend, m->host_input[copy], m->host_input_bytes);
  return m->host_output ? sum + visit(m->backend, m->host_output, m->host_output_bytes) : sum;
}

static uint64_t release(const dp_backend *backend, char *memory, uint64_t bytes) {
  backend->release(memory, bytes);
  return 0;
}

void dp_memory_release(dp_memory *m) { each_arena(m, release); }

static uint64_t resident(const dp_backend *backend, char *memory, uint64_t bytes) {
  return backend->resident ? backend->resident(memory, bytes) : bytes;
}

uint64_t dp_memory_resident(const dp_memory *m) { return each_arena(m, resident); }

char *dp_memory_address(const dp_memory *m, const Dp__DeviceTensor *t, int device) {
  char *base = t->space == DP__SPACE__PERSISTENT    ? m->devices[device].variable
               : t->space == DP__SPACE__TRANSIENT   ? m->devices[device].transient
               : t->space == DP__SPACE__HOST_INPUT  ? m->host_input[0]
               : t->space == DP__SPACE__HOST_OUTPUT ? m->host_output
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

// Copies between each device's shard and the whole tensor. Devices with the same shard hold the same bytes, so it does
// not matter which of them is read last.
static dp_status move_shards(void *arg) {
  const moving *m = arg;
  const dp_variable *p = &m->model->variables[m->variable];
  const dp_mesh *mesh = &m->model->mesh;
  dp_placement nowhere[DP_MAX_MESH] = {0};
  int64_t at[DP_MAX_MESH] = {0};
  dp_local whole = dp_shard_range(&p->type.shape, nowhere, mesh, at, 0);
  for (int d = 0; d < m->memory->n_devices; d++) {
    if (!dp_role_map_holds(mesh, p, d)) continue;
    dp_mesh_coordinate(mesh, d, at);
    dp_local part = dp_shard_range(&p->type.shape, p->placements, mesh, at, 0);
    if (!dp_local_count(&part)) continue;
    char *storage = m->memory->devices[d].variable + p->offset;
    dp_region region = m->write ? dp_region_make(m->arena, &part, &whole) : dp_region_make(m->arena, &whole, &part);
    dp_region_apply(&region, DP_REGION_COPY, p->type.dtype, m->write ? storage : m->whole,
                    m->write ? m->whole : storage);
  }
  return DP_OK;
}

static dp_status move_variable(moving m) {
  m.arena = dp_arena_create(0);
  if (!m.arena) return dp_fail(DP_EX_MEMORY, "no memory to move '%s'", m.model->variables[m.variable].name);
  dp_status status = dp_arena_run(m.arena, move_shards, &m);
  dp_arena_destroy(m.arena);
  return status;
}

dp_status dp_memory_read(const dp_memory *memory, const dp_model *model, int32_t variable, void *whole) {
  return move_variable((moving){memory, model, NULL, variable, whole, false});
}

dp_status dp_memory_write(const dp_memory *memory, const dp_model *model, int32_t variable, const void *whole) {
  return move_variable((moving){memory, model, NULL, variable, (char *)(uintptr_t)whole, true});
}
