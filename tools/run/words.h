// Splits a text into words as a shell does.
#ifndef DP_TOOLS_RUN_WORDS_H
#define DP_TOOLS_RUN_WORDS_H

#include "ir/base/base.h"

typedef struct {
  int count;
  char **words;  // (count + 1) the last is NULL
} dp_words;

// Splits at white space. Quotes and backslashes mean what they mean to a POSIX shell (Shell Command Language, 2.2);
// nothing is expanded, so `$`, `*` and `~` stand for themselves. `first` becomes the first word. EX_USAGE: a quote is
// not closed, or a backslash ends the text. The words live in `arena`.
dp_status dp_words_split(dp_arena *arena, const char *first, const char *text, dp_words *words) DP_MUST_USE;

#endif
