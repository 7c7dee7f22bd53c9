// dpc import: converts an ONNX model to model.pb (or .dpt). Also chooses the reader of a model for all commands.
#include <stdio.h>
#include <string.h>

#include "frontends/onnx/onnx.h"
#include "ir/base/file.h"
#include "ir/file/model_file.h"
#include "tools/compile/dpc.h"

// A pipe's name says nothing, so look at field 1, a version in both formats: ours is 1, ONNX's has long been higher.
static dp_status is_onnx(dp_arena *arena, const char *path, bool *onnx) {
  uint8_t *data;
  size_t bytes;
  *onnx = dp_onnx_is_path(path);
  if (*onnx || !dp_file_is_stream(path)) return DP_OK;
  DP_TRY(dp_file_read(arena, path, 0, &data, &bytes));
  *onnx = bytes > 1 && data[0] == 8 && data[1] > 1;
  return DP_OK;
}

enum { MAX_SOURCES = 4 };  // nested texts that refer to each other's data

static dp_status read_source(dp_arena *arena, const char *path, int depth, dp_model **model) {
  return dp_onnx_is_path(path) ? dp_onnx_import(arena, path, model)
                               : dp_model_file_read_from(arena, path, read_source, depth, model);
}

dp_status dp_dpc_import_read_with(dp_arena *arena, const char *path, const dp_onnx_options *options, dp_model **model) {
  bool onnx;
  DP_TRY(is_onnx(arena, path, &onnx));
  if (onnx) return dp_onnx_import_with(arena, path, options, model);
  if (options->n_dims)
    return dp_fail(EX_USAGE, "--dim %s=%lld: %s is no ONNX file, and leaves no dim open but the batch",
                   options->dims[0].name, (long long)options->dims[0].extent, path);
  return read_source(arena, path, MAX_SOURCES, model);
}

dp_status dp_dpc_check_files(dp_arena *arena, const char *model, const char *output) {
  const bool standard = dp_file_is_standard(output);
  const dp_cli_file files[] = {
      {"the model", model, false},
      {"the model's tensors", dp_printf(arena, "%s.safetensors", model), false},
      {"the model's data", dp_printf(arena, "%s.data", model), false},
      {"the output", output, true},
      {"the file beside it", standard ? NULL : dp_printf(arena, "%s.safetensors", output), true},
      {"the data beside it", standard ? NULL : dp_printf(arena, "%s.data", output), true},
  };
  return dp_cli_files_check(files, (int)DP_COUNT(files));
}

dp_status dp_dpc_import_read(dp_arena *arena, const char *path, dp_model **model) {
  const dp_onnx_options none = {0};
  return dp_dpc_import_read_with(arena, path, &none, model);
}

dp_status dp_dpc_import_read_asked(dp_arena *arena, const char *path, const dp_options *o, dp_model **model) {
  dp_onnx_options onnx = {.n_train = o->n_train, .train = o->train, .n_freeze = o->n_freeze, .freeze = o->freeze};
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

enum { KEY_TRAIN = 1024, KEY_DIM };

static error_t parse_onnx(int key, char *text, struct argp_state *state) {
  dp_dpc_onnx *o = state->input;
  if (key == KEY_TRAIN) {
    DP_PUSH(o->arena, o->train, o->onnx.n_train, text);
    o->onnx.train = o->train;
  } else if (key == KEY_DIM) {
    if (!o->status) o->status = dp_dpc_import_dim(o->arena, text, &o->onnx);
  } else {
    return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

static const struct argp_option onnx_table[] = {
    {"train", KEY_TRAIN, "GLOB", 0,
     "Float initializers that are parameters whatever the file says (docs/onnx.md); may be repeated", 0},
    {"dim", KEY_DIM, "NAME=N", 0,
     "What an open dim of the inputs is, other than the batch, for example seq=128; may be repeated", 0},
    {0}};

const struct argp dp_dpc_onnx_argp = {.options = onnx_table, .parser = parse_onnx};

typedef struct {
  const char *model, *output;
  dp_dpc_onnx onnx;
} request;

static error_t parse(int key, char *text, struct argp_state *state) {
  request *p = state->input;
  if (key == ARGP_KEY_INIT) {
    state->child_inputs[0] = &p->onnx;
  } else if (key == 'o') {
    p->output = text;
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
      {"output", 'o', "MODEL.pb", 0, "Where the model goes; text when it ends with .dpt (default: MODEL with .pb)", 0},
      {0}};
  static const struct argp_child children[] = {{&dp_dpc_onnx_argp, 0, NULL, 0}, {0}};
  static const struct argp argp = {
      .options = table,
      .children = children,
      .parser = parse,
      .args_doc = "MODEL.onnx",
      .doc =
          "Reads an ONNX model and writes it as model.pb; `dpc compile` and `dpc show` take .onnx as it is.\v"
          "Examples:\n"
          "  dpc export examples/mlp.dpt -o mlp.onnx\n"
          "  dpc import mlp.onnx -o mlp.pb\n"
          "  dpc import mlp.onnx -o mlp.dpt",
  };
  request p = {.onnx = {.arena = arena}};
  dp_model *model;
  DP_TRY(dp_cli_parse(&argp, argc, argv, &p));
  DP_TRY(p.onnx.status);
  if (!p.model) return dp_fail(EX_USAGE, "no model is given: dpc import MODEL.onnx [-o MODEL.pb]");
  DP_TRY(dp_file_allow_pipe(p.model));
  const bool stream = dp_file_is_stream(p.model);
  if (!stream && !dp_onnx_is_path(p.model))
    return dp_fail(EX_USAGE, "%s: a file that ends with .onnx is expected", p.model);
  if (stream && !p.output) return dp_fail(EX_USAGE, "the model comes from a pipe: say with -o where it goes");
  if (!p.output) p.output = dp_printf(arena, "%.*s.pb", (int)(strlen(p.model) - 5), p.model);
  DP_TRY(dp_cli_check_ending("-o", p.output, "a model of our own form", ".pb .dpt", false));
  DP_TRY(dp_cli_check_writable("-o", p.output, false));
  DP_TRY(dp_dpc_import_read_with(arena, p.model, &p.onnx.onnx, &model));
  if (model->caveat) fprintf(stderr, "%s: %s\n", p.model, model->caveat);
  DP_TRY(dp_dpc_check_files(arena, p.model, p.output));
  return dp_model_file_write(model, p.output);
}
