// Tensor data in the text form: lists of numbers, base64, hex; read and printed.
//
// Memory never exceeds what the text's own length justifies: the number of elements that the type declares is compared
// with the text before anything is allocated.
#include <stdlib.h>
#include <string.h>

#include "ir/text/syntax.h"
#include "ir/text/text.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are stored little-endian, and this code copies them as they are"
#endif

enum { LISTED = 64 };  // tensors with more elements are printed as base64

static bool is_narrow_float(dp_dtype dtype) {
  return (DP_BIT(dtype) & (DP_FLOATS | (DP_SMALL & ~DP_SMALL_INTS))) && dtype != DP_FLOAT32 && dtype != DP_FLOAT64;
}

// ---- one element ----------------------------------------------------------------------------------------------------

static dp_status parse_integer(dp_text_lex *lex, dp_dtype dtype, void *element) {
  static const struct {
    int64_t low, high;
  } ranges[DP_MAX_TYPE + 1] = {
      [DP_UINT8] = {0, UINT8_MAX},
      [DP_INT8] = {INT8_MIN, INT8_MAX},
      [DP_UINT16] = {0, UINT16_MAX},
      [DP_INT16] = {INT16_MIN, INT16_MAX},
      [DP_INT32] = {INT32_MIN, INT32_MAX},
      [DP_INT64] = {INT64_MIN, INT64_MAX},
      [DP_UINT32] = {0, UINT32_MAX},
      [DP_BOOL] = {0, 1},
      [DP_UINT4] = {0, 15},
      [DP_INT4] = {-8, 7},
      [DP_UINT2] = {0, 3},
      [DP_INT2] = {-2, 1},
  };
  if (dtype == DP_UINT64) {
    uint64_t number;
    DP_TRY(dp_text_lex_take_uint64(lex, "a whole number, 0 or more", &number));
    memcpy(element, &number, sizeof number);
    return DP_OK;
  }
  dp_text_lex before = *lex;
  int64_t number;
  DP_TRY(dp_text_lex_take_int(lex, "a whole number", &number));
  if (number < ranges[dtype].low || number > ranges[dtype].high)
    return dp_text_lex_fail(&before, "%lld does not fit into %s", (long long)number, dp_type_name(dtype));
  memcpy(element, &number, dp_type_bytes(dtype));
  return DP_OK;
}

static dp_status parse_float32(dp_text_lex *lex, void *element) {
  dp_text_lex before = *lex;
  double number;
  DP_TRY(dp_text_lex_take_double(lex, "a number", &number));
  // Rounded once, from the decimal digits: going through float64 could change the last digit.
  char text[160] = {0};
  memcpy(text, before.start, before.length < sizeof text ? before.length : sizeof text - 1);
  float rounded = strtof(text, NULL);
  bool finite = number - number == 0;
  if (finite && rounded - rounded != 0) return dp_text_lex_fail(&before, "%s is beyond the range of float32", text);
  memcpy(element, &rounded, sizeof rounded);
  return DP_OK;
}

static dp_status parse_element(dp_text_lex *lex, dp_dtype dtype, void *element) {
  if (dtype == DP_FLOAT32) return parse_float32(lex, element);
  if (dtype == DP_FLOAT64) {
    double number;
    DP_TRY(dp_text_lex_take_double(lex, "a number", &number));
    memcpy(element, &number, sizeof number);
    return DP_OK;
  }
  if (is_narrow_float(dtype))
    return dp_text_lex_fail(lex, "data of type %s is written as base64 or hex", dp_type_name(dtype));
  if (dtype == DP_BOOL && (dp_text_lex_is(lex, "true") || dp_text_lex_is(lex, "false"))) {
    *(unsigned char *)element = dp_text_lex_is(lex, "true");
    return dp_text_lex_next(lex);
  }
  return parse_integer(lex, dtype, element);
}

// ---- whole tensors --------------------------------------------------------------------------------------------------

static dp_status parse_numbers(dp_text_lex *lex, size_t count, dp_tensor *tensor) {
  dp_text_location location = dp_text_lex_location(lex);
  bool in_list;
  DP_TRY(dp_text_lex_try(lex, "[", &in_list));
  if (!in_list && tensor->rank) return dp_text_lex_expected(lex, "data: [1, 2, ...], base64 \"...\" or hex \"...\"");
  if (count > (size_t)(lex->end - lex->start))
    return dp_text_lex_fail_at(lex, location, "%zu numbers are expected, more than this text holds", count);
  size_t each = dp_type_bytes(tensor->dtype);
  char *data = dp_alloc_n(lex->arena, count, each);
  tensor->data = data;
  if (!in_list) return parse_element(lex, tensor->dtype, data);
  size_t n = 0;
  for (; !dp_text_lex_is(lex, "]"); n++) {
    if (n) DP_TRY(dp_text_lex_take(lex, ","));
    if (n == count) return dp_text_lex_fail(lex, "%zu numbers are expected, more are given", count);
    DP_TRY(parse_element(lex, tensor->dtype, data + n * each));
  }
  if (n < count) return dp_text_lex_fail(lex, "%zu numbers are expected, %zu are given", count, n);
  return dp_text_lex_next(lex);
}

