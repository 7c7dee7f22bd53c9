// Tokens of the text form, and messages with their positions. Private to ir/text.
//
// The lexer is positioned on one token; kind, start and length describe it. It is a plain struct: copy it to look
// ahead.
#ifndef DP_IR_TEXT_LEX_H
#define DP_IR_TEXT_LEX_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  DP_TEXT_END = 0,
  DP_TEXT_NAME,         // letters, digits, _ . $ and single / between; starts with a letter or _
  DP_TEXT_NUMBER,       // also -inf and -nan; checked when it is read
  DP_TEXT_STRING,       // start and length delimit the text between the quotes, with escapes
  DP_TEXT_PUNCTUATION,  // one character
} dp_text_kind;

typedef struct {
  dp_arena *arena;
  const char *file;
  const char *symbol;                     // how the batch extent is written
  const struct dp_text_sources *sources;  // NULL: none
  const char *at, *end;                   // the unread text
  const char *line_start;
  int line;
  dp_text_kind kind;
  const char *start;
  size_t length;
  int token_line, token_column;  // from 1; columns count bytes
  bool in_body;                  // the text of a region's body is being read
} dp_text_lex;

// Positions the lexer on the first token. Refuses text that is not UTF-8 or holds control characters.
dp_status dp_text_lex_open(dp_text_lex *lex, dp_arena *arena, const char *file, const char *text,
                           size_t bytes) DP_MUST_USE;
dp_status dp_text_lex_next(dp_text_lex *lex) DP_MUST_USE;

// A failure at the current token.
dp_status dp_text_lex_fail(const dp_text_lex *lex, const char *format, ...) DP_PRINTF(2, 3) DP_MUST_USE;
dp_status dp_text_lex_expected(const dp_text_lex *lex, const char *what) DP_MUST_USE;  // "expected `what`, found ..."
// The position of a token, for later messages.
typedef struct {
  int line, column;
} dp_text_location;
static inline dp_text_location dp_text_lex_location(const dp_text_lex *lex) {
  return (dp_text_location){lex->token_line, lex->token_column};
}
dp_status dp_text_lex_fail_at(const dp_text_lex *lex, dp_text_location location, const char *format, ...)
    DP_PRINTF(3, 4) DP_MUST_USE;
// Prefixes file:line:column to the message of a failure; NULL stays NULL.
dp_status dp_text_lex_context(const dp_text_lex *lex, dp_text_location location, dp_status status) DP_MUST_USE;

// Whether the current token is the word or punctuation `what`.
bool dp_text_lex_is(const dp_text_lex *lex, const char *what);
// Whether the next token is the punctuation `what`.
bool dp_text_lex_next_is(const dp_text_lex *lex, char what);
// Consumes `what` when it is the current token.
dp_status dp_text_lex_try(dp_text_lex *lex, const char *what, bool *found) DP_MUST_USE;
dp_status dp_text_lex_take(dp_text_lex *lex, const char *what) DP_MUST_USE;

// These consume the token. A name is a word or a string that is not empty. `what` names it in messages.
dp_status dp_text_lex_take_name(dp_text_lex *lex, const char *what, const char **name) DP_MUST_USE;
dp_status dp_text_lex_take_string(dp_text_lex *lex, const char *what, const char **string) DP_MUST_USE;
dp_status dp_text_lex_take_int(dp_text_lex *lex, const char *what, int64_t *number) DP_MUST_USE;
dp_status dp_text_lex_take_count(dp_text_lex *lex, const char *what, int64_t most,
                                 int64_t *number) DP_MUST_USE;  // 0 .. most
dp_status dp_text_lex_take_uint64(dp_text_lex *lex, const char *what, uint64_t *number) DP_MUST_USE;
dp_status dp_text_lex_take_double(dp_text_lex *lex, const char *what, double *number) DP_MUST_USE;
bool dp_text_lex_is_number(const dp_text_lex *lex);   // a NUMBER, or one of the words inf and nan
bool dp_text_lex_is_integer(const dp_text_lex *lex);  // digits, optionally with a minus sign

// Whether text is a word of this language, which needs no quotes.
bool dp_text_lex_is_word(const char *text);

#ifdef __cplusplus
}
#endif
#endif
