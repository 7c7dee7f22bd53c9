// dpc show: prints a model as text that reads back to the same model, or a plan as a listing. The first bytes of a file
// tell which it is.
#include <stdio.h>
#include <string.h>

#include "ir/base/file.h"
#include "ir/plan/plan.h"
#include "ir/plan/report/print.h"
#include "ir/text/text.h"
#include "tools/compile/dpc.h"

enum { KEY_DATA = 256, KEY_DIM };

typedef struct {
  dp_arena *arena;
  const char *path;
  bool data;
  dp_onnx_options onnx;
  dp_status status;
} request;

static error_t parse(int key, char *text, struct argp_state *state) {
  request *r = state->input;
  if (key == KEY_DATA) {
    r->data = true;
  } else if (key == KEY_DIM) {
    if (!r->status) r->status = dp_dpc_import_dim(r->arena, text, &r->onnx);
  } else if (key == ARGP_KEY_ARG) {
    if (r->path) argp_error(state, "give only one file");
    r->path = text;
  } else {
    return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

static dp_status is_plan(const char *path, bool *plan) {
  dp_file_reader reader;
  char magic[6] = "";
  DP_TRY(dp_file_reader_open(path, &reader));
  dp_status status = reader.bytes < sizeof magic ? DP_OK : dp_file_reader_read(&reader, 0, magic, sizeof magic);
  dp_file_reader_close(&reader);
  *plan = !memcmp(magic, "DPPLAN", sizeof magic);
  return status;
}

static dp_status show_model(const request *r) {
  dp_model *model;
  DP_TRY(dp_dpc_import_read_with(r->arena, r->path, &r->onnx, &model));
  const char *slash = strrchr(r->path, '/'), *name = slash ? slash + 1 : r->path;
  // A text names its model file but not the sizes of open dims, so it could not be read back.
  if (r->data || r->onnx.n_dims) {
    dp_text_print(model, stdout);
    return DP_OK;
  }
  const dp_text_held held = dp_text_hold(model, dp_file_is_stream(r->path) ? NULL : name, "dpc show --data");
  dp_text_print_elided(model, &held, stdout);
  return DP_OK;
}

dp_status dp_dpc_show_run(dp_arena *arena, int argc, char **argv) {
  static const struct argp_option table[] = {
      {"data", KEY_DATA, 0, 0,
       "Print the data of large tensors too, so that the text stands alone; without it the text refers to FILE for "
       "them and can be read back only beside it",
       0},
      {"dim", KEY_DIM, "NAME=N", 0,
       "Size of an open dim of an ONNX file other than the batch, for example seq=128; implies --data; may be repeated",
       0},
      {0}};
  static const struct argp argp = {
      .options = table,
      .parser = parse,
      .args_doc = "FILE",
      .doc =
          "Prints a model as text (.dpt), or a plan as a listing of its contents. FILE - is standard input.\v"
          "Examples:\n"
          "  dpc show examples/mlp.dpt\n"
          "  dpc export examples/mlp.dpt -o mlp.onnx\n"
          "  dpc show mlp.onnx\n"
          "  dpc show mlp.onnx --data > mlp.dpt\n"
          "  dpc compile mlp.dpt --batch=64 --optimizer='sgd(lr=0.1)' -o plan.bin\n"
          "  dpc show plan.bin",
  };
  request r = {.arena = arena};
  bool plan_file;
  DP_TRY(dp_cli_parse(&argp, argc, argv, &r));
  DP_TRY(r.status);
  if (!r.path) return dp_fail(EX_USAGE, "no file given: dpc show FILE");
  DP_TRY(dp_file_allow_pipe(r.path));
  DP_TRY(is_plan(r.path, &plan_file));
  if (!plan_file) return show_model(&r);
  Dp__Plan *plan;
  DP_TRY(dp_plan_read(arena, r.path, &plan));
  dp_plan_print(plan, NULL, stdout);
  return DP_OK;
}
