// Fuzzes the reader of model.pb with a file of large tensors beside it: whatever it reads can be written and read back.
#include <stdlib.h>
#include <string.h>

#include "ir/file/model_file.h"
#include "ir/file/safetensors.h"
#include "tests/fuzz/fuzz.h"

static dp_status read_model(dp_arena *arena, const char *path) {
  dp_model *model, *again;
  size_t bytes, bytes_again;
  DP_TRY(dp_model_file_read(arena, path, &model));
  char *text = fuzz_print(model, &bytes);
  const char *copy = dp_printf(arena, "%s.copy", path);
  dp_status status = dp_model_file_write(model, copy);
  if (!status) status = dp_model_file_read(arena, copy, &again);
  if (status) {
    fprintf(stderr, "%s\n%s\n", dp_status_message(status), text);
    fuzz_die("what was written does not read");
  }
  char *text_again = fuzz_print(again, &bytes_again);
  if (bytes != bytes_again || memcmp(text, text_again, bytes)) fuzz_die("what was written reads differently");
  free(text);
  free(text_again);
  return DP_OK;
}

// The tensors "w" and "v", which the seeds name.
static void write_tensors(void) {
  static const float numbers[6] = {1, 2, 3, 4, 5, 6};
  static const int64_t counts[2] = {7, 8};
  const dp_safetensor tensors[] = {
      {"v", {.dtype = DP_INT64, .rank = 1, .extents = {2}, .bytes = sizeof counts, .data = counts}, 0},
      {"w", {.dtype = DP_FLOAT32, .rank = 2, .extents = {2, 3}, .bytes = sizeof numbers, .data = numbers}, 0},
  };
  const char *path = fuzz_file("model.pb.safetensors", "", 0);
  if (dp_safetensors_write(path, tensors, DP_COUNT(tensors))) fuzz_die("the tensors cannot be written");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static bool begun;
  if (!begun) write_tensors();
  begun = true;
  fuzz_run(read_model, fuzz_file("model.pb", data, bytes));
  return 0;
}
