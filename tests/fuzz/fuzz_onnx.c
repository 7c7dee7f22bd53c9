// Fuzzes the reader of ONNX models with a file of external data beside it: whatever it reads is a valid graph, which
// prints.
#include <stdlib.h>

#include "frontends/onnx/onnx.h"
#include "ir/text/text.h"
#include "tests/fuzz/fuzz.h"

static dp_status read_onnx(dp_arena *arena, const char *path) {
  dp_model *model;
  DP_TRY(dp_onnx_import(arena, path, &model));
  if (model->n_graphs != 1) fuzz_die("not one graph");
  dp_status status = dp_graph_verify(model->graphs[0]);
  if (status) {
    fprintf(stderr, "%s\n", dp_status_message(status));
    fuzz_die("a graph that is not sound");
  }
  FILE *out = fopen("/dev/null", "w");
  if (!out) fuzz_die("no memory");
  dp_text_print(model, out);
  fclose(out);
  return DP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static bool begun;
  static const uint8_t external[256];
  if (!begun) fuzz_file("data", external, sizeof external);
  begun = true;
  fuzz_run(read_onnx, fuzz_file("model.onnx", data, bytes));
  return 0;
}
