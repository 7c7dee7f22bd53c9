// dpc import: an ONNX model as model.pb (or .dpt). Which reader a model needs is decided here for every command.
#include <stdio.h>
#include <string.h>

#include "frontends/onnx/onnx.h"
#include "ir/file/model_file.h"
#include "tools/compile/dpc.h"

dp_status dp_dpc_import_read_with(dp_arena *arena, const char *path, const dp_onnx_options *options, dp_model **model) {
  if (dp_onnx_is_path(path)) return dp_onnx_import_with(arena, path, options, model);
  if (options->n_dims)
    return dp_fail(EX_USAGE, "--dim %s=%lld: %s is no ONNX file, and leaves no dim open but the batch",
                   options->dims[0].name, (long long)options->dims[0].extent, path);
  return dp_model_file_read(arena, path, model);
}

dp_status dp_dpc_import_read(dp_arena *arena, const char *path, dp_model **model) {
  const dp_onnx_options none = {0};
  return dp_dpc_import_read_with(arena, path, &none, model);
}

dp_status dp_dpc_import_read_asked(dp_arena *arena, const char *path, const dp_options *o, dp_model **model) {
  dp_onnx_options onnx = {.n_train = o->n_train, .train = o->train};
  for (int i = 0; i < o->n_dims; i++) DP_TRY(dp_dpc_import_dim(arena, o->dims[i], &onnx));
  return dp_dpc_import_read_with(arena, path, &onnx, model);
}

dp_status dp_dpc_import_dim(dp_arena *arena, const char *text, dp_onnx_options *options) {
  const char *equals = strrchr(text, '=');
  if (!equals || equals == text) return dp_fail(EX_USAGE, "--dim=%s: expected NAME=N, for example --dim seq=128", text);
  dp_onnx_dim dim = {.name = dp_strndup(arena, text, (size_t)(equals - text))};
  DP_TRY(dp_cli_int("dim", equals + 1, 1, INT32_MAX, &dim.extent));
  for (int i = 0; i < options->n_dims; i++)
    if (!strcmp(options->dims[i].name, dim.name)) return dp_fail(EX_USAGE, "--dim %s is given twice", dim.name);
  dp_onnx_dim *dims = dp_alloc_n(arena, (size_t)options->n_dims + 1, sizeof *dims);
  if (options->n_dims) memcpy(dims, options->dims, (size_t)options->n_dims * sizeof *dims);
  dims[options->n_dims++] = dim;
  options->dims = dims;
  return DP_OK;
}

enum { KEY_TRAIN = 256, KEY_DIM };

typedef struct {
  dp_arena *arena;
  const char *model, *output;
  int n_train;
  const char **train;
  dp_onnx_options onnx;
  dp_status status;
} request;

static error_t parse(int key, char *text, struct argp_state *state) {
  request *p = state->input;
  if (key == 'o') {
    p->output = text;
  } else if (key == KEY_TRAIN) {
    DP_PUSH(p->arena, p->train, p->n_train, text);
  } else if (key == KEY_DIM) {
    if (!p->status) p->status = dp_dpc_import_dim(p->arena, text, &p->onnx);
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
      {"dim", KEY_DIM, "NAME=N", 0, "what an open dim of the inputs is, other than the batch; may be repeated", 0},
      {0}};
  static const struct argp argp = {
      .options = table,
      .parser = parse,
      .args_doc = "MODEL.onnx",
      .doc =
          "Reads an ONNX model and writes it as model.pb; `dpc compile` and `dpc show` take .onnx as it is.\v"
          "Examples:\n  dpc import model.onnx -o model.pb\n  dpc import model.onnx -o model.dpt\n"
          "  dpc import gpt.onnx --dim seq=128",
  };
  request p = {.arena = arena};
  dp_model *model;
  DP_TRY(dp_cli_parse(&argp, argc, argv, &p));
  DP_TRY(p.status);
  if (!p.model) return dp_fail(EX_USAGE, "no model is given: dpc import MODEL.onnx [-o MODEL.pb]");
  if (!dp_onnx_is_path(p.model)) return dp_fail(EX_USAGE, "%s: a file that ends with .onnx is expected", p.model);
  if (!p.output) p.output = dp_printf(arena, "%.*s.pb", (int)(strlen(p.model) - 5), p.model);
  if (dp_onnx_is_path(p.output))
    return dp_fail(EX_USAGE, "-o %s: import writes our own form; a name that ends with .pb or .dpt is expected",
                   p.output);
  p.onnx.n_train = p.n_train;
  p.onnx.train = p.train;
  DP_TRY(dp_onnx_import_with(arena, p.model, &p.onnx, &model));
  if (model->caveat) fprintf(stderr, "%s: %s\n", p.model, model->caveat);
  return dp_model_file_write(model, p.output);
}
