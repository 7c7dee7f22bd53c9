// Attributes in the text form: name=value, where the syntax of the value gives its kind (docs/text-form.md).
#include <stdlib.h>
#include <string.h>

#include "ir/text/syntax.h"
#include "ir/text/text.h"

static const dp_attr_schema *schema_of(const dp_op *op, const char *name) {
  for (int i = 0; op && i < DP_MAX_ATTRS && op->attrs[i].name; i++)
    if (!strcmp(op->attrs[i].name, name)) return &op->attrs[i];
  return NULL;
}

// The contents of a list while it is read: numbers are kept both as extents and as doubles.
typedef struct {
  int count;  // of numbers
  dp_dim *dims;
  double *floats;
  int n_strings;
  const char **strings;
  bool symbolic, pointed;  // has an extent with the symbol; has a number with a decimal point
} list;

static dp_status parse_element(dp_text_lex *lex, list *l) {
  dp_text_location location = dp_text_lex_location(lex);
  dp_dim dim = {0, 0};
  double number = 0;
  if (lex->kind == DP_TEXT_STRING) {
    const char *string;
    DP_TRY(dp_text_lex_take_string(lex, "a string", &string));
    DP_PUSH(lex->arena, l->strings, l->n_strings, string);
  } else {
    if (dp_text_lex_is_number(lex) && !dp_text_lex_is_integer(lex)) {
      l->pointed = true;
      DP_TRY(dp_text_lex_take_double(lex, "a number", &number));
    } else {
      DP_TRY(dp_text_type_parse_dim(lex, &dim));
      l->symbolic |= dp_dim_is_symbolic(dim);
      number = (double)dim.offset;
    }
    int count = l->count;
    DP_PUSH(lex->arena, l->dims, count, dim);
    DP_PUSH(lex->arena, l->floats, l->count, number);
  }
  if ((l->n_strings && l->count) || (l->symbolic && l->pointed))
    return dp_text_lex_fail_at(lex, location, "this list mixes numbers, extents or strings");
  return DP_OK;
}

static dp_status parse_list(dp_text_lex *lex, dp_attr_kind wanted, dp_attr *attr) {
  dp_text_location location = dp_text_lex_location(lex);
  list l = {0};
  DP_TRY(dp_text_lex_take(lex, "["));
  while (!dp_text_lex_is(lex, "]")) {
    if (l.count || l.n_strings) DP_TRY(dp_text_lex_take(lex, ","));
    DP_TRY(parse_element(lex, &l));
  }
  DP_TRY(dp_text_lex_next(lex));
  attr->count = (size_t)(l.n_strings ? l.n_strings : l.count);
  if (l.n_strings || (!attr->count && wanted == DP_ATTR_STRINGS)) {
    attr->kind = DP_ATTR_STRINGS;
    attr->strings = l.strings;
  } else if (l.pointed || wanted == DP_ATTR_FLOATS) {
    attr->kind = DP_ATTR_FLOATS;
    attr->floats = l.floats;
  } else if (l.symbolic || wanted == DP_ATTR_DIMS) {
    if (l.count > DP_MAX_RANK)
      return dp_text_lex_fail_at(lex, location, "this shape has more than %d extents", DP_MAX_RANK);
    attr->kind = DP_ATTR_DIMS;
    attr->dims = l.dims;
  } else {
    int64_t *ints = dp_alloc_n(lex->arena, (size_t)l.count, sizeof *ints);
    for (int i = 0; i < l.count; i++) ints[i] = l.dims[i].offset;
    attr->kind = DP_ATTR_INTS;
    attr->ints = ints;
  }
  return DP_OK;
}

static dp_status parse_number(dp_text_lex *lex, dp_attr_kind wanted, dp_attr *attr) {
  if (wanted != DP_ATTR_FLOAT && dp_text_lex_is_integer(lex)) {
    attr->kind = DP_ATTR_INT;
    return dp_text_lex_take_int(lex, "a number", &attr->i);
  }
  attr->kind = DP_ATTR_FLOAT;
  return dp_text_lex_take_double(lex, "a number", &attr->f);
}

// ONNX stores element types in ints with these two names.
static bool holds_dtype(const char *name) { return !strcmp(name, "to") || !strcmp(name, "dtype"); }

static dp_status parse_word(dp_text_lex *lex, dp_attr *attr) {
  if (dp_text_lex_is(lex, "true") || dp_text_lex_is(lex, "false")) {
    attr->kind = DP_ATTR_INT;
    attr->i = dp_text_lex_is(lex, "true");
    return dp_text_lex_next(lex);
  }
  if (dp_text_lex_next_is(lex, '[')) {  // a tensor: its type, then its data
    dp_type type;
    DP_TRY(dp_text_type_parse(lex, &type));
    attr->kind = DP_ATTR_TENSOR;
    return dp_text_data_parse(lex, &type, &attr->tensor);
  }
  dp_text_lex before = *lex;
  const char *word;
  DP_TRY(dp_text_lex_take_name(lex, "a value", &word));
  attr->kind = DP_ATTR_INT;
  attr->i = dp_type_from_name(word);
  return attr->i ? DP_OK
                 : dp_text_lex_expected(&before, "a number, a \"string\", a [list], an element type or a tensor");
}

static dp_status parse_value(dp_text_lex *lex, dp_attr_kind wanted, dp_attr *attr) {
  if (dp_text_lex_is_number(lex)) return parse_number(lex, wanted, attr);
  if (dp_text_lex_is(lex, "[")) return parse_list(lex, wanted, attr);
  if (lex->kind == DP_TEXT_STRING) {
    attr->kind = DP_ATTR_STRING;
    DP_TRY(dp_text_lex_take_string(lex, "a string", &attr->s));
    dp_dtype dtype = holds_dtype(attr->name) ? dp_type_from_name(attr->s) : DP_NO_TYPE;
    if (dtype) *attr = dp_attr_int(attr->name, dtype);
    return DP_OK;
  }
  if (lex->kind == DP_TEXT_NAME) return parse_word(lex, attr);
  return dp_text_lex_expected(lex, "a number, a \"string\", a [list], an element type or a tensor");
}

dp_status dp_text_attr_parse(dp_text_lex *lex, const dp_op *op, const char *close, int *count, dp_attr **attrs) {
  int n = 0;
  dp_attr *list_of = NULL;
  while (*close ? !dp_text_lex_is(lex, close) : lex->kind != DP_TEXT_END) {
    if (n) DP_TRY(dp_text_lex_take(lex, ","));
    dp_attr attr = {0};
    DP_TRY(dp_text_lex_take_name(lex, "the name of an attribute", &attr.name));
    DP_TRY(dp_text_lex_take(lex, "="));
    const dp_attr_schema *schema = schema_of(op, attr.name);
    DP_TRY(parse_value(lex, schema ? schema->kind : DP_ATTR_INT, &attr));
    DP_PUSH(lex->arena, list_of, n, attr);
  }
  if (*close) DP_TRY(dp_text_lex_next(lex));
  *count = n;
  *attrs = list_of;
  return DP_OK;
}

dp_status dp_text_parse_attrs(dp_arena *arena, const char *text, int *count, dp_attr **attrs) {
  dp_text_lex lex;
  DP_TRY(dp_text_lex_open(&lex, arena, "attributes", text, strlen(text)));
  return dp_text_attr_parse(&lex, NULL, "", count, attrs);
}
