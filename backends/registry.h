// The backends that the programs were built with, by name. backends/BUILD lists their folders.
#ifndef DP_BACKENDS_REGISTRY_H
#define DP_BACKENDS_REGISTRY_H

#include "backends/base/entry.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const dp_backend_entry *const dp_backend_entries[];  // made by the build; ends with NULL

const dp_backend_entry *dp_backend_find(const char *name);  // NULL when there is none
const dp_backend_entry *dp_backend_default(void);

#ifdef __cplusplus
}
#endif
#endif
