// See words.h.
#include "tools/run/words.h"

#include <string.h>

static const char space[] = " \t\n";

// A backslash that ends a line joins it with the next.
static bool joins_lines(const char *at) { return at[0] == '\\' && at[1] == '\n'; }

static const char *skip_space(const char *at) {
  while ((*at && strchr(space, *at)) || joins_lines(at)) at += joins_lines(at) ? 2 : 1;
  return at;
}

// Between double quotes, a backslash quotes these alone.
static bool is_special(char c) { return c && strchr("$`\"\\", c); }

// Appends one part of a word to `to`: a character, or what is between quotes. Returns what follows it; NULL: a quote is
// not closed, or a backslash ends the text.
static const char *take_part(const char *at, char **to) {
  const char quote = *at;
  if (joins_lines(at)) return at + 2;
  if (quote == '\\' && !at[1]) return NULL;
  if (quote == '\\') at++;
  if (quote != '\'' && quote != '"') {
    *(*to)++ = *at;
    return at + 1;
  }
  for (at++; *at && *at != quote; at++) {
    if (quote == '"' && joins_lines(at)) {
      at++;
      continue;
    }
    if (quote == '"' && *at == '\\' && is_special(at[1])) at++;
    *(*to)++ = *at;
  }
  return *at ? at + 1 : NULL;
}

dp_status dp_words_split(dp_arena *arena, const char *first, const char *text, dp_words *words) {
  dp_words w = {0};
  char *to = dp_alloc(arena, strlen(text) + 1), *word = dp_strdup(arena, first);
  DP_PUSH(arena, w.words, w.count, word);
  for (const char *at = text; *(at = skip_space(at));) {
    word = to;
    while (*at && !strchr(space, *at)) {
      at = take_part(at, &to);
      if (!at) return dp_fail(EX_USAGE, "'%s': a quote is not closed, or nothing follows a backslash", text);
    }
    *to++ = 0;
    DP_PUSH(arena, w.words, w.count, word);
  }
  word = NULL;
  DP_PUSH(arena, w.words, w.count, word);
  w.count--;
  *words = w;
  return DP_OK;
}
