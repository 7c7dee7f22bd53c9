// See types.h. A hash table by open addressing.
#include "ir/graph/types.h"

struct dp_types {
  dp_arena *arena;
  uint32_t count, capacity;  // capacity: a power of two; at most half is taken
  const dp_type **slots;     // (capacity)
};

enum { FIRST_CAPACITY = 32 };

static uint64_t hash_of(const dp_type *type) {
  const size_t bytes = (size_t)type->shape.rank * sizeof *type->shape.dims;
  return dp_hash_table(type->shape.dims, bytes) + (uint64_t)type->dtype;
}

static const dp_type **probe(const dp_types *types, const dp_type *type) {
  for (uint64_t i = hash_of(type);; i++) {
    const dp_type **slot = &types->slots[i & (types->capacity - 1)];
    if (!*slot || dp_type_equal(*slot, type)) return slot;
  }
}

static void set_capacity(dp_types *types, uint32_t capacity) {
  types->capacity = capacity;
  types->slots = dp_alloc_n(types->arena, capacity, sizeof *types->slots);
}

dp_types *dp_types_create(dp_arena *arena) {
  dp_types *types = dp_alloc(arena, sizeof *types);
  types->arena = arena;
  set_capacity(types, FIRST_CAPACITY);
  return types;
}

static void grow(dp_types *types) {
  const dp_types before = *types;
  set_capacity(types, 2 * before.capacity);
  for (uint32_t i = 0; i < before.capacity; i++)
    if (before.slots[i]) *probe(types, before.slots[i]) = before.slots[i];
}

size_t dp_types_probes(const dp_types *types) {
  size_t probes = 0;
  for (uint32_t i = 0; i < types->capacity; i++)
    if (types->slots[i]) probes += 1 + ((i - hash_of(types->slots[i])) & (types->capacity - 1));
  return probes;
}

const dp_type *dp_types_share(dp_types *types, const dp_type *type) {
  const dp_type **slot = probe(types, type);
  if (*slot) return *slot;
  if (2 * (types->count + 1) > types->capacity) {
    grow(types);
    slot = probe(types, type);
  }
  types->count++;
  return *slot = dp_memdup(types->arena, type, sizeof *type);
}
