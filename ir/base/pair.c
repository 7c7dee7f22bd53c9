// See pair.h.
#include "ir/base/pair.h"

#include <string.h>

bool dp_pair_split(dp_arena *arena, const char *text, const char **name, const char **rest) {
  const char *end = *text == '"' ? strchr(text + 1, '"') : NULL;
  const bool quoted = end && end[1] == '=';
  const char *first = text + quoted, *equals = quoted ? end + 1 : strchr(text, '=');
  const size_t length = quoted ? (size_t)(end - first) : equals ? (size_t)(equals - first) : 0;
  if (!equals || !length || !equals[1]) return false;
  *name = dp_strndup(arena, first, length);
  *rest = equals + 1;
  return true;
}
