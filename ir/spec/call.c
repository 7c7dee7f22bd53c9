// Parses a SPEC's syntax: name(arg, key=value, ...), and sums of such calls. See call.h.
#include "ir/spec/call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  dp_arena *arena;
  dp_spec_origin origin;
  const char *text, *at;
} reader;

static dp_status malformed(const reader *r, const char *expected) {
  return dp_fail(r->origin.exit_code, "%s: '%s': %s is expected %s%s", r->origin.name, r->text, expected,
                 *r->at ? "at " : "at its end", *r->at ? dp_printf(r->arena, "'%s'", r->at) : "");
}

static void skip_space(reader *r) { r->at += strspn(r->at, " \t\n\r"); }

static bool take_char(reader *r, char c) {
  skip_space(r);
  if (*r->at != c) return false;
  r->at++;
  skip_space(r);
  return true;
}

static dp_status take_word(reader *r, const char *what, const char **word) {
  skip_space(r);
  bool quoted = *r->at == '"';
  const char *first = r->at + quoted;
  size_t length = strcspn(first, quoted ? "\"" : " \t\n\r(),=\"");
  if (!length || (quoted && !first[length])) return malformed(r, what);
  *word = dp_strndup(r->arena, first, length);
  r->at = first + length + quoted;
  return DP_OK;
}

// A word, or a list in brackets, which is one word with its brackets.
static dp_status take_value(reader *r, const char **word) {
  skip_space(r);
  if (*r->at != '[') return take_word(r, "a value", word);
  size_t length = strcspn(r->at, "]");
  if (!r->at[length]) return malformed(r, "a list that ends with ']'");
  *word = dp_strndup(r->arena, r->at, length + 1);
  r->at += length + 1;
  return DP_OK;
}

static dp_status take_call(reader *r, dp_spec_call *call) {
  *call = (dp_spec_call){0};
  DP_TRY(take_word(r, "a name", &call->name));
  if (!take_char(r, '(')) return malformed(r, "'('");
  for (bool first = true; !take_char(r, ')'); first = false) {
    if (!first && !take_char(r, ',')) return malformed(r, "',' or ')'");
    if (call->n_arguments == DP_SPEC_MAX_ARGUMENTS) return malformed(r, "')': that is more than any call takes, which");
    dp_spec_argument a = {0};
    DP_TRY(take_word(r, first ? "an argument or ')'" : "an argument", &a.text));
    if (take_char(r, '=')) {
      a.key = a.text;
      DP_TRY(take_value(r, &a.text));
    }
    call->arguments[call->n_arguments++] = a;
  }
  skip_space(r);
  return DP_OK;
}

dp_status dp_spec_call_read(dp_arena *arena, dp_spec_origin origin, const char *text, dp_spec_call *call) {
  reader reading = {arena, origin, text, text}, *r = &reading;
  DP_TRY(take_call(r, call));
  return *r->at ? malformed(r, "nothing more") : DP_OK;
}

// A number and '*', if one is there. Names of calls do not begin with digits.
static dp_status take_factor(reader *r, double *factor) {
  skip_space(r);
  if (!*r->at || !strchr("0123456789.", *r->at)) return DP_OK;
  char *end;
  const double number = strtod(r->at, &end);
  if (end == r->at || !isfinite(number)) return malformed(r, "a finite number");
  r->at = end;
  *factor *= number;
  return take_char(r, '*') ? DP_OK : malformed(r, "'*'");
}

dp_status dp_spec_sum_read(dp_arena *arena, dp_spec_origin origin, const char *text, int *n_addends,
                           dp_spec_addend **addends) {
  reader reading = {arena, origin, text, text}, *r = &reading;
  *n_addends = 0;
  *addends = NULL;
  do {
    const bool minus = take_char(r, '-');
    if (!minus && !take_char(r, '+') && *n_addends) return malformed(r, "'+', '-' or nothing more");
    dp_spec_addend one = {.factor = minus ? -1 : 1};
    DP_TRY(take_factor(r, &one.factor));
    DP_TRY(take_call(r, &one.call));
    DP_PUSH(arena, *addends, *n_addends, one);
  } while (*r->at);
  return DP_OK;
}
