// See prompt.h.
#include "tools/run/prompt.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 16 << 20 };

static dp_status read_stdin(dp_arena *arena, const char **text, size_t *length) {
  char *bytes = NULL;
  size_t n = 0;
  for (int c; (c = getchar()) != EOF;) {
    if (n == MOST_BYTES) return dp_fail(EX_DATAERR, "--prompt=-: more than %d MiB", MOST_BYTES >> 20);
    DP_PUSH(arena, bytes, n, (char)c);
  }
  if (ferror(stdin))
    return errno == EINTR ? dp_fail(EX_TEMPFAIL, "interrupted while waiting for standard input")
                          : dp_fail(EX_IOERR, "--prompt=-: standard input: %s", strerror(errno));
  *length = n;
  DP_PUSH(arena, bytes, n, '\0');
  *text = bytes;
  return DP_OK;
}

static bool separates(char c) { return c == ',' || isspace((unsigned char)c); }

static dp_status parse_numbers(dp_arena *arena, const char *text, int64_t **tokens, int64_t *count) {
  for (const char *at = text; *at;) {
    if (separates(*at)) {
      at++;
      continue;
    }
    char *end;
    errno = 0;
    const long long token = strtoll(at, &end, 10);
    if (end == at || (*end && !separates(*end)) || errno || token < 0)
      return dp_fail(EX_USAGE, "--prompt: '%.20s': expected whole numbers, 0 or more, with white space or commas", at);
    DP_PUSH(arena, *tokens, *count, (int64_t)token);
    at = end;
  }
  return DP_OK;
}

dp_status dp_dprun_prompt_read(dp_arena *arena, const char *text, bool numbers, int64_t vocabulary, int64_t **tokens,
                               int64_t *count) {
  size_t length = strlen(text);
  int64_t *list = NULL, n = 0;
  if (!strcmp(text, "-")) DP_TRY(read_stdin(arena, &text, &length));
  if (numbers && strlen(text) != length) return dp_fail(EX_USAGE, "--prompt: it has a zero byte, so it is not text");
  if (numbers)
    DP_TRY(parse_numbers(arena, text, &list, &n));
  else
    for (size_t i = 0; i < length; i++) DP_PUSH(arena, list, n, (int64_t)(unsigned char)text[i]);
  if (!n) return dp_fail(EX_USAGE, "--prompt: it is empty, and the first token must follow something");
  for (int64_t i = 0; i < n; i++)
    if (list[i] >= vocabulary)
      return dp_fail(EX_DATAERR, "--prompt: %s %lld is %lld, but the model knows %lld tokens, from 0",
                     numbers ? "token" : "byte", (long long)i + 1, (long long)list[i], (long long)vocabulary);
  *tokens = list;
  *count = n;
  return DP_OK;
}
