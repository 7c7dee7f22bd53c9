// A set of types, each once: equal ones are one pointer, which lasts as long as the set's arena and never changes.
#ifndef DP_IR_GRAPH_TYPES_H
#define DP_IR_GRAPH_TYPES_H

#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dp_types dp_types;

dp_types *dp_types_create(dp_arena *arena);
// The set's own copy of a type.
const dp_type *dp_types_share(dp_types *types, const dp_type *type);
// How many slots are looked at to find each type once.
size_t dp_types_probes(const dp_types *types);

#ifdef __cplusplus
}
#endif
#endif
