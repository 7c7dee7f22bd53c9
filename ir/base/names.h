// A map from names to numbers, by open addressing: finds values and nodes by name, and keeps names unique.
#ifndef DP_IR_BASE_NAMES_H
#define DP_IR_BASE_NAMES_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_names dp_names;

dp_names *dp_names_create(dp_arena *arena);
// One whose names dp_names_enter and dp_names_unique keep in another arena, and so outlive the map.
dp_names *dp_names_create_keeping(dp_arena *arena, dp_arena *kept);
// One whose names are kept in `strings` instead, and live as long as those of that one: equal names of several maps are
// one string there.
dp_names *dp_names_create_sharing(dp_arena *arena, dp_names *strings);
int32_t dp_names_find(const dp_names *names, const char *name);        // -1 when absent
void dp_names_add(dp_names *names, const char *name, int32_t number);  // the name must be absent; it is not copied
// Whether the names are exactly those of items 0 .. count - 1, each the very string that `name_of` returns. Faster than
// finding each. False does not mean that the spelling differs.
bool dp_names_are(const dp_names *names, int32_t count, const char *(*name_of)(const void *context, int32_t number),
                  const void *context);
// How many slots are looked at to find each name once.
size_t dp_names_probes(const dp_names *names);
// Gives each name another number, or removes it where that is -1.
void dp_names_renumber(dp_names *names, int32_t (*number_now)(const void *context, int32_t number),
                       const void *context);
void dp_names_clear(dp_names *names);  // keeps the memory for other names
// `wanted`, or, if that is taken, `wanted` with ".1", ".2" ... appended; in the arena, or where strings are shared.
const char *dp_names_unique(dp_names *names, const char *wanted);
// Adds what dp_names_unique returns, and returns it. Faster than both.
const char *dp_names_enter(dp_names *names, const char *wanted, int32_t number);
// The same of a name that lasts as long as the map, which is not copied.
const char *dp_names_enter_kept(dp_names *names, const char *wanted, int32_t number);

#ifdef __cplusplus
}
#endif
#endif
