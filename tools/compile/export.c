// dpc export: a model as an ONNX file.
#include <string.h>

#include "frontends/onnx/onnx.h"
#include "ir/base/file.h"
#include "tools/compile/decide.h"
#include "tools/compile/dpc.h"
#include "tools/compile/options.h"

enum { KEY_GRAPH = 256, KEY_MESH, KEY_EXTERNAL };

typedef struct {
  dp_arena *arena;
  const char *model, *output, *graph, *mesh;
  bool external_data;
} request;

static error_t parse(int key, char *text, struct argp_state *state) {
  request *r = state->input;
  switch (key) {
    case 'o':
      r->output = text;
      return 0;
    case KEY_GRAPH:
      r->graph = text;
      return 0;
    case KEY_MESH:
      r->mesh = text;
      return 0;
    case KEY_EXTERNAL:
      r->external_data = true;
      return 0;
    case ARGP_KEY_ARG:
      if (r->model) argp_error(state, "give only one model");
      r->model = text;
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"output", 'o', "MODEL.onnx", 0, "Output file (default: MODEL with .onnx)", 0},
    {"graph", KEY_GRAPH, "NAME", 0, "Graph to export (default: main, or train if there is no main)", 0},
    {"mesh", KEY_MESH, "AXIS=N,...", 0,
     "Write the placements on this mesh as ONNX device annotations (default: the model's mesh)", 0},
    {"external-data", KEY_EXTERNAL, NULL, 0,
     "Write tensors above 1 MiB to MODEL.onnx.data (done anyway if the model has more than 1 GiB)", 0},
    {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "MODEL",
    .doc =
        "Writes a model (.dpt, .pb) as ONNX, for Netron and other programs. Operators that ONNX does not have, such as "
        "communication, are in domain dp.\v"
        "Examples:\n"
        "  dpc export examples/mlp.dpt -o mlp.onnx\n"
        "  dpc compile examples/mlp.dpt --strategy=data --devices=2 --batch=64 \\\n"
        "    --print-after=place --stop-after=place > placed.dpt\n"
        "  dpc export placed.dpt --graph=train -o placed.onnx",
};

static const char *default_output(dp_arena *arena, const char *model) {
  const char *slash = strrchr(model, '/'), *dot = strrchr(model, '.');
  size_t stem = dot && (!slash || dot > slash + 1) ? (size_t)(dot - model) : strlen(model);
  return dp_printf(arena, "%.*s.onnx", (int)stem, model);
}

static dp_status find_graph(const dp_model *model, const char *name, const dp_graph **graph) {
  *graph = dp_model_find_graph(model, name ? name : "main");
  if (!*graph && !name) *graph = dp_model_find_graph(model, "train");
  if (*graph) return DP_OK;
  return dp_fail(EX_DATAERR, "model '%s' has no graph '%s'; `dpc show` lists its graphs", model->name,
                 name ? name : "main");
}

dp_status dp_dpc_export_run(dp_arena *arena, int argc, char **argv) {
  request r = {.arena = arena};
  dp_model *model;
  const dp_graph *graph;
  DP_TRY(dp_cli_parse(&argp, argc, argv, &r));
  if (!r.model) return dp_fail(EX_USAGE, "no model given: dpc export MODEL [-o MODEL.onnx]");
  if (dp_onnx_is_path(r.model) && (!r.output || !strcmp(r.output, r.model)))
    return dp_fail(EX_CONFIG, "%s is an ONNX file already; to write it again, name another file with -o", r.model);
  DP_TRY(dp_file_allow_pipe(r.model));
  if (!r.output && dp_file_is_stream(r.model))
    return dp_fail(EX_USAGE, "the model comes from a pipe: name the output file with -o");
  if (!r.output) r.output = default_output(arena, r.model);
  const bool standard = dp_file_is_standard(r.output);
  if (!standard && !dp_onnx_is_path(r.output))
    return dp_fail(EX_USAGE, "-o %s: expected a name that ends with .onnx", r.output);
  if (standard && r.external_data)
    return dp_fail(EX_CONFIG, "--external-data writes a second file, which -o - does not allow");
  DP_TRY(dp_dpc_check_files(arena, r.model, r.output));
  DP_TRY(dp_cli_check_writable("-o", r.output, false));
  DP_TRY(dp_dpc_import_read(arena, r.model, &model));
  DP_TRY(find_graph(model, r.graph, &graph));
  dp_mesh mesh = model->mesh;
  if (r.mesh) DP_TRY(dp_dpc_decide_mesh(arena, r.mesh, &mesh));
  return dp_status_context(dp_onnx_export(arena, model, graph, &mesh, r.external_data, r.output), "%s", r.model);
}
