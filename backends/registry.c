// See registry.h.
#include "backends/registry.h"

#include <string.h>

const dp_backend_entry *dp_backend_find(const char *name) {
  for (const dp_backend_entry *const *e = dp_backend_entries; *e; e++)
    if (!strcmp((*e)->name, name)) return *e;
  return NULL;
}

const dp_backend_entry *dp_backend_default(void) {
  const dp_backend_entry *const *e = dp_backend_entries;
  while (!(*e)->everywhere) e++;
  return *e;
}
