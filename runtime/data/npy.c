// Reads NumPy's .npy, versions 1 to 3. The header is a Python literal, such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <ctype.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data/source.h"

enum { MAX_HEADER_BYTES = 1 << 16 };

static const struct {
  const char *descr;
  dp_dtype dtype;
} types[] = {{"<f4", DP_FLOAT32}, {"<f8", DP_FLOAT64}, {"|u1", DP_UINT8},  {"|i1", DP_INT8},
             {"<u2", DP_UINT16},  {"<i2", DP_INT16},   {"<u4", DP_UINT32}, {"<i4", DP_INT32},
             {"<u8", DP_UINT64},  {"<i8", DP_INT64},   {"|b1", DP_BOOL},   {"<f2", DP_FLOAT16}};

// The text after `'key':` and spaces; NULL if the key is absent.
static const char *find_key(const char *header, const char *key) {
  char quoted[32];
  snprintf(quoted, sizeof quoted, "'%s'", key);
  const char *at = strstr(header, quoted);
  if (!at) return NULL;
  at += strlen(quoted);
  at += strspn(at, " ");
  if (*at++ != ':') return NULL;
  return at + strspn(at, " ");
}

static dp_status parse_type(const dp_source *source, const char *header, dp_tensor *t) {
  const char *descr = find_key(header, "descr");
  if (!descr || (*descr != '\'' && *descr != '"'))
    return dp_fail(EX_DATAERR, "%s: .npy files of records are not supported", source->path);
  for (size_t i = 0; i < DP_COUNT(types); i++)
    if (!strncmp(descr + 1, types[i].descr, 3) && descr[4] == *descr) t->dtype = types[i].dtype;
  if (t->dtype) return DP_OK;
  int length = (int)strcspn(descr + 1, "'\"");
  if (descr[1] == '>')
    return dp_fail(EX_DATAERR, "%s: its elements '%.*s' are big-endian: save it with .astype('<...')", source->path,
                   length, descr + 1);
  if (strchr(descr, 'O') && length <= 2)
    return dp_fail(EX_DATAERR, "%s: the array holds Python objects instead of numbers", source->path);
  return dp_fail(EX_DATAERR, "%s: element type '%.*s' is not supported", source->path, length, descr + 1);
}

static dp_status parse_shape(const dp_source *source, const char *header, dp_tensor *t) {
  const char *at = find_key(header, "shape");
  if (!at || *at++ != '(') return dp_fail(EX_DATAERR, "%s: the .npy header has no shape", source->path);
  for (;;) {
    at += strspn(at, " ");
    if (*at == ')') return DP_OK;
    if (!isdigit((unsigned char)*at) || strspn(at, "0123456789") > 18)
      return dp_fail(EX_DATAERR, "%s: the .npy header has an invalid shape", source->path);
    if (t->rank == DP_MAX_RANK)
      return dp_fail(EX_DATAERR, "%s: the rank is above the supported maximum of %d", source->path, DP_MAX_RANK);
    char *end;
    t->extents[t->rank++] = strtoll(at, &end, 10);
    at = end + strspn(end, " ");
    if (*at == ',')
      at++;
    else if (*at != ')')
      return dp_fail(EX_DATAERR, "%s: the .npy header has an invalid shape", source->path);
  }
}

dp_status dp_npy_read(dp_source *source, dp_arena *arena, const uint8_t magic[4], dp_tensor *tensor) {
  (void)magic;  // "\x93NUM"
  uint8_t rest[4];
  DP_TRY(dp_source_exactly(source, rest, sizeof rest));
  if (memcmp(rest, "PY", 2) || rest[2] < 1 || rest[2] > 3)
    return dp_fail(EX_DATAERR, "%s: not a .npy file of version 1 to 3", source->path);
  uint32_t length = 0;
  DP_TRY(dp_source_exactly(source, &length, rest[2] == 1 ? 2 : 4));
  length = le32toh(length);
  if (length > MAX_HEADER_BYTES)
    return dp_fail(EX_DATAERR, "%s: the .npy header has %u bytes, which is too long", source->path, length);
  char *header = dp_alloc(arena, length + 1);
  DP_TRY(dp_source_exactly(source, header, length));
  dp_tensor t = {0};
  DP_TRY(parse_type(source, header, &t));
  DP_TRY(parse_shape(source, header, &t));
  const char *order = find_key(header, "fortran_order");
  if (!order || (strncmp(order, "False", 5) && t.rank > 1))
    return dp_fail(EX_DATAERR, "%s: the array is in Fortran order: save it with numpy.ascontiguousarray", source->path);
  DP_TRY(dp_source_size(source, &t));
  void *data;
  DP_TRY(dp_source_rest(source, arena, t.bytes, &data));
  t.data = data;
  *tensor = t;
  return DP_OK;
}
