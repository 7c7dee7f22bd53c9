// See memory.h.
#include "runtime/memory.h"

#include <unistd.h>

#include "ir/plan_check.h"
#include "runtime/region.h"

enum { MOST_DEVICES = 4096, LEAST_ALIGNMENT = 64 };

// ---- arenas ---------------------------------------------------------------------------------------------------------

static dp_status measure(dp_memory *m, const Dp__Role *role) {
  static const bool known[DP_MEMORY_SPACES] = {
      [DP__SPACE__PERSISTENT] = true,
      [DP__SPACE__TRANSIENT] = true,
      [DP__SPACE__HOST_INPUT] = true,
      [DP__SPACE__HOST_OUTPUT] = true,
  };
  for (size_t i = 0; i < role->n_arenas; i++) {
    const Dp__Arena *arena = role->arenas[i];
    if ((unsigned)arena->space >= DP_MEMORY_SPACES || !known[arena->space])
      return dp_fail(EX_UNAVAILABLE, "backend %s has no memory of kind %d, which the plan asks for", m->backend->name,
                     (int)arena->space);
    m->bytes[arena->space] = arena->bytes;
  }
  return DP_OK;
}

// What does not fit is refused before anything starts: memory that is taken page by page would fail in the middle of a step.
static dp_status check_room(const dp_memory *m) {
  uint64_t device = 0, total = 0, room = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  bool over = __builtin_add_overflow(m->bytes[DP__SPACE__PERSISTENT], m->bytes[DP__SPACE__TRANSIENT], &device) ||
              __builtin_mul_overflow(device, (uint64_t)m->n_devices, &total) ||
              __builtin_add_overflow(total, m->bytes[DP__SPACE__HOST_OUTPUT], &total);
  for (int copy = 0; copy < DP_MEMORY_HOST_COPIES; copy++)
    over |= __builtin_add_overflow(total, m->bytes[DP__SPACE__HOST_INPUT], &total);
  if (!over && (total <= room || !m->backend->computes)) return DP_OK;
  return dp_fail(
      DP_EX_MEMORY,
      "the plan takes %llu bytes on each of %d devices, and this machine has %llu in all: compile for a smaller "
      "batch (dpc compile --batch) or run on a larger machine",
      (unsigned long long)device, m->n_devices, (unsigned long long)room);
}

static dp_status allocate(dp_memory *m, const Dp__Role *role, Dp__Space space, char **memory) {
  uint64_t bytes = m->bytes[space];
  if (!bytes) return DP_OK;
  uint32_t alignment = dp_plan_check_arena(role, space)->alignment;
  *memory = m->backend->allocate(bytes, alignment > LEAST_ALIGNMENT ? alignment : LEAST_ALIGNMENT);
  if (*memory) {
    m->allocated[space] += bytes;
    return DP_OK;
  }
  return dp_fail(DP_EX_MEMORY,
                 "no memory for an arena of %llu bytes: compile for a smaller batch (dpc compile --batch)",
                 (unsigned long long)bytes);
}

dp_status dp_memory_make(dp_arena *arena, const Dp__Role *role, const dp_mesh *mesh, const dp_backend *backend,
                         dp_memory *m) {
  *m = (dp_memory){.backend = backend};
  int64_t devices = dp_mesh_devices(mesh);
  if (devices > MOST_DEVICES)
    return dp_fail(EX_UNAVAILABLE, "the plan is for %lld devices; backend %s plays at most %d", (long long)devices,
                   backend->name, MOST_DEVICES);
  DP_TRY(measure(m, role));
  m->devices = dp_alloc_n(arena, (size_t)devices, sizeof *m->devices);
  m->n_devices = (int)devices;
  DP_TRY(check_room(m));
  for (int d = 0; d < m->n_devices; d++) {
    DP_TRY(allocate(m, role, DP__SPACE__PERSISTENT, &m->devices[d].persistent));
    DP_TRY(allocate(m, role, DP__SPACE__TRANSIENT, &m->devices[d].transient));
  }
  for (int copy = 0; copy < DP_MEMORY_HOST_COPIES; copy++)
    DP_TRY(allocate(m, role, DP__SPACE__HOST_INPUT, &m->host_input[copy]));
  return allocate(m, role, DP__SPACE__HOST_OUTPUT, &m->host_output);
}

