// Types, extents and placements in the text form.
#include <stdio.h>
#include <string.h>

#include "ir/base/suggest.h"
#include "ir/text/syntax.h"
#include "ir/text/text.h"

dp_status dp_text_type_parse_dim(dp_text_lex *lex, dp_dim *dim) {
  dp_dim d = {0, 0};
  bool times = true;
  if (lex->kind == DP_TEXT_NUMBER) {
    DP_TRY(dp_text_lex_take_int(lex, "an extent", &d.offset));
    DP_TRY(dp_text_lex_try(lex, "*", &times));
    if (!times) {
      *dim = d;
      return DP_OK;
    }
    d = (dp_dim){d.offset, 0};
  } else {
    d.scale = 1;
  }
  if (!dp_text_lex_is(lex, lex->symbol)) {
    char what[96];
    snprintf(what, sizeof what, "an extent (a number, or %s for the samples present)", lex->symbol);
    return dp_text_lex_expected(lex, what);
  }
  DP_TRY(dp_text_lex_next(lex));
  bool plus;
  DP_TRY(dp_text_lex_try(lex, "+", &plus));
  if (plus || (dp_text_lex_is_integer(lex) && lex->start[0] == '-'))
    DP_TRY(dp_text_lex_take_int(lex, "a number", &d.offset));
  *dim = d;
  return DP_OK;
}

static dp_status unknown_type(const dp_text_lex *lex) {
  char word[64], hint[96];
  if (lex->kind != DP_TEXT_NAME || lex->length >= sizeof word)
    return dp_text_lex_expected(lex, "a type like float32[N,3]");
  memcpy(word, lex->start, lex->length);
  word[lex->length] = 0;
  dp_suggest suggest = dp_suggest_begin(word);
  for (int i = 1; i <= DP_MAX_TYPE; i++)
    if (dp_type_bytes((dp_dtype)i)) dp_suggest_offer(&suggest, dp_type_name((dp_dtype)i));
  return dp_text_lex_fail(lex, "there is no element type '%s'%s", word, dp_suggest_print(&suggest, hint, sizeof hint));
}

static dp_dtype dtype_here(const dp_text_lex *lex) {
  char word[16];
  if (lex->kind != DP_TEXT_NAME || lex->length >= sizeof word) return DP_NO_TYPE;
  memcpy(word, lex->start, lex->length);
  word[lex->length] = 0;
  return dp_type_from_name(word);
}

dp_status dp_text_type_parse(dp_text_lex *lex, dp_type *type) {
  dp_type t = {dtype_here(lex), {0}};
  if (!t.dtype) return unknown_type(lex);
  DP_TRY(dp_text_lex_next(lex));
  dp_text_location location = dp_text_lex_location(lex);
  DP_TRY(dp_text_lex_take(lex, "["));
  while (!dp_text_lex_is(lex, "]")) {
    if (t.shape.rank) DP_TRY(dp_text_lex_take(lex, ","));
    if (t.shape.rank == DP_MAX_RANK) return dp_text_lex_fail(lex, "this shape has more than %d extents", DP_MAX_RANK);
    DP_TRY(dp_text_type_parse_dim(lex, &t.shape.dims[t.shape.rank]));
    t.shape.rank++;
  }
  DP_TRY(dp_text_lex_next(lex));
  DP_TRY(dp_text_lex_context(lex, location, dp_shape_check(&t.shape, 1)));
  *type = t;
  return DP_OK;
}

static dp_status parse_shard(dp_text_lex *lex, dp_placement *placement) {
  dp_placement p = dp_shard(0);
  int64_t dim;
  bool view;
  DP_TRY(dp_text_lex_take_count(lex, "a dim", DP_MAX_RANK - 1, &dim));
  p.dim = (int)dim;
  DP_TRY(dp_text_lex_try(lex, ",", &view));
  if (view) {
    DP_TRY(dp_text_lex_take_count(lex, "the outer extent", INT64_MAX, &p.outer));
    DP_TRY(dp_text_lex_take(lex, ","));
    DP_TRY(dp_text_lex_take_count(lex, "the unit extent", INT64_MAX, &p.unit));
    if (!p.outer || !p.unit) return dp_text_lex_fail(lex, "the outer and unit extents of a Shard must be at least 1");
  }
  *placement = p;
  return DP_OK;
}

dp_status dp_text_type_parse_placement(dp_text_lex *lex, dp_placement *placement) {
  static const char what[] = "a placement: R, S(dim), S(dim,outer,unit), P(sum) or P(max)";
  dp_placement p = dp_replicate();
  if (dp_text_lex_is(lex, "R")) {
    DP_TRY(dp_text_lex_next(lex));
  } else if (dp_text_lex_is(lex, "S")) {
    DP_TRY(dp_text_lex_next(lex));
    DP_TRY(dp_text_lex_take(lex, "("));
    DP_TRY(parse_shard(lex, &p));
    DP_TRY(dp_text_lex_take(lex, ")"));
  } else if (dp_text_lex_is(lex, "P")) {
    DP_TRY(dp_text_lex_next(lex));
    DP_TRY(dp_text_lex_take(lex, "("));
    if (!dp_text_lex_is(lex, "sum") && !dp_text_lex_is(lex, "max")) return dp_text_lex_expected(lex, "'sum' or 'max'");
    p = dp_partial(dp_text_lex_is(lex, "max") ? DP_MAX : DP_SUM);
    DP_TRY(dp_text_lex_next(lex));
    DP_TRY(dp_text_lex_take(lex, ")"));
  } else {
    return dp_text_lex_expected(lex, what);
  }
  *placement = p;
  return DP_OK;
}

dp_status dp_text_parse_types(dp_arena *arena, const char *text, int *count, dp_type **types) {
  dp_text_lex lex;
  DP_TRY(dp_text_lex_open(&lex, arena, "types", text, strlen(text)));
  int n = 0;
  dp_type *list = NULL;
  bool more = lex.kind != DP_TEXT_END;
  while (more) {
    dp_type type = {DP_NO_TYPE, {0}};
    if (!dp_text_lex_is(&lex, ",") && lex.kind != DP_TEXT_END) DP_TRY(dp_text_type_parse(&lex, &type));
    DP_PUSH(arena, list, n, type);
    DP_TRY(dp_text_lex_try(&lex, ",", &more));
  }
  if (lex.kind != DP_TEXT_END) return dp_text_lex_expected(&lex, "',' or the end");
  *count = n;
  *types = list;
  return DP_OK;
}
