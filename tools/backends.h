// --target and --device: backends by name.
#ifndef DP_TOOLS_BACKENDS_H
#define DP_TOOLS_BACKENDS_H

#include "backends/registry.h"

// Finds the backend of NAME or NAME:MORE. *more: NULL if there is no colon. EX_USAGE: unknown name; EX_UNAVAILABLE: not
// built.
dp_status dp_cli_backend(dp_arena *arena, const char *option, const char *text, const dp_backend_entry **entry,
                         const char **more) DP_MUST_USE;
// The --help text of an option: `about` and the names of the backends. The caller frees it.
char *dp_cli_backend_help(const char *about);

#endif
