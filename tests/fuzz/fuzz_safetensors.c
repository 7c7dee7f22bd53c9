// Fuzzes the reader of weights. Reads every element of every tensor, which must be inside the file.
#include <string.h>

#include "ir/file/safetensors.h"
#include "tests/fuzz/fuzz.h"

static dp_status read_tensors(dp_arena *arena, const char *path) {
  dp_safetensors file;
  DP_TRY(dp_safetensors_open(arena, path, &file));
  volatile uint8_t sum = 0;
  for (size_t i = 0; i < file.count; i++) {
    const dp_tensor *t = &file.tensors[i].tensor;
    uint8_t *data = dp_alloc(arena, t->bytes);
    if (dp_safetensors_find(&file, file.tensors[i].name) != &file.tensors[i]) fuzz_die("a name that is not found");
    if ((uint64_t)dp_tensor_count(t) * dp_type_bytes(t->dtype) != t->bytes) fuzz_die("bytes that are not the shape's");
    dp_status status = dp_safetensors_read(&file, &file.tensors[i], data);
    if (status) fuzz_die("data that cannot be read");
    for (size_t k = 0; k < t->bytes; k++) sum = (uint8_t)(sum + data[k]);
  }
  dp_safetensors_close(&file);
  return DP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  fuzz_run(read_tensors, fuzz_file("weights.safetensors", data, bytes));
  return 0;
}
