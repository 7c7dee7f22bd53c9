// dpc export: a model as a file for other programs, with its first values or with the weights of --init.
#include <string.h>

#include "frontends/onnx/onnx.h"
#include "ir/base/file.h"
#include "ir/file/model_file.h"
#include "passes/train/train.h"
#include "tools/compile/decide.h"
#include "tools/compile/dpc.h"
#include "tools/compile/options.h"
#include "tools/weights/load.h"
#include "tools/weights/match.h"

enum { KEY_GRAPH = 256, KEY_MESH, KEY_EXTERNAL };

typedef struct {
  dp_arena *arena;
  const char *model, *output, *graph, *mesh;
  bool external_data;
  dp_dpc_onnx onnx;
  dp_weights_options init;
} request;

static error_t parse(int key, char *text, struct argp_state *state) {
  request *r = state->input;
  switch (key) {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &r->init;
      state->child_inputs[1] = &r->onnx;
      return 0;
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
    {"output", 'o', "FILE", 0,
     "Output file (default: MODEL with .onnx); a name that ends with .pb or .dpt is written in a form of our own", 1},
    {"graph", KEY_GRAPH, "NAME", 0,
     "Graph to export (default: main, with --init as inference computes it; or train if there is no main)", 0},
    {"mesh", KEY_MESH, "AXIS=N,...", 0,
     "Write the placements on this mesh as ONNX device annotations (default: the model's mesh)", 0},
    {"external-data", KEY_EXTERNAL, NULL, 0,
     "Write tensors above 1 MiB to MODEL.onnx.data (done anyway if the model has more than 1 GiB)", 0},
    {0, 0, 0, 0, "Weights", 2},
    {0}};

static const struct argp_child children[] = {{&dp_weights_argp, 0, NULL, 0}, {&dp_dpc_onnx_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    .options = options,
    .children = children,
    .parser = parse,
    .args_doc = "MODEL",
    .doc =
        "Writes a model as ONNX, for Netron and other programs, with its first values or with trained weights. "
        "Operators that ONNX does not have, such as communication, are in domain dp.\v"
        "Examples:\n"
        "  dpc export examples/mlp.dpt -o mlp.onnx\n"
        "  dpc compile examples/mlp.dpt --batch=64 -o plan.bin\n"
        "  digits=examples/data/digits\n"
        "  dprun plan.bin --save=run/ --data image=$digits/train-images-idx3-ubyte \\\n"
        "    --data label=$digits/train-labels-idx1-ubyte\n"
        "  dpc export examples/mlp.dpt --init=run/ -o trained.onnx\n"
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

// ---- weights --------------------------------------------------------------------------------------------------------

static void set_first(dp_arena *arena, dp_variable *p, const void *data) {
  dp_tensor *tensor = dp_alloc(arena, sizeof *tensor);
  *tensor = dp_weights_tensor_of(p);
  tensor->data = data;
  p->init = (dp_init){.kind = DP_INIT_TENSOR, .tensor = tensor};
}

// What was measured is what is deployed: averages of parameters, where there are any, take the parameters' place.
static dp_status put_weights(const request *r, dp_model *model) {
  const dp_cli_file written[] = {
      {"-o", r->output, true},
      {"the file beside it", dp_printf(r->arena, "%s.safetensors", r->output), true},
      {"the data beside it", dp_printf(r->arena, "%s.data", r->output), true},
  };
  dp_weights w;
  DP_TRY(dp_weights_load(r->arena, model, &r->init, written, DP_COUNT(written), &w));
  for (int32_t i = 0; i < model->n_variables; i++) {
    const int32_t average = dp_weights_average_of(r->arena, model, i);
    if (w.data[i]) set_first(r->arena, &model->variables[i], w.data[i]);
    if (w.averages[i]) set_first(r->arena, &model->variables[average < 0 ? i : average], w.averages[i]);
  }
  dp_weights_note(&r->init, &w);
  return DP_OK;
}

// Other programs compute what the file says: dropout, and the batch's own statistics, would spoil their predictions.
static dp_status make_infer(const dp_graph *trained, const dp_graph **graph) {
  dp_graph *inferring;
  DP_TRY(dp_programs_infer(trained, &inferring));
  *graph = inferring;
  return DP_OK;
}

// ---- the command ----------------------------------------------------------------------------------------------------

static bool ends_with(const char *text, const char *ending) {
  const size_t length = strlen(text), more = strlen(ending);
  return length >= more && !strcmp(text + length - more, ending);
}

static bool is_own_form(const char *path) { return ends_with(path, ".pb") || ends_with(path, ".dpt"); }

static dp_status check_output(request *r) {
  if (dp_onnx_is_path(r->model) && (!r->output || !strcmp(r->output, r->model)))
    return dp_fail(EX_CONFIG, "%s is an ONNX file already; to write it again, name another file with -o", r->model);
  if (!r->output && dp_file_is_stream(r->model))
    return dp_fail(EX_USAGE, "the model comes from a pipe: name the output file with -o");
  if (!r->output) r->output = default_output(r->arena, r->model);
  if (is_own_form(r->output)) {
    if (r->graph || r->mesh || r->external_data)
      return dp_fail(EX_USAGE, "-o %s: --graph, --mesh and --external-data are about ONNX files", r->output);
  } else if (!dp_file_is_standard(r->output)) {
    if (!dp_onnx_is_path(r->output))
      return dp_fail(EX_USAGE, "-o %s: expected a name that ends with .onnx, .pb or .dpt", r->output);
  } else if (r->external_data) {
    return dp_fail(EX_CONFIG, "--external-data writes a second file, which -o - does not allow");
  }
  if (r->onnx.onnx.n_train && !dp_onnx_is_path(r->model) && !dp_file_is_stream(r->model))
    return dp_fail(EX_USAGE, "--train=%s: %s is no ONNX file, and says itself what its parameters are",
                   r->onnx.train[0], r->model);
  const dp_cli_file read[] = {{"the model", r->model, false}, {"--init", r->init.path, false}};
  DP_TRY(dp_cli_files_check(read, DP_COUNT(read)));
  DP_TRY(dp_dpc_check_files(r->arena, r->model, r->output));
  return dp_cli_check_writable("-o", r->output, false);
}

dp_status dp_dpc_export_run(dp_arena *arena, int argc, char **argv) {
  request r = {.arena = arena, .onnx = {.arena = arena}, .init = {.arena = arena}};
  dp_model *model;
  const dp_graph *graph;
  DP_TRY(dp_cli_parse(&argp, argc, argv, &r));
  DP_TRY(r.init.status);
  DP_TRY(r.onnx.status);
  DP_TRY(dp_weights_options_check(&r.init));
  if (!r.model) return dp_fail(EX_USAGE, "no model given: dpc export MODEL [-o MODEL.onnx]");
  DP_TRY(dp_file_allow_pipe(r.model));
  DP_TRY(dp_file_allow_pipe(r.init.path));
  DP_TRY(check_output(&r));
  DP_TRY(dp_dpc_import_read_with(arena, r.model, &r.onnx.onnx, &model));
  if (r.init.path) DP_TRY(put_weights(&r, model));
  if (is_own_form(r.output)) return dp_model_file_write(model, r.output);
  DP_TRY(find_graph(model, r.graph, &graph));
  if (r.init.path && !r.graph && !graph->logical && !graph->n_updates) DP_TRY(make_infer(graph, &graph));
  dp_mesh mesh = model->mesh;
  if (r.mesh) DP_TRY(dp_dpc_decide_mesh(arena, r.mesh, &mesh));
  return dp_status_context(dp_onnx_export(arena, model, graph, &mesh, r.external_data, r.output), "%s", r.model);
}
