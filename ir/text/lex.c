// Tokens of the text form. See lex.h.
#include "ir/text/lex.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/utf8.h"

enum { NUMBER_BYTES = 128, SHOWN_BYTES = 60 };

// ---- messages -------------------------------------------------------------------------------------------------------

static dp_status fail_at(const dp_text_lex *lex, dp_text_location location, const char *format, va_list args) {
  char message[2048];
  vsnprintf(message, sizeof message, format, args);
  return dp_fail(EX_DATAERR, "%s:%d:%d: %s", lex->file, location.line, location.column, message);
}

dp_status dp_text_lex_fail_at(const dp_text_lex *lex, dp_text_location location, const char *format, ...) {
  va_list args;
  va_start(args, format);
  dp_status status = fail_at(lex, location, format, args);
  va_end(args);
  return status;
}

dp_status dp_text_lex_fail(const dp_text_lex *lex, const char *format, ...) {
  va_list args;
  va_start(args, format);
  dp_status status = fail_at(lex, dp_text_lex_location(lex), format, args);
  va_end(args);
  return status;
}

dp_status dp_text_lex_context(const dp_text_lex *lex, dp_text_location location, dp_status status) {
  return dp_status_context(status, "%s:%d:%d", lex->file, location.line, location.column);
}

dp_status dp_text_lex_expected(const dp_text_lex *lex, const char *what) {
  if (lex->kind == DP_TEXT_END) return dp_text_lex_fail(lex, "expected %s, found the end of the text", what);
  const char *quote = lex->kind == DP_TEXT_STRING ? "\"" : "'";
  int shown = lex->length > SHOWN_BYTES ? SHOWN_BYTES : (int)lex->length;
  while (shown > 0 && (size_t)shown < lex->length && (lex->start[shown] & 0xC0) == 0x80) shown--;  // whole characters
  return dp_text_lex_fail(lex, "expected %s, found %s%.*s%s%s", what, quote, shown, lex->start,
                          (size_t)shown < lex->length ? "..." : "", quote);
}

// ---- characters -----------------------------------------------------------------------------------------------------

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool goes_on(char c) { return starts_word(c) || is_digit(c) || c == '.' || c == '$'; }

// Length of the word at `at`. A slash belongs to it only when a letter or digit follows, so that `//` always opens a
// comment.
static size_t word_length(const char *at, const char *end) {
  const char *p = at;
  if (p < end && starts_word(*p))
    while (p < end && (goes_on(*p) || (*p == '/' && p + 1 < end && (starts_word(p[1]) || is_digit(p[1]))))) p++;
  return (size_t)(p - at);
}

bool dp_text_lex_is_word(const char *text) {
  size_t length = strlen(text);
  return length && word_length(text, text + length) == length;
}

static size_t number_length(const char *at, const char *end) {
  const char *p = at;
  if (p < end && *p == '-') p++;
  if (p == end || (p == at && !is_digit(*p))) return 0;
  if (!is_digit(*p) && strncmp(p, "inf", (size_t)(end - p) < 3 ? (size_t)(end - p) : 3) &&
      strncmp(p, "nan", (size_t)(end - p) < 3 ? (size_t)(end - p) : 3))
    return 0;
  while (p < end && (goes_on(*p) || ((*p == '+' || *p == '-') && (p[-1] == 'e' || p[-1] == 'E')))) p++;
  return (size_t)(p - at);
}

// ---- tokens ---------------------------------------------------------------------------------------------------------

