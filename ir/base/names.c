// See names.h. The names lie in the order in which they were added; a hash table has their indices. A table of its own
// holds the last suffix of each name that was wanted again, so that many equal names take linear time.
#include "ir/base/names.h"

#include <string.h>

typedef struct {
  const char *name;
  uint32_t hash;
  int32_t number;
} entry;

typedef struct {
  uint32_t hash, index;  // index: of the entry, plus 1; 0: the slot is empty
} slot;

struct dp_names {
  dp_arena *arena, *kept;    // kept: of names
  uint32_t count, capacity;  // capacity: of the slots, a power of two; at most three quarters are taken
  entry *entries;            // (count)
  slot *slots;               // (capacity)
  dp_names *suffixes;        // NULL: none yet
  dp_names *strings;         // that names are kept in; NULL: in the arena
};

enum { FIRST_CAPACITY = 8 };

static uint32_t hash_of(const char *name) { return (uint32_t)dp_hash_table(name, strlen(name)); }

dp_names *dp_names_create(dp_arena *arena) {
  dp_names *names = dp_alloc(arena, sizeof *names);
  names->arena = names->kept = arena;
  names->capacity = FIRST_CAPACITY;
  names->slots = dp_alloc_n(arena, names->capacity, sizeof(slot));
  return names;
}

dp_names *dp_names_create_keeping(dp_arena *arena, dp_arena *kept) {
  dp_names *names = dp_names_create(arena);
  names->kept = kept;
  return names;
}

dp_names *dp_names_create_sharing(dp_arena *arena, dp_names *strings) {
  dp_names *names = dp_names_create(arena);
  names->strings = strings;
  return names;
}

// Lookups mostly pass the very string that was added, so the pointers are compared first.
static slot *probe(const dp_names *names, const char *name, uint32_t hash) {
  for (uint32_t i = hash;; i++) {
    slot *s = &names->slots[i & (names->capacity - 1)];
    if (!s->index) return s;
    const char *has = names->entries[s->index - 1].name;
    if (s->hash == hash && (has == name || !strcmp(has, name))) return s;
  }
}

int32_t dp_names_find(const dp_names *names, const char *name) {
  const slot *s = probe(names, name, hash_of(name));
  return s->index ? names->entries[s->index - 1].number : -1;
}

// Enters all names again; they differ.
static void fill_slots(dp_names *names) {
  for (uint32_t e = 0; e < names->count; e++) {
    uint32_t i = names->entries[e].hash & (names->capacity - 1);
    while (names->slots[i].index) i = (i + 1) & (names->capacity - 1);
    names->slots[i] = (slot){names->entries[e].hash, e + 1};
  }
}

static void add(dp_names *names, const char *name, uint32_t hash, int32_t number) {
  const entry one = {name, hash, number};
  if (4 * (names->count + 1) > 3 * names->capacity) {
    names->capacity *= 2;
    names->slots = dp_alloc_n(names->arena, names->capacity, sizeof(slot));
    fill_slots(names);
  }
  slot *s = probe(names, name, hash);
  DP_PUSH(names->arena, names->entries, names->count, one);
  *s = (slot){hash, names->count};
}

void dp_names_add(dp_names *names, const char *name, int32_t number) { add(names, name, hash_of(name), number); }

bool dp_names_are(const dp_names *names, int32_t count, const char *(*name_of)(const void *context, int32_t number),
                  const void *context) {
  if (names->count != (uint32_t)count) return false;
  for (uint32_t e = 0; e < names->count; e++) {
    const entry *one = &names->entries[e];
    if (one->number < 0 || one->number >= count || name_of(context, one->number) != one->name) return false;
  }
  return true;
}

size_t dp_names_probes(const dp_names *names) {
  size_t probes = 0;
  for (uint32_t i = 0; i < names->capacity; i++)
    if (names->slots[i].index) probes += 1 + ((i - names->slots[i].hash) & (names->capacity - 1));
  return probes;
}

static void forget_suffixes(dp_names *names) {
  if (names->suffixes) dp_names_clear(names->suffixes);
}

void dp_names_clear(dp_names *names) {
  memset(names->slots, 0, names->capacity * sizeof(slot));
  names->count = 0;
  forget_suffixes(names);
}

void dp_names_renumber(dp_names *names, int32_t (*number_now)(const void *context, int32_t number),
                       const void *context) {
  const uint32_t count = names->count;
  names->count = 0;
  for (uint32_t e = 0; e < count; e++) {
    entry one = names->entries[e];
    one.number = number_now(context, one.number);
    if (one.number >= 0) names->entries[names->count++] = one;
  }
  forget_suffixes(names);
  if (names->count == count) return;
  memset(names->slots, 0, names->capacity * sizeof(slot));
  fill_slots(names);
}

// The name, in memory that lasts.
static const char *keep(dp_names *names, const char *name, uint32_t hash) {
  if (!names->strings) return dp_strdup(names->kept, name);
  const slot *s = probe(names->strings, name, hash);
  if (s->index) return names->strings->entries[s->index - 1].name;
  const char *own = dp_strdup(names->strings->kept, name);
  add(names->strings, own, hash, 0);
  return own;
}

// `taken`, a name of the table, with the next suffix that makes it new.
static const char *with_suffix(dp_names *names, const entry *taken) {
  if (!names->suffixes) names->suffixes = dp_names_create(names->arena);
  if (!probe(names->suffixes, taken->name, taken->hash)->index) add(names->suffixes, taken->name, taken->hash, 0);
  entry *last = &names->suffixes->entries[probe(names->suffixes, taken->name, taken->hash)->index - 1];
  for (;;) {
    const char *name = dp_printf(names->kept, "%s.%d", taken->name, ++last->number);
    if (dp_names_find(names, name) < 0) return names->strings ? keep(names, name, hash_of(name)) : name;
  }
}

const char *dp_names_unique(dp_names *names, const char *wanted) {
  const uint32_t hash = hash_of(wanted);
  const slot *s = probe(names, wanted, hash);
  return s->index ? with_suffix(names, &names->entries[s->index - 1]) : keep(names, wanted, hash);
}

static const char *enter(dp_names *names, const char *wanted, int32_t number, bool kept) {
  const uint32_t hash = hash_of(wanted);
  const slot *s = probe(names, wanted, hash);
  if (s->index) {
    const char *name = with_suffix(names, &names->entries[s->index - 1]);
    dp_names_add(names, name, number);
    return name;
  }
  const char *name = kept ? wanted : keep(names, wanted, hash);
  add(names, name, hash, number);
  return name;
}

const char *dp_names_enter(dp_names *names, const char *wanted, int32_t number) {
  return enter(names, wanted, number, false);
}

const char *dp_names_enter_kept(dp_names *names, const char *wanted, int32_t number) {
  return enter(names, wanted, number, true);
}
