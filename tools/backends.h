// --target and --device: backends by name.
#ifndef DP_TOOLS_BACKENDS_H
#define DP_TOOLS_BACKENDS_H

#include "backends/registry.h"

// The backend that NAME or NAME:MORE names. *more: NULL where there is no colon. EX_USAGE: there is none of that name;
// EX_UNAVAILABLE: it is not built.
dp_status dp_cli_backend(dp_arena *arena, const char *option, const char *text, const dp_backend_entry **entry,
                         const char **more) DP_MUST_USE;
// What --help says of an option whose text is `about`: that, and which names there are. The caller frees it.
char *dp_cli_backend_help(const char *about);

#endif
