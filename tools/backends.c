// See backends.h.
#include "tools/backends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/suggest.h"

dp_status dp_cli_backend(dp_arena *arena, const char *option, const char *text, const dp_backend_entry **entry,
                         const char **more) {
  const size_t length = strcspn(text, ":");
  const char *name = dp_strndup(arena, text, length);
  *more = text[length] ? text + length + 1 : NULL;
  *entry = dp_backend_find(name);
  if (*entry) return DP_OK;
  dp_suggest suggest = dp_suggest_begin(name);
  for (const dp_backend_entry *const *e = dp_backend_entries; *e; e++) dp_suggest_offer(&suggest, (*e)->name);
  const char *all = "";
  for (const dp_backend_entry *const *e = dp_backend_entries; *e; e++)
    all = dp_printf(arena, "%s%s%s", all, *all ? ", " : "", (*e)->name);
  char hint[128];
  return dp_fail(EX_USAGE, "--%s=%s: unknown backend; give %s%s", option, text, all,
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

char *dp_cli_backend_help(const char *about) {
  char *text = NULL;
  size_t bytes;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  fputs(about, out);
  for (const dp_backend_entry *const *e = dp_backend_entries; *e; e++)
    fprintf(out, "%s%s", e == dp_backend_entries ? ": " : ", ", (*e)->name);
  fclose(out);
  return text;
}
