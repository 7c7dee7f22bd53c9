// Fits a file's tensor to a graph input. See data.h.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/data/data.h"

// Drops extents of 1, but keeps the axis `keep`. Returns how many remain.
static int squeeze(const int64_t *extents, int rank, int keep, int64_t *squeezed) {
  int count = 0;
  for (int i = 0; i < rank; i++)
    if (i == keep || extents[i] != 1) squeezed[count++] = extents[i];
  return count;
}

// The input's extents as the file should have them, samples first.
static void wanted_extents(const dp_type *input, int batch_dim, int64_t samples, int64_t *wanted) {
  int at = 0;
  if (batch_dim >= 0) wanted[at++] = samples;
  for (int i = 0; i < input->shape.rank; i++)
    if (i != batch_dim) wanted[at++] = input->shape.dims[i].offset;
}

static bool shapes_agree(const dp_tensor *file, const int64_t *wanted, int rank, int keep) {
  int64_t a[DP_MAX_RANK], b[DP_MAX_RANK];
  int na = squeeze(file->extents, file->rank, keep, a), nb = squeeze(wanted, rank, keep, b);
  return na == nb && !memcmp(a, b, (size_t)na * sizeof *a);
}

// Whether the conversion is acceptable: converting back gives the same number (NaN matches NaN), or both types are
// float and the number was rounded. Integers are compared by bits, because a double cannot hold the largest.
static bool is_kept(const dp_tensor *from, const char *source, dp_dtype to, const char *target, bool *rounded) {
  uint64_t back_bits = 0;
  double x = dp_element_get(from->dtype, source), back = dp_element_get(to, target);
  dp_element_set(from->dtype, &back_bits, back);
  if (!dp_type_is_float(from->dtype)) return !memcmp(&back_bits, source, dp_type_bytes(from->dtype));
  if (back == x || (back != back && x != x)) return true;
  *rounded = true;
  return dp_type_is_float(to) && isfinite(back) && isfinite(x);
}

static dp_status convert(dp_arena *arena, const char *what, dp_dtype to, const dp_tensor *from, dp_tensor *fitted,
                         bool *rounded) {
  int64_t count = dp_tensor_count(from);
  size_t from_bytes = dp_type_bytes(from->dtype), to_bytes = dp_type_bytes(to);
  char *data = dp_alloc_n(arena, (size_t)count, to_bytes);
  for (int64_t i = 0; i < count; i++) {
    const char *source = (const char *)from->data + (size_t)i * from_bytes;
    char *target = data + (size_t)i * to_bytes;
    double x = dp_element_get(from->dtype, source);
    dp_element_set(to, target, x);
    if (!is_kept(from, source, to, target, rounded))
      return dp_fail(EX_DATAERR, "%s: element %lld is %.17g, which the input's type %s cannot hold", what, (long long)i,
                     x, dp_type_name(to));
  }
  fitted->dtype = to;
  fitted->data = data;
  fitted->bytes = (size_t)count * to_bytes;
  return DP_OK;
}

dp_status dp_data_fit(dp_arena *arena, const char *what, const dp_type *input, int batch_dim, const dp_tensor *file,
                      dp_tensor *fitted, bool *rounded) {
  *rounded = false;
  int keep = batch_dim >= 0 ? 0 : -1;
  if (batch_dim >= 0 && !file->rank)
    return dp_fail(EX_DATAERR, "%s: the file holds a single number, not samples", what);
  int64_t wanted[DP_MAX_RANK] = {0};
  wanted_extents(input, batch_dim, batch_dim >= 0 ? file->extents[0] : 0, wanted);
  if (!shapes_agree(file, wanted, input->shape.rank, keep)) {
    char expected[256], found[256];
    dp_type in_file = {file->dtype, dp_tensor_shape(file)};
    return dp_fail(EX_DATAERR, "%s: the file holds %s, but the input is %s", what,
                   dp_type_print(&in_file, found, sizeof found), dp_type_print(input, expected, sizeof expected));
  }
  dp_tensor result = *file;
  if (file->dtype != input->dtype) DP_TRY(convert(arena, what, input->dtype, file, &result, rounded));
  result.rank = input->shape.rank;
  memcpy(result.extents, wanted, sizeof wanted);
  *fitted = result;
  return DP_OK;
}
