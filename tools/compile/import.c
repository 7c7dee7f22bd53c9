// dpc import: an ONNX model as model.pb (or .dpt). Which reader a model needs is decided here for every command.
#include <stdio.h>
#include <string.h>

#include "frontends/onnx/onnx.h"
#include "ir/file/model_file.h"
#include "tools/compile/dpc.h"

dp_status dp_dpc_import_read_trained(dp_arena *arena, const char *path, int n_globs, const char *const *globs,
                                     dp_model **model) {
  const dp_onnx_options options = {.n_train = n_globs, .train = globs};
  return dp_onnx_is_path(path) ? dp_onnx_import_with(arena, path, &options, model)
                               : dp_model_file_read(arena, path, model);
}

dp_status dp_dpc_import_read(dp_arena *arena, const char *path, dp_model **model) {
  return dp_dpc_import_read_trained(arena, path, 0, NULL, model);
}

enum { KEY_TRAIN = 256 };

typedef struct {
  dp_arena *arena;
  const char *model, *output;
  int n_train;
  const char **train;
} request;

static error_t parse(int key, char *text, struct argp_state *state) {
  request *p = state->input;
  if (key == 'o') {
    p->output = text;
  } else if (key == KEY_TRAIN) {
    DP_PUSH(p->arena, p->train, p->n_train, text);
  } else if (key == ARGP_KEY_ARG) {
    if (p->model) argp_error(state, "one model is imported at a time");
    p->model = text;
  } else {
    return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

dp_status dp_dpc_import_run(dp_arena *arena, int argc, char **argv) {
  static const struct argp_option table[] = {
      {"output", 'o', "MODEL.pb", 0, "where the model goes; text when it ends with .dpt (default: MODEL with .pb)", 0},
      {"train", KEY_TRAIN, "GLOB", 0,
       "float initializers that are parameters whatever the file says (docs/onnx.md); may be repeated", 0},
      {0}};
  static const struct argp argp = {
      .options = table,
      .parser = parse,
      .args_doc = "MODEL.onnx",
      .doc =
          "Reads an ONNX model and writes it as model.pb; `dpc compile` and `dpc show` take .onnx as it is.\v"
          "Examples:\n  dpc import model.onnx -o model.pb\n  dpc import model.onnx -o model.dpt",
  };
  request p = {.arena = arena};
  dp_model *model;
  DP_TRY(dp_cli_parse(&argp, argc, argv, &p));
  if (!p.model) return dp_fail(EX_USAGE, "no model is given: dpc import MODEL.onnx [-o MODEL.pb]");
  if (!dp_onnx_is_path(p.model)) return dp_fail(EX_USAGE, "%s: a file that ends with .onnx is expected", p.model);
  if (!p.output) p.output = dp_printf(arena, "%.*s.pb", (int)(strlen(p.model) - 5), p.model);
  if (dp_onnx_is_path(p.output))
    return dp_fail(EX_USAGE, "-o %s: import writes our own form; a name that ends with .pb or .dpt is expected",
                   p.output);
  DP_TRY(dp_dpc_import_read_trained(arena, p.model, p.n_train, p.train, &model));
  if (model->caveat) fprintf(stderr, "%s: %s\n", p.model, model->caveat);
  return dp_model_file_write(model, p.output);
}
