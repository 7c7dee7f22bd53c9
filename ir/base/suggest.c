// Nearest words by edit distance (insertion, deletion, substitution, transposition). See suggest.h.
#include "ir/base/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 63 };  // longer words get no suggestion

static bool same(char a, char b) { return tolower((unsigned char)a) == tolower((unsigned char)b); }

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

// What it costs to take one letter for another. In a word of up to three letters, another first letter or digit makes
// another word, which is no slip: gpu is not cpu, l2 is not l1.
static size_t substitution(char a, char b, bool first, bool is_short) {
  if (same(a, b)) return 0;
  return is_short && (first || isdigit((unsigned char)a) || isdigit((unsigned char)b)) ? 2 : 1;
}

// Optimal string alignment distance over three rows of the table.
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  const bool is_short = a_length <= 3;
  size_t rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t j = 0; j <= b_length; j++) before[j] = last[j] = j;
  for (size_t i = 1; i <= a_length; i++) {
    row[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      row[j] = least(least(last[j], row[j - 1]) + 1,
                     last[j - 1] + substitution(a[i - 1], b[j - 1], i == 1 && j == 1, is_short));
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        row[j] = least(row[j], before[j - 2] + 1);
    }
    size_t *oldest = before;
    before = last;
    last = row;
    row = oldest;
  }
  return last[b_length];
}

void dp_suggest_offer(dp_suggest *suggest, const char *candidate) {
  size_t length = strlen(suggest->word), other = strlen(candidate);
  if (!length || length > LONGEST || other > LONGEST) return;
  size_t distance = edit_distance(suggest->word, length, candidate, other);
  if (3 * distance > length + 1 || (suggest->best && distance >= suggest->distance)) return;
  suggest->best = candidate;
  suggest->distance = distance;
}

char *dp_suggest_print(const dp_suggest *suggest, char *text, size_t bytes) {
  text[0] = 0;
  if (suggest->best) snprintf(text, bytes, "; did you mean '%s'?", suggest->best);
  return text;
}
