// See names.h. Each base name that was ever made unique remembers its last suffix, so that many equal names take linear
// time.
#include "ir/base/names.h"

#include <string.h>

typedef struct {
  const char *name;
  uint64_t hash;
  int32_t number, last_suffix;
} slot;

struct dp_names {
  dp_arena *arena;
  size_t count, capacity;  // capacity: a power of two, at most half full
  slot *slots;
};

dp_names *dp_names_create(dp_arena *arena) {
  dp_names *names = dp_alloc(arena, sizeof *names);
  names->arena = arena;
  names->capacity = 16;
  names->slots = dp_alloc_n(arena, names->capacity, sizeof(slot));
  return names;
}

// Lookups mostly pass the very string that was added, so the pointers are compared first.
static bool slot_has_name(const slot *s, const char *name, uint64_t hash) {
  return s->hash == hash && (s->name == name || !strcmp(s->name, name));
}

static slot *probe(const dp_names *names, const char *name, uint64_t hash) {
  size_t i = hash & (names->capacity - 1);
  while (names->slots[i].name && !slot_has_name(&names->slots[i], name, hash)) i = (i + 1) & (names->capacity - 1);
  return &names->slots[i];
}

int32_t dp_names_find(const dp_names *names, const char *name) {
  const slot *s = probe(names, name, dp_hash64(name, strlen(name)));
  return s->name ? s->number : -1;
}

static void enlarge(dp_names *names) {
  slot *old = names->slots;
  size_t old_capacity = names->capacity;
  names->capacity *= 2;
  names->slots = dp_alloc_n(names->arena, names->capacity, sizeof(slot));
  for (size_t i = 0; i < old_capacity; i++)
    if (old[i].name) *probe(names, old[i].name, old[i].hash) = old[i];
}

void dp_names_add(dp_names *names, const char *name, int32_t number) {
  if (2 * (names->count + 1) > names->capacity) enlarge(names);
  uint64_t hash = dp_hash64(name, strlen(name));
  *probe(names, name, hash) = (slot){name, hash, number, 0};
  names->count++;
}

bool dp_names_are(const dp_names *names, int32_t count, const char *(*name_of)(const void *context, int32_t number),
                  const void *context) {
  if (names->count != (size_t)count) return false;
  for (size_t i = 0; i < names->capacity; i++) {
    const slot *s = &names->slots[i];
    if (s->name && (s->number < 0 || s->number >= count || name_of(context, s->number) != s->name)) return false;
  }
  return true;
}

void dp_names_clear(dp_names *names) {
  memset(names->slots, 0, names->capacity * sizeof(slot));
  names->count = 0;
}

const char *dp_names_unique(dp_names *names, const char *wanted) {
  slot *s = probe(names, wanted, dp_hash64(wanted, strlen(wanted)));
  if (!s->name) return dp_strdup(names->arena, wanted);
  for (;;) {
    const char *name = dp_printf(names->arena, "%s.%d", wanted, ++s->last_suffix);
    if (dp_names_find(names, name) < 0) return name;
  }
}