static int digit_of(char c, bool base64) {
  if (c >= '0' && c <= '9') return base64 ? c - '0' + 52 : c - '0';
  if (!base64) return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// Each digit has `bits` bits, the first digit highest. Bits left over at the end must be zero, so that each datum has
// one spelling.
static dp_status parse_digits(dp_text_lex *lex, bool base64, dp_tensor *tensor) {
  if (lex->kind != DP_TEXT_STRING) return dp_text_lex_expected(lex, "a string with the data");
  size_t bits = base64 ? 6 : 4, n_digits = (tensor->bytes * 8 + bits - 1) / bits;
  size_t padding = base64 ? (4 - n_digits % 4) % 4 : 0;
  if (tensor->bytes > lex->length || n_digits + padding != lex->length)
    return dp_text_lex_fail(lex, "%zu bytes of data are %zu characters, but there are %zu", tensor->bytes,
                            n_digits + padding, lex->length);
  unsigned char *data = dp_alloc(lex->arena, tensor->bytes);
  uint32_t held = 0;
  size_t n_held = 0, n = 0;
  for (size_t i = 0; i < n_digits; i++) {
    int digit = digit_of(lex->start[i], base64);
    if (digit < 0)
      return dp_text_lex_fail(lex, "character %zu of this data is not a digit of %s", i + 1, base64 ? "base64" : "hex");
    held = (held << bits | (uint32_t)digit) & 0xFFFF;
    n_held += bits;
    if (n_held < 8) continue;
    n_held -= 8;
    data[n++] = (unsigned char)(held >> n_held);
  }
  bool clean = !(held & ((1u << n_held) - 1));
  for (size_t i = 0; i < padding; i++) clean &= lex->start[n_digits + i] == '=';
  if (!clean) return dp_text_lex_fail(lex, "this data does not end as base64 must");
  for (size_t i = 0; tensor->dtype == DP_BOOL && i < tensor->bytes; i++)
    if (data[i] > 1) return dp_text_lex_fail(lex, "element %zu of this bool data is %d, neither 0 nor 1", i, data[i]);
  tensor->data = data;
  return dp_text_lex_next(lex);
}

// elided "XXH3" of "FILE", after the word `elided`.
static dp_status parse_elided(dp_text_lex *lex, const dp_type *type, const dp_tensor **tensor) {
  const char *digits, *file = "";
  bool of;
  dp_text_location location = dp_text_lex_location(lex);
  DP_TRY(dp_text_lex_take_string(lex, "the XXH3 of the omitted data, 16 digits in quotes", &digits));
  char *end;
  uint64_t xxh3 = strtoull(digits, &end, 16);
  if (strspn(digits, "0123456789abcdef") != 16 || *end)
    return dp_text_lex_fail_at(lex, location, "an XXH3 is 16 digits of 0-9 and a-f");
  DP_TRY(dp_text_lex_try(lex, "of", &of));
  if (of) DP_TRY(dp_text_lex_take_string(lex, "the file that the data is in, in quotes", &file));
  if (!lex->sources)
    return dp_text_lex_fail_at(lex, location,
                               "the data is omitted from this text, and cannot be looked up elsewhere here");
  return dp_text_lex_context(lex, location, lex->sources->find(lex->sources->context, file, xxh3, type, tensor));
}

dp_status dp_text_data_parse(dp_text_lex *lex, const dp_type *type, const dp_tensor **tensor) {
  if (dp_shape_is_symbolic(&type->shape))
    return dp_text_lex_fail(lex, "data cannot have a shape with %s, the samples present", lex->symbol);
  bool elided;
  DP_TRY(dp_text_lex_try(lex, "elided", &elided));
  if (elided) return parse_elided(lex, type, tensor);
  dp_tensor *t = dp_alloc(lex->arena, sizeof *t);
  t->dtype = type->dtype;
  t->rank = type->shape.rank;
  dp_shape_at(&type->shape, 0, t->extents);
  size_t count = (size_t)dp_tensor_count(t);
  t->bytes = count * dp_type_bytes(t->dtype);
  bool base64, hex = false;
  DP_TRY(dp_text_lex_try(lex, "base64", &base64));
  if (!base64) DP_TRY(dp_text_lex_try(lex, "hex", &hex));
  if (base64 || hex)
    DP_TRY(parse_digits(lex, base64, t));
  else
    DP_TRY(parse_numbers(lex, count, t));
  *tensor = t;
  return DP_OK;
}

// ---- printing -------------------------------------------------------------------------------------------------------

static void print_float32(FILE *out, float number) {
  char text[32];
  for (int digits = 6; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)number);
    if (strtof(text, NULL) == number) break;
  }
  fputs(text, out);
}