static void release(const dp_memory *m, Dp__Space space, char *memory) {
  if (memory) m->backend->release(memory, m->bytes[space]);
}

void dp_memory_release(dp_memory *m) {
  for (int d = 0; d < m->n_devices; d++) {
    release(m, DP__SPACE__PERSISTENT, m->devices[d].persistent);
    release(m, DP__SPACE__TRANSIENT, m->devices[d].transient);
  }
  for (int copy = 0; copy < DP_MEMORY_HOST_COPIES; copy++) release(m, DP__SPACE__HOST_INPUT, m->host_input[copy]);
  release(m, DP__SPACE__HOST_OUTPUT, m->host_output);
}

static uint64_t resident(const dp_memory *m, Dp__Space space, const char *memory) {
  if (!memory || !m->backend->resident) return memory ? m->bytes[space] : 0;
  return m->backend->resident(memory, m->bytes[space]);
}

uint64_t dp_memory_resident(const dp_memory *m) {
  uint64_t bytes = resident(m, DP__SPACE__HOST_OUTPUT, m->host_output);
  for (int d = 0; d < m->n_devices; d++)
    bytes += resident(m, DP__SPACE__PERSISTENT, m->devices[d].persistent) +
             resident(m, DP__SPACE__TRANSIENT, m->devices[d].transient);
  for (int copy = 0; copy < DP_MEMORY_HOST_COPIES; copy++)
    bytes += resident(m, DP__SPACE__HOST_INPUT, m->host_input[copy]);
  return bytes;
}

char *dp_memory_address(const dp_memory *m, const Dp__DeviceTensor *t, int device) {
  char *base = t->space == DP__SPACE__PERSISTENT    ? m->devices[device].persistent
               : t->space == DP__SPACE__TRANSIENT   ? m->devices[device].transient
               : t->space == DP__SPACE__HOST_INPUT  ? m->host_input[0]
               : t->space == DP__SPACE__HOST_OUTPUT ? m->host_output
                                                    : NULL;
  return base ? base + t->offset : NULL;
}

// ---- persistent values ----------------------------------------------------------------------------------------------

typedef struct {
  const dp_memory *memory;
  const dp_model *model;
  dp_arena *arena;
  int32_t persistent;
  char *whole;
  bool write;
} moving;

// Each device's shard and the whole tensor, one way or the other. Devices that hold the same part hold the same bytes, so
// that the last one read stands for all.
static dp_status move_shards(void *arg) {
  const moving *m = arg;
  const dp_persistent *p = &m->model->persistents[m->persistent];
  const dp_mesh *mesh = &m->model->mesh;
  dp_placement nowhere[DP_MAX_MESH] = {0};
  int64_t at[DP_MAX_MESH] = {0};
  dp_local whole = dp_shard_range(&p->type.shape, nowhere, mesh, at, 0);
  for (int d = 0; d < m->memory->n_devices; d++) {
    dp_mesh_coordinate(mesh, d, at);
    dp_local part = dp_shard_range(&p->type.shape, p->placements, mesh, at, 0);
    if (!dp_local_count(&part)) continue;
    char *home = m->memory->devices[d].persistent + p->offset;
    dp_region region = m->write ? dp_region_make(m->arena, &part, &whole) : dp_region_make(m->arena, &whole, &part);
    dp_region_apply(&region, DP_REGION_COPY, p->type.dtype, m->write ? home : m->whole, m->write ? m->whole : home);
  }
  return DP_OK;
}

static dp_status move_persistent(moving m) {
  m.arena = dp_arena_create(0);
  if (!m.arena) return dp_fail(DP_EX_MEMORY, "no memory to move '%s'", m.model->persistents[m.persistent].name);
  dp_status status = dp_arena_run(m.arena, move_shards, &m);
  dp_arena_destroy(m.arena);
  return status;
}

dp_status dp_memory_read(const dp_memory *memory, const dp_model *model, int32_t persistent, void *whole) {
  return move_persistent((moving){memory, model, NULL, persistent, whole, false});
}

dp_status dp_memory_write(const dp_memory *memory, const dp_model *model, int32_t persistent, const void *whole) {
  return move_persistent((moving){memory, model, NULL, persistent, (char *)(uintptr_t)whole, true});
}
