// Fits data to a graph input. See data.h.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data/convert.h"
#include "runtime/data/format.h"

enum { EXAMINED_BYTES = 1 << 20 };

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

static bool shapes_agree(const dp_data *data, const int64_t *wanted, int rank, int keep) {
  int64_t a[DP_MAX_RANK], b[DP_MAX_RANK];
  int na = squeeze(data->extents, data->rank, keep, a), nb = squeeze(wanted, rank, keep, b);
  return na == nb && !memcmp(a, b, (size_t)na * sizeof *a);
}

// ---- what converting would lose -------------------------------------------------------------------------------------

typedef struct {
  dp_arena *arena;
  const char *what;
  dp_data *data;
  dp_dtype to;
  bool skip_broken, rounded;
} examining;

static void note_broken(examining *e, int64_t sample, dp_status why) {
  dp_data_mark_broken(e->arena, e->data, dp_data_samples(e->data), sample, why);
}

static dp_status examine_sample(examining *e, int64_t sample, const char *numbers, int64_t count) {
  const size_t bytes = dp_type_bytes(e->data->dtype);
  for (int64_t i = 0; i < count; i++) {
    if (dp_convert_keeps(e->data->dtype, numbers + (size_t)i * bytes, e->to, &e->rounded)) continue;
    dp_status status = dp_fail(EX_DATAERR, "%s: element %lld is %.17g, which the input's type %s cannot hold", e->what,
                               (long long)(sample * count + i),
                               dp_element_get(e->data->dtype, numbers + (size_t)i * bytes), dp_type_name(e->to));
    if (!e->skip_broken) return status;
    note_broken(e, sample, status);
    return DP_OK;
  }
  return DP_OK;
}

// Reads samples; one alone that cannot be read may be skipped.
static dp_status read_examined(examining *e, int64_t first, int64_t count, char *buffer) {
  dp_status status = e->data->format->read(e->data, first, count, buffer);
  if (!status || !e->skip_broken || dp_status_code(status) != EX_DATAERR) return status;
  note_broken(e, first, status);
  return DP_OK;
}

static dp_status examine_all(examining *e, char *buffer, int64_t at_once) {
  const int64_t samples = dp_data_samples(e->data);
  const size_t bytes = dp_data_sample_bytes(e->data);
  const int64_t count = (int64_t)(bytes / dp_type_bytes(e->data->dtype));
  for (int64_t first = 0; first < samples; first += at_once) {
    const int64_t n = dp_min_i64(at_once, samples - first);
    if (n == 1 && e->data->broken && e->data->broken[first]) continue;
    DP_TRY(read_examined(e, first, n, buffer));
    for (int64_t s = 0; s < n; s++) {
      if (e->data->broken && e->data->broken[first + s]) continue;
      DP_TRY(examine_sample(e, first + s, buffer + (size_t)s * bytes, count));
    }
  }
  return DP_OK;
}

static dp_status examine(examining *e) {
  const size_t bytes = dp_data_sample_bytes(e->data);
  const bool together = bytes && bytes < EXAMINED_BYTES && !e->skip_broken;
  const int64_t at_once = together ? EXAMINED_BYTES / (int64_t)bytes : 1;
  char *buffer = malloc((size_t)at_once * bytes + 1);
  if (!buffer) return dp_fail(DP_EX_MEMORY, "%s: no memory to examine its numbers", e->what);
  dp_status status = examine_all(e, buffer, at_once);
  free(buffer);
  return status;
}

// ---- fitting --------------------------------------------------------------------------------------------------------

dp_status dp_data_fit(dp_arena *arena, const char *what, const dp_data_request *request, dp_data *data,
                      dp_fitted *fitted, bool *rounded) {
  const dp_type *input = request->input;
  const int batch_dim = request->batch_dim, keep = batch_dim >= 0 ? 0 : -1;
  *rounded = false;
  if (batch_dim >= 0 && !data->rank)
    return dp_fail(EX_DATAERR, "%s: the file holds a single number, not samples", what);
  dp_fitted result = {.data = data, .dtype = input->dtype, .rank = input->shape.rank};
  wanted_extents(input, batch_dim, batch_dim >= 0 ? data->extents[0] : 0, result.extents);
  if (!shapes_agree(data, result.extents, result.rank, keep)) {
    char expected[256], found[256];
    dp_tensor shape = {.dtype = data->dtype, .rank = data->rank};
    memcpy(shape.extents, data->extents, sizeof shape.extents);
    dp_type in_file = {data->dtype, dp_tensor_shape(&shape)};
    return dp_fail(EX_DATAERR, "%s: the file holds %s, but the input is %s", what,
                   dp_type_print(&in_file, found, sizeof found), dp_type_print(input, expected, sizeof expected));
  }
  if (!dp_convert_is_exact(data->dtype, input->dtype)) {
    examining e = {arena, what, data, input->dtype, request->skip_broken && batch_dim >= 0, false};
    DP_TRY(examine(&e));
    *rounded = e.rounded;
  }
  *fitted = result;
  return DP_OK;
}

size_t dp_fitted_sample_bytes(const dp_fitted *fitted) {
  return dp_data_sample_bytes(fitted->data) / dp_type_bytes(fitted->data->dtype) * dp_type_bytes(fitted->dtype);
}

dp_status dp_fitted_read(const dp_fitted *fitted, int64_t first, int64_t count, void *scratch, void *target) {
  const dp_data *data = fitted->data;
  if (data->dtype == fitted->dtype) return dp_data_read(data, first, count, target);
  DP_TRY(dp_data_read(data, first, count, scratch));
  const size_t elements = (size_t)count * (dp_data_sample_bytes(data) / dp_type_bytes(data->dtype));
  dp_convert(data->dtype, scratch, fitted->dtype, target, elements);
  return DP_OK;
}