static void print_element(FILE *out, dp_dtype dtype, const void *element) {
  float f;
  double d;
  int64_t i;
  uint64_t u;
  switch (dtype) {
    case DP_FLOAT32:
      memcpy(&f, element, sizeof f);
      if (f - f == 0)
        print_float32(out, f);
      else
        dp_text_print_number(out, (double)f, false);
      return;
    case DP_FLOAT64:
      memcpy(&d, element, sizeof d);
      dp_text_print_number(out, d, false);
      return;
    case DP_INT64:
      memcpy(&i, element, sizeof i);
      fprintf(out, "%lld", (long long)i);
      return;
    case DP_UINT64:
      memcpy(&u, element, sizeof u);
      fprintf(out, "%llu", (unsigned long long)u);
      return;
    default:
      fprintf(out, "%.0f", dp_element_get(dtype, element));
      return;
  }
}

// A NaN can be read back from its name only when it is the default one, of either sign.
static bool has_odd_nan(const dp_tensor *tensor) {
  const char *data = tensor->data;
  for (size_t i = 0; tensor->dtype == DP_FLOAT32 && i < tensor->bytes; i += 4) {
    uint32_t bits;
    memcpy(&bits, data + i, sizeof bits);
    if ((bits & 0x7FFFFFFF) > 0x7F800000 && (bits & 0x7FFFFFFF) != 0x7FC00000) return true;
  }
  for (size_t i = 0; tensor->dtype == DP_FLOAT64 && i < tensor->bytes; i += 8) {
    uint64_t bits;
    memcpy(&bits, data + i, sizeof bits);
    bits &= INT64_MAX;
    if (bits > 0x7FF0000000000000 && bits != 0x7FF8000000000000) return true;
  }
  return false;
}

static void print_base64(FILE *out, const unsigned char *data, size_t bytes) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  fputs("base64 \"", out);
  for (size_t i = 0; i < bytes; i += 3) {
    size_t here = bytes - i < 3 ? bytes - i : 3;
    uint32_t bits =
        (uint32_t)data[i] << 16 | (here > 1 ? (uint32_t)data[i + 1] << 8 : 0) | (here > 2 ? data[i + 2] : 0);
    char text[4] = {digits[bits >> 18], digits[bits >> 12 & 63], here > 1 ? digits[bits >> 6 & 63] : '=',
                    here > 2 ? digits[bits & 63] : '='};
    fwrite(text, 1, sizeof text, out);
  }
  fputc('"', out);
}

static int compare_addresses(const void *a, const void *b) {
  const void *const *x = a, *const *y = b;
  return ((uintptr_t)*x > (uintptr_t)*y) - ((uintptr_t)*x < (uintptr_t)*y);
}

dp_text_held dp_text_hold(const dp_model *model, const char *file, const char *option) {
  dp_text_held held = {.file = file, .option = option};
  for (int32_t i = 0; i < model->n_variables; i++)
    if (model->variables[i].init.kind == DP_INIT_TENSOR)
      DP_PUSH(model->arena, held.data, held.count, model->variables[i].init.tensor->data);
  for (int g = 0; g < model->n_graphs; g++)
    for (int32_t i = 0; i < model->graphs[g]->n_values; i++)
      if (model->graphs[g]->values[i]->constant)
        DP_PUSH(model->arena, held.data, held.count, model->graphs[g]->values[i]->constant->data);
  if (held.count) qsort(held.data, (size_t)held.count, sizeof *held.data, compare_addresses);
  return held;
}

bool dp_text_data_is_elided(const dp_tensor *tensor, const dp_text_held *held) {
  if (!held || dp_tensor_count(tensor) <= LISTED) return false;
  if (!held->file) return true;
  return held->count && bsearch(&tensor->data, held->data, (size_t)held->count, sizeof *held->data, compare_addresses);
}

static void print_elided(FILE *out, const dp_tensor *tensor, const char *source) {
  fprintf(out, "elided \"%016llx\"", (unsigned long long)dp_hash64(tensor->data, tensor->bytes));
  if (!source) return;
  fputs(" of ", out);
  dp_text_print_string(out, source);
}

void dp_text_data_print(FILE *out, const dp_tensor *tensor, const dp_text_held *held) {
  if (dp_text_data_is_elided(tensor, held)) {
    print_elided(out, tensor, held->file);
    return;
  }
  size_t count = (size_t)dp_tensor_count(tensor), each = dp_type_bytes(tensor->dtype);
  if (count > LISTED || is_narrow_float(tensor->dtype) || has_odd_nan(tensor)) {
    print_base64(out, tensor->data, tensor->bytes);
    return;
  }
  if (tensor->rank) fputc('[', out);
  for (size_t i = 0; i < count; i++) {
    if (i) fputs(", ", out);
    print_element(out, tensor->dtype, (const char *)tensor->data + i * each);
  }
  if (tensor->rank) fputc(']', out);
}
