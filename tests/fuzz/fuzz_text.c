// Fuzzes the reader of .dpt: whatever it reads prints as text that reads and prints the same.
#include <stdlib.h>
#include <string.h>

#include "ir/text/text.h"
#include "tests/fuzz/fuzz.h"

static const uint8_t *input;
static size_t input_bytes;

static dp_status read_text(dp_arena *arena, const char *path) {
  dp_model *model, *again;
  size_t bytes, bytes_again;
  DP_TRY(dp_text_parse(arena, path, (const char *)input, input_bytes, &model));
  char *text = fuzz_print(model, &bytes);
  dp_status status = dp_text_parse(arena, path, text, bytes, &again);
  if (status) {
    fprintf(stderr, "%s\n%s\n", dp_status_message(status), text);
    fuzz_die("what was printed does not read");
  }
  char *text_again = fuzz_print(again, &bytes_again);
  if (bytes != bytes_again || memcmp(text, text_again, bytes)) fuzz_die("what was read prints differently");
  free(text);
  free(text_again);
  return DP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  input = data;
  input_bytes = bytes;
  fuzz_run(read_text, "model.dpt");
  return 0;
}
