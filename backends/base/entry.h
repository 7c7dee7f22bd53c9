// What a backend tells the programs: one const struct in its folder's entry.c. See backends/registry.h.
#ifndef DP_BACKENDS_BASE_ENTRY_H
#define DP_BACKENDS_BASE_ENTRY_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dp_backend;  // runtime/base/backend.h

typedef struct {
  const char *name;         // of --target and --device; the target's too
  const dp_target *target;  // what dpc makes plans for
  bool everywhere;          // every machine has it: what plans are for where nobody says
  // Opens what dprun runs them on, which lives as long as the process. devices: which ones, as --device=NAME:DEVICES says;
  // NULL: nobody does. EX_USAGE for devices of which there can be none, EX_UNAVAILABLE for what this machine lacks.
  dp_status (*open)(const char *devices, const struct dp_backend **backend);
} dp_backend_entry;

#ifdef __cplusplus
}
#endif
#endif
