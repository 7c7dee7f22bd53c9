// Fuzzes the formats of data files, compressed or not, and patterns of two files. Whatever opens must say how many
// samples it has, and each of them must be read; only a record that holds a picture may turn out to be broken then.
#include <stdlib.h>
#include <string.h>

#include "runtime/data/data.h"
#include "tests/fuzz/data_kinds.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_BYTES = 1 << 22 };  // that are read of one file

static const data_kind *kind;
static bool skip_broken;

// The path of a pattern of two files.
static const char *two_files(const uint8_t *data, size_t bytes) {
  static char path[128];
  char name[64];
  const size_t first = (data[0] | (size_t)data[1] << 8) % (bytes - 1), rest = bytes - 2 - first;
  snprintf(name, sizeof name, "0-%s", kind->file);
  fuzz_file(name, data + 2, first);
  *name = '1';
  snprintf(path, sizeof path, "%s", fuzz_file(name, data + 2 + first, rest));
  path[strlen(path) - strlen(name)] = '?';
  return path;
}

static bool is_folder(void) { return !strncmp(kind->file, "pictures/", 9); }

static dp_type input_type(void) {
  dp_type type = {.dtype = kind->dtype, .shape = {.rank = kind->rank + 1}};
  type.shape.dims[0] = dp_dim_batch();
  for (int d = 0; d < kind->rank; d++) type.shape.dims[d + 1] = dp_dim_of(kind->extents[d]);
  return type;
}

static const char *name_of(dp_arena *arena, const char *path) {
  if (is_folder()) return dp_strndup(arena, path, strlen(path) - strlen(strchr(kind->file, '/')));
  return kind->part ? dp_printf(arena, "%s:%s", path, kind->part) : path;
}

// A file may fail after it was opened only where a sample is a picture, or known to be broken.
static void must(const dp_data *data, int64_t sample, dp_status status) {
  const bool allowed =
      dp_status_code(status) == EX_DATAERR && ((data->dtype == DP_UINT8 && !kind->part) || data->broken);
  if (status && !allowed) {
    fprintf(stderr, "sample %lld: %s\n", (long long)sample, dp_status_message(status));
    fuzz_die("a sample that cannot be read");
  }
  dp_status_free(status);
}

static void read_samples(const dp_fitted *fitted) {
  const dp_data *data = fitted->data;
  const size_t raw = dp_data_sample_bytes(data), bytes = dp_fitted_sample_bytes(fitted);
  const int64_t samples = dp_data_samples(data);
  void *scratch = malloc(raw + !raw), *target = malloc(bytes + !bytes);
  if (samples < 0 || !scratch || !target) fuzz_die("samples without end");
  for (int64_t i = 0; i < samples && i * (int64_t)(raw + 1) < MOST_BYTES; i++)
    must(data, i, dp_fitted_read(fitted, i, 1, scratch, target));
  if (samples) must(data, samples - 1, dp_fitted_read(fitted, samples - 1, 1, scratch, target));
  free(scratch);
  free(target);
}

static dp_status use(dp_arena *arena, const dp_data_request *request, dp_data *data) {
  dp_fitted fitted;
  bool rounded;
  uint64_t hash;
  DP_TRY(dp_data_fit(arena, "file", request, data, &fitted, &rounded));
  read_samples(&fitted);
  return dp_data_hash(data, &hash);
}

static dp_status read_data(dp_arena *arena, const char *path) {
  const dp_type type = input_type();
  const dp_data_request request = {.input = &type, .skip_broken = skip_broken};
  dp_data *data = NULL;
  dp_status status = dp_data_open(arena, name_of(arena, path), &request, &data);
  if (!status) status = use(arena, &request, data);
  dp_data_close(data);
  if (dp_status_code(status) != EX_USAGE) return status;
  // The file has no such part: the fault of whoever asked.
  dp_status_free(status);
  return DP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  if (!bytes) return 0;
  kind = &data_kinds[(data[0] & DATA_ROW) % DP_COUNT(data_kinds)];
  skip_broken = data[0] & DATA_SKIPS_BROKEN;
  const bool pattern = data[0] & DATA_IS_PATTERN && bytes > 2;
  fuzz_run(read_data, pattern ? two_files(data + 1, bytes - 1) : fuzz_file(kind->file, data + 1, bytes - 1));
  return 0;
}
