// Reads NumPy's .npy, versions 1 to 3. The header is a Python literal, such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <ctype.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data/format.h"

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

static dp_status parse_type(const dp_data_file *file, const char *header, dp_data *t) {
  const char *descr = find_key(header, "descr");
  if (!descr || (*descr != '\'' && *descr != '"'))
    return dp_fail(EX_DATAERR, "%s: .npy files of records are not supported", file->path);
  for (size_t i = 0; i < DP_COUNT(types); i++)
    if (!strncmp(descr + 1, types[i].descr, 3) && descr[4] == *descr) t->dtype = types[i].dtype;
  if (t->dtype) return DP_OK;
  int length = (int)strcspn(descr + 1, "'\"");
  if (descr[1] == '>')
    return dp_fail(EX_DATAERR, "%s: its elements '%.*s' are big-endian: save it with .astype('<...')", file->path,
                   length, descr + 1);
  if (strchr(descr, 'O') && length <= 2)
    return dp_fail(EX_DATAERR, "%s: the array holds Python objects instead of numbers", file->path);
  return dp_fail(EX_DATAERR, "%s: element type '%.*s' is not supported", file->path, length, descr + 1);
}

static dp_status parse_shape(const dp_data_file *file, const char *header, dp_data *t) {
  const char *at = find_key(header, "shape");
  if (!at || *at++ != '(') return dp_fail(EX_DATAERR, "%s: the .npy header has no shape", file->path);
  for (;;) {
    at += strspn(at, " ");
    if (*at == ')') return DP_OK;
    if (!isdigit((unsigned char)*at) || strspn(at, "0123456789") > 18)
      return dp_fail(EX_DATAERR, "%s: the .npy header has an invalid shape", file->path);
    if (t->rank == DP_MAX_RANK)
      return dp_fail(EX_DATAERR, "%s: the rank is above the supported maximum of %d", file->path, DP_MAX_RANK);
    char *end;
    t->extents[t->rank++] = strtoll(at, &end, 10);
    at = end + strspn(end, " ");
    if (*at == ',')
      at++;
    else if (*at != ')')
      return dp_fail(EX_DATAERR, "%s: the .npy header has an invalid shape", file->path);
  }
}

static bool recognise(const dp_data_file *file) { return file->n_head >= 4 && !memcmp(file->head, "\x93NUM", 4); }

dp_status dp_npy_open(dp_data_file *file, dp_data *data) {
  uint8_t magic[8];
  DP_TRY(dp_bytes_header(&file->bytes, 0, magic, sizeof magic));
  if (memcmp(magic, "\x93NUMPY", 6) || magic[6] < 1 || magic[6] > 3)
    return dp_fail(EX_DATAERR, "%s: not a .npy file of version 1 to 3", file->path);
  uint32_t length = 0;
  const size_t length_bytes = magic[6] == 1 ? 2 : 4;
  DP_TRY(dp_bytes_header(&file->bytes, sizeof magic, &length, length_bytes));
  length = le32toh(length);
  if (length > MAX_HEADER_BYTES)
    return dp_fail(EX_DATAERR, "%s: the .npy header has %u bytes, which is too long", file->path, length);
  char *header = dp_alloc(file->arena, length + 1);
  DP_TRY(dp_bytes_header(&file->bytes, sizeof magic + length_bytes, header, length));
  DP_TRY(parse_type(file, header, data));
  DP_TRY(parse_shape(file, header, data));
  const char *order = find_key(header, "fortran_order");
  if (!order || (strncmp(order, "False", 5) && data->rank > 1))
    return dp_fail(EX_DATAERR, "%s: the array is in Fortran order: save it with numpy.ascontiguousarray", file->path);
  return dp_dense_rest(file, sizeof magic + length_bytes + length, false, data);
}

const dp_data_format dp_data_format_npy = {
    .what = "a .npy file",
    .recognise = recognise,
    .open = dp_npy_open,
    .read = dp_dense_read,
    .close = dp_dense_close,
};
