// See options.h.
#include "tools/compile/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/registry.h"
#include "ir/base/file.h"
#include "tools/compile/decide.h"
#include "tools/compile/dpc.h"

enum { KEY_PRINT_AFTER = 256, KEY_STOP_AFTER, KEY_PRINT_DATA, KEY_WHY };

static const struct argp_option table[] = {
    {"output", 'o', "PLAN", 0, "Output file (default: MODEL with .bin; - is standard output)", 0},
    {0, 0, 0, 0, "Inspection", 3},
    {"print-after", KEY_PRINT_AFTER, "PASS|all", 0,
     "Print the model as text after this pass, or after each: options, batch, ... place, ... memory, emit", 0},
    {"print-data", KEY_PRINT_DATA, 0, 0,
     "With --print-after: print the data of large tensors too; without it the text names the file that they are in, "
     "and "
     "reads back beside that",
     0},
    {"stop-after", KEY_STOP_AFTER, "PASS", 0, "End after this pass, without a plan", 0},
    {"why", KEY_WHY, 0, 0, "Say what lies where, what a device holds and what it moves", 0},
    {0},
};

typedef struct {
  dp_dpc_options *options;
  dp_dpc_decide decide;  // its status is that of all options
} parsing;

static dp_status set_option(parsing *p, int key, char *text) {
  dp_options *o = &p->decide.options;
  switch (key) {
    case 'o':
      p->options->output = text;
      return DP_OK;
    case KEY_WHY:
      o->why = true;
      return DP_OK;
    case KEY_PRINT_AFTER:
      o->print_after = text;
      return DP_OK;
    case KEY_PRINT_DATA:
      p->options->print_data = true;
      return DP_OK;
    case KEY_STOP_AFTER:
      o->stop_after = text;
      return DP_OK;
    case ARGP_KEY_ARG:
      if (p->options->model)
        return dp_fail(EX_USAGE, "give only one model, not '%s' and '%s'", p->options->model, text);
      p->options->model = text;
      return DP_OK;
    default:
      return DP_OK;
  }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  parsing *p = state->input;
  if (key == ARGP_KEY_INIT) state->child_inputs[0] = &p->decide;
  if (key >= ARGP_KEY_END) return ARGP_ERR_UNKNOWN;
  if (!p->decide.status) p->decide.status = set_option(p, key, text);
  return 0;
}

// MODEL with the ending .bin.
static const char *default_output(dp_arena *arena, const char *model) {
  const char *slash = strrchr(model, '/'), *dot = strrchr(model, '.');
  bool has_ending = dot && dot > (slash ? slash + 1 : model);
  return dp_printf(arena, "%.*s.bin", has_ending ? (int)(dot - model) : (int)strlen(model), model);
}

static dp_status check_options(dp_arena *arena, dp_dpc_options *options) {
  if (!options->model) return dp_fail(EX_USAGE, "no model given: dpc compile MODEL [-o PLAN] (see --help)");
  DP_TRY(dp_file_allow_pipe(options->model));
  if (!options->output && dp_file_is_stream(options->model))
    return dp_fail(EX_USAGE, "the model comes from a pipe, so the plan needs a name: add -o PLAN");
  if (!options->output) options->output = default_output(arena, options->model);
  const dp_options *o = &options->compile;
  if (options->print_data && !o->print_after)
    return dp_fail(EX_USAGE, "--print-data needs --print-after=PASS: it prints that text with all its data");
  if (dp_file_is_standard(options->output) && !o->stop_after && (o->why || o->print_after))
    return dp_fail(EX_CONFIG, "-o - writes the plan to standard output, where %s prints: name a file",
                   o->why ? "--why" : "--print-after");
  DP_TRY(dp_cli_check_ending("-o", options->output, "a plan", ".bin", false));
  return o->stop_after ? DP_OK : dp_cli_check_writable("-o", options->output, false);
}

dp_status dp_dpc_options_parse(dp_arena *arena, int argc, char **argv, dp_dpc_options *options) {
  static const struct argp_child children[] = {{&dp_dpc_decide_argp, 0, NULL, 0}, {0}};
  static const struct argp argp = {
      .options = table,
      .children = children,
      .parser = parse,
      .args_doc = "MODEL",
      .doc =
          "Compiles a model to a plan: every step and every byte of its training, evaluation and inference, on one "
          "device or many.\vExamples:\n"
          "  dpc compile examples/mlp.dpt --batch=64 -o plan.bin\n"
          "  dpc compile examples/mlp.dpt --strategy=data --devices=4 --batch=64\n"
          "  dpc compile examples/vgg11.dpt --strategy=pipeline --devices=4 \\\n"
          "    --microbatches=8 --batch=64 --why -o plan.bin\n"
          "  dpc compile examples/gpt.dpt --mesh=data=2,pipe=2,tensor=2 --batch=64\n"
          "  dpc compile examples/mlp.dpt --batch=64 --memory=512M\n"
          "  dpc compile examples/mlp.dpt --batch=64 --loss='mse(logits,wanted)' \\\n"
          "    --optimizer='adamw(lr=1e-3,clip_norm=1)'\n"
          "  dpc compile examples/mlp.dpt --batch=64 --mode=infer -o - > plan.bin\n"
          "  dpc compile examples/mlp.dpt --batch=64 --print-after=place \\\n"
          "    --stop-after=place\n"
          "\n"
          "MODEL is text (.dpt), protobuf (.pb) or ONNX (.onnx); - is standard input, or standard output for -o. "
          "Exit codes are those of <sysexits.h>: 64 usage, 65 bad model, 66 input missing, 69 not available, 70 a "
          "mistake of dpc's own, 71 out of memory, 73 and 74 cannot write, 78 contradiction.",
  };
  *options = (dp_dpc_options){0};
  parsing p = {.options = options, .decide = {.arena = arena, .options.metrics = DP_DPC_DECIDE_METRICS}};
  dp_status status = dp_cli_parse(&argp, argc, argv, &p);
  if (p.decide.status) {
    dp_status_free(status);
    return p.decide.status;
  }
  DP_TRY(status);
  options->compile = p.decide.options;
  if (!options->compile.target) options->compile.target = dp_backend_default()->target;
  dp_dpc_decide_fast_math(&options->compile, options->compile.target);
  DP_TRY(dp_dpc_calibration_apply(arena, p.decide.calibration, &options->compile));
  return check_options(arena, options);
}
