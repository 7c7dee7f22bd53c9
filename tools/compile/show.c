// dpc show: a model as text that reads back to the same model, or a plan as a listing. Which of the two a file is, its
// first bytes say.
#include <stdio.h>
#include <string.h>

#include "ir/base/file.h"
#include "ir/plan/plan.h"
#include "ir/plan/report/print.h"
#include "ir/text/text.h"
#include "tools/compile/dpc.h"

enum { KEY_DIM = 256 };

typedef struct {
  dp_arena *arena;
  const char *path;
  dp_onnx_options onnx;
  dp_status status;
} request;

static error_t parse(int key, char *text, struct argp_state *state) {
  request *r = state->input;
  if (key == KEY_DIM) {
    if (!r->status) r->status = dp_dpc_import_dim(r->arena, text, &r->onnx);
    return 0;
  }
  if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
  if (r->path) argp_error(state, "one file is shown at a time");
  r->path = text;
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

dp_status dp_dpc_show_run(dp_arena *arena, int argc, char **argv) {
  static const struct argp_option table[] = {
      {"dim", KEY_DIM, "NAME=N", 0, "what an open dim of an ONNX file is, other than the batch; may be repeated", 0},
      {0}};
  static const struct argp argp = {
      .options = table,
      .parser = parse,
      .args_doc = "FILE",
      .doc =
          "Prints a model as text (.dpt), or a plan as a listing of what it holds and does.\v"
          "Examples:\n  dpc show model.pb > model.dpt\n  dpc show plan.bin",
  };
  request r = {.arena = arena};
  DP_TRY(dp_cli_parse(&argp, argc, argv, &r));
  DP_TRY(r.status);
  const char *path = r.path;
  if (!path) return dp_fail(EX_USAGE, "no file is given: dpc show FILE");
  bool plan_file;
  DP_TRY(is_plan(path, &plan_file));
  if (plan_file) {
    Dp__Plan *plan;
    DP_TRY(dp_plan_read(arena, path, &plan));
    dp_plan_print(plan, stdout);
  } else {
    dp_model *model;
    DP_TRY(dp_dpc_import_read_with(arena, path, &r.onnx, &model));
    dp_text_print(model, stdout);
  }
  return DP_OK;
}