dp_status dp_text_lex_open(dp_text_lex *lex, dp_arena *arena, const char *file, const char *text, size_t bytes) {
  if (bytes >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {  // a byte order mark
    text += 3;
    bytes -= 3;
  }
  *lex = (dp_text_lex){
      .arena = arena, .file = file, .symbol = "N", .at = text, .end = text + bytes, .line_start = text, .line = 1};
  size_t good = dp_utf8_check(text, bytes), i = 0;
  while (i < good && ((unsigned char)text[i] >= 0x20 || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') &&
         text[i] != 0x7F)
    i++;
  if (i == bytes) return dp_text_lex_next(lex);
  dp_text_location location = {1, 1};
  for (size_t k = 0; k < i; k++)
    location = text[k] == '\n' ? (dp_text_location){location.line + 1, 1}
                               : (dp_text_location){location.line, location.column + 1};
  return dp_text_lex_fail_at(lex, location, "byte 0x%02x is not valid in UTF-8 text", (unsigned char)text[i]);
}

static void skip_space(dp_text_lex *lex) {
  for (; lex->at < lex->end; lex->at++) {
    char c = *lex->at;
    if (c == '#' || (c == '/' && lex->at + 1 < lex->end && lex->at[1] == '/')) {
      const char *newline = memchr(lex->at, '\n', (size_t)(lex->end - lex->at));
      if (!newline) {
        lex->at = lex->end;
        return;
      }
      lex->at = newline;
      c = '\n';
    }
    if (c == '\n') {
      lex->line++;
      lex->line_start = lex->at + 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

static dp_status read_string(dp_text_lex *lex) {
  const char *p = ++lex->start;
  while (p < lex->end && *p != '"' && *p != '\n') p += *p == '\\' && p + 1 < lex->end && p[1] != '\n' ? 2 : 1;
  if (p >= lex->end || *p != '"') return dp_text_lex_fail(lex, "this string has no closing quote on its line");
  lex->kind = DP_TEXT_STRING;
  lex->length = (size_t)(p - lex->start);
  lex->at = p + 1;
  return DP_OK;
}

dp_status dp_text_lex_next(dp_text_lex *lex) {
  skip_space(lex);
  lex->start = lex->at;
  lex->length = 0;
  lex->token_line = lex->line;
  ptrdiff_t column = lex->at - lex->line_start + 1;
  lex->token_column = column > INT_MAX ? INT_MAX : (int)column;
  if (lex->at == lex->end) {
    lex->kind = DP_TEXT_END;
    return DP_OK;
  }
  if (*lex->at == '"') return read_string(lex);
  if ((lex->length = word_length(lex->at, lex->end))) {
    lex->kind = DP_TEXT_NAME;
  } else if ((lex->length = number_length(lex->at, lex->end))) {
    lex->kind = DP_TEXT_NUMBER;
  } else {
    lex->kind = DP_TEXT_PUNCTUATION;
    lex->length = 1;
    while (lex->at + lex->length < lex->end && (lex->at[lex->length] & 0xC0) == 0x80)
      lex->length++;  // a whole character
  }
  lex->at += lex->length;
  return DP_OK;
}

bool dp_text_lex_is(const dp_text_lex *lex, const char *what) {
  return (lex->kind == DP_TEXT_NAME || lex->kind == DP_TEXT_PUNCTUATION) && strlen(what) == lex->length &&
         !memcmp(what, lex->start, lex->length);
}

bool dp_text_lex_next_is(const dp_text_lex *lex, char what) {
  dp_text_lex ahead = *lex;
  skip_space(&ahead);
  return ahead.at < ahead.end && *ahead.at == what;
}

dp_status dp_text_lex_try(dp_text_lex *lex, const char *what, bool *found) {
  *found = dp_text_lex_is(lex, what);
  return *found ? dp_text_lex_next(lex) : DP_OK;
}

dp_status dp_text_lex_take(dp_text_lex *lex, const char *what) {
  if (dp_text_lex_is(lex, what)) return dp_text_lex_next(lex);
  char quoted[64];
  snprintf(quoted, sizeof quoted, "'%s'", what);
  return dp_text_lex_expected(lex, quoted);
}

// ---- names and strings ----------------------------------------------------------------------------------------------

static int hex_digit(char c) {
  return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static dp_status decode(const dp_text_lex *lex, const char **string) {
  char *text = dp_alloc(lex->arena, lex->length + 1);
  const char *p = lex->start, *end = lex->start + lex->length;
  size_t n = 0;
  while (p < end) {
    if (*p != '\\') {
      text[n++] = *p++;
      continue;
    }
    char c = p + 1 < end ? p[1] : 0;
    if (c == 'x' && end - p >= 4 && hex_digit(p[2]) >= 0 && hex_digit(p[3]) >= 0) {
      text[n++] = (char)(16 * hex_digit(p[2]) + hex_digit(p[3]));
      p += 4;
      continue;
    }
    if (c != 'n' && c != 't' && c != 'r' && c != '"' && c != '\\')
      return dp_text_lex_fail(lex, "a string has an unknown escape; there are \\n \\t \\r \\\" \\\\ and \\xHH");
    text[n++] = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    p += 2;
  }
  if (dp_utf8_check(text, n) != n) return dp_text_lex_fail(lex, "the escapes of this string give NUL or invalid UTF-8");
  *string = text;
  return DP_OK;
}

dp_status dp_text_lex_take_string(dp_text_lex *lex, const char *what, const char **string) {
  if (lex->kind != DP_TEXT_STRING) return dp_text_lex_expected(lex, what);
  DP_TRY(decode(lex, string));
  return dp_text_lex_next(lex);
}

dp_status dp_text_lex_take_name(dp_text_lex *lex, const char *what, const char **name) {
  if (lex->kind == DP_TEXT_STRING && lex->length) return dp_text_lex_take_string(lex, what, name);
  if (lex->kind != DP_TEXT_NAME) return dp_text_lex_expected(lex, what);
  *name = dp_strndup(lex->arena, lex->start, lex->length);
  return dp_text_lex_next(lex);
}

// ---- numbers --------------------------------------------------------------------------------------------------------

bool dp_text_lex_is_number(const dp_text_lex *lex) {
  return lex->kind == DP_TEXT_NUMBER || dp_text_lex_is(lex, "inf") || dp_text_lex_is(lex, "nan");
}

bool dp_text_lex_is_integer(const dp_text_lex *lex) {
  if (lex->kind != DP_TEXT_NUMBER) return false;
  for (size_t i = lex->start[0] == '-'; i < lex->length; i++)
    if (!is_digit(lex->start[i])) return false;
  return true;
}

static dp_status number_text(const dp_text_lex *lex, const char *what, bool good, char text[NUMBER_BYTES]) {
  if (!good) return dp_text_lex_expected(lex, what);
  if (lex->length >= NUMBER_BYTES) return dp_text_lex_fail(lex, "this number has too many digits");
  memcpy(text, lex->start, lex->length);
  text[lex->length] = 0;
  return DP_OK;
}

dp_status dp_text_lex_take_int(dp_text_lex *lex, const char *what, int64_t *number) {
  char text[NUMBER_BYTES];
  DP_TRY(number_text(lex, what, dp_text_lex_is_integer(lex), text));
  errno = 0;
  long long value = strtoll(text, NULL, 10);
  if (errno) return dp_text_lex_fail(lex, "%s is beyond the range of 64-bit integers", text);
  *number = value;
  return dp_text_lex_next(lex);
}

dp_status dp_text_lex_take_count(dp_text_lex *lex, const char *what, int64_t most, int64_t *number) {
  dp_text_lex before = *lex;
  int64_t value;
  DP_TRY(dp_text_lex_take_int(lex, what, &value));
  if (value < 0 || value > most)
    return dp_text_lex_fail(&before, "expected %s of 0 to %lld, found %lld", what, (long long)most, (long long)value);
  *number = value;
  return DP_OK;
}

dp_status dp_text_lex_take_uint64(dp_text_lex *lex, const char *what, uint64_t *number) {
  char text[NUMBER_BYTES];
  DP_TRY(number_text(lex, what, dp_text_lex_is_integer(lex) && lex->start[0] != '-', text));
  errno = 0;
  unsigned long long value = strtoull(text, NULL, 10);
  if (errno) return dp_text_lex_fail(lex, "%s is beyond the range of unsigned 64-bit integers", text);
  *number = value;
  return dp_text_lex_next(lex);
}

dp_status dp_text_lex_take_double(dp_text_lex *lex, const char *what, double *number) {
  char text[NUMBER_BYTES], *end;
  DP_TRY(number_text(lex, what, dp_text_lex_is_number(lex), text));
  const char *magnitude = text + (text[0] == '-');
  bool word = !strcmp(magnitude, "inf") || !strcmp(magnitude, "nan");
  if (!word && strspn(magnitude, "0123456789.eE+-") != strlen(magnitude)) return dp_text_lex_expected(lex, what);
  double value = strtod(text, &end);
  if (*end) return dp_text_lex_expected(lex, what);
  if (!word && (value > 1.7976931348623157e308 || value < -1.7976931348623157e308))
    return dp_text_lex_fail(lex, "%s is beyond the range of float64", text);
  *number = value;
  return dp_text_lex_next(lex);
}
