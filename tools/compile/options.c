// See options.h.
#include "tools/compile/options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/cpu/target.h"
#include "ir/base/suggest.h"

enum {
  KEY_STRATEGY = 256,
  KEY_DEVICES,
  KEY_MESH,
  KEY_TARGET,
  KEY_BATCH,
  KEY_LOSS,
  KEY_OPTIMIZER,
  KEY_MODE,
  KEY_FREEZE,
  KEY_TRAIN,
  KEY_AS_EXPORTED,
  KEY_PRECISION,
  KEY_BATCHNORM,
  KEY_THREADS,
  KEY_ISA,
  KEY_SPLIT,
  KEY_PRINT_AFTER,
  KEY_STOP_AFTER,
  KEY_MICROBATCHES,
  KEY_SCHEDULE,
  KEY_ZERO_STAGE,
  KEY_MEMORY,
  KEY_WHY,
};

static const struct argp_option table[] = {
    {"output", 'o', "PLAN", 0, "Where the plan goes (default: MODEL with .bin)", 0},
    {0, 0, 0, 0, "Devices", 1},
    {"strategy", KEY_STRATEGY, "single|data|zero|tensor|pipeline|manual", 0,
     "One device; replicas that share each batch; the same with optimizer state, gradients, parameters split; "
     "parameters split as costs least; layers in stages, one after the other; as annotated and no other way "
     "(docs/strategies.md)",
     0},
    {"devices", KEY_DEVICES, "N", 0, "That many devices, along one mesh axis named after the strategy", 0},
    {"mesh", KEY_MESH, "AXIS=N,...", 0,
     "Devices along several axes: 'data' splits samples, 'tensor' parameters, 'pipe' the network into stages, others "
     "what "
     "annotations name",
     0},
    {"microbatches", KEY_MICROBATCHES, "M", 0,
     "Each batch in M parts, one after the other, gradients summed up; results stay those of the whole batch (default: "
     "4 "
     "for each stage of a pipeline, else 1)",
     0},
    {"schedule", KEY_SCHEDULE, "1f1b|gpipe", 0,
     "Order of a pipeline's stages: backward as soon as possible (default), or after all forward", 0},
    {"zero-stage", KEY_ZERO_STAGE, "1|2|3", 0,
     "Under --strategy=zero: split optimizer state (1), gradients too (2), parameters too (3); default 1", 0},
    {"target", KEY_TARGET, "cpu", 0, "What the devices are", 0},
    {"memory", KEY_MEMORY, "BYTES", 0,
     "Memory of each device; K, M, G and T multiply by 1024. A plan that takes more is refused, with what would fit",
     0},
    {"threads", KEY_THREADS, "T", 0,
     "Most threads that one instruction is split over (default: this machine's cores, shared by the devices)", 0},
    {"isa", KEY_ISA, "avx2|avx512", 0, "Instruction set that kernels are chosen for (default: this machine's)", 0},
    {0, 0, 0, 0, "Training", 2},
    {"batch", KEY_BATCH, "B", 0, "Samples a step, over all devices", 0},
    {"loss", KEY_LOSS, "SPEC", 0, "softmax_cross_entropy(logits,label) or mse(pred,target); default: the model's", 0},
    {"optimizer", KEY_OPTIMIZER, "SPEC", 0,
     "sgd(...), adam(...) or adamw(...), as docs/optimizers.md says; default: the model's", 0},
    {"mode", KEY_MODE, "train|infer", 0,
     "train (the default): to train, evaluate and infer; infer: only that, without loss and optimizer", 0},
    {"freeze", KEY_FREEZE, "GLOB", 0, "Parameters that stay as they are; may be repeated", 0},
    {"train", KEY_TRAIN, "GLOB", 0,
     "Parameters that are trained although --freeze or the model says otherwise, of an ONNX file any float "
     "initializer; may "
     "be repeated",
     0},
    {"as-exported", KEY_AS_EXPORTED, 0, 0,
     "Train what an ONNX file holds, also where that is not the network that it was exported from (docs/onnx.md)", 0},
    {"split", KEY_SPLIT, "NAME=AXIS|none", 0,
     "The axis along which the input NAME is split over the devices (default: that of its samples; without samples: "
     "none); "
     "in a model of fixed shapes the axis of its samples; may be repeated",
     0},
    {"precision", KEY_PRECISION, "fp32|fp64", 0, "fp64: every float of the model as float64", 0},
    {"batchnorm", KEY_BATCHNORM, "sync|local", 0,
     "Statistics of BatchNormalization: of the whole batch (default), or of each device's samples", 0},
    {0, 0, 0, 0, "Looking inside", 3},
    {"print-after", KEY_PRINT_AFTER, "PASS|all", 0, "Print the model as text after this pass", 0},
    {"stop-after", KEY_STOP_AFTER, "PASS", 0, "End after this pass, without a plan", 0},
    {"why", KEY_WHY, 0, 0, "Say what lies where, what a device holds and what it moves", 0},
    {0},
};

typedef struct {
  dp_arena *arena;
  dp_dpc_options *options;
  int n_freeze, n_train, n_splits;
  const char **freeze, **train;
  dp_split *splits;
  dp_status status;
} parsing;

// Sets *chosen to the one of `words` (ends with NULL) that `text` is.
static dp_status choose(const char *option, const char *text, const char *const *words, const char **chosen) {
  dp_suggest suggest = dp_suggest_begin(text);
  for (; *words; words++) {
    if (!strcmp(text, *words)) {
      *chosen = *words;
      return DP_OK;
    }
    dp_suggest_offer(&suggest, *words);
  }
  char hint[128];
  return dp_fail(EX_USAGE, "--%s=%s: there is no such choice%s (see --help)", option, text,
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

dp_status dp_dpc_options_mesh(dp_arena *arena, const char *text, dp_mesh *mesh) {
  dp_mesh m = {0};
  for (const char *at = text;;) {
    size_t item = strcspn(at, ","), name = strcspn(at, "=");
    if (!name || name >= item || m.n_axes == DP_MAX_MESH - 1)
      return dp_fail(EX_USAGE, "--mesh=%s: expected AXIS=N, at most %d of them, commas between", text, DP_MAX_MESH - 1);
    dp_mesh_axis axis = {.name = dp_strndup(arena, at, name)};
    DP_TRY(dp_cli_int("mesh", dp_strndup(arena, at + name + 1, item - name - 1), 1, INT32_MAX, &axis.size));
    m.axes[m.n_axes++] = axis;
    if (!at[item]) break;
    at += item + 1;
  }
  *mesh = m;
  return DP_OK;
}

static dp_status take_split(parsing *p, const char *text) {
  const char *equals = strrchr(text, '=');
  if (!equals || equals == text)
    return dp_fail(EX_USAGE, "--split=%s: expected NAME=AXIS or NAME=none, for example --split tokens=1", text);
  dp_split split = {dp_strndup(p->arena, text, (size_t)(equals - text)), DP_SPLIT_NONE};
  if (strcmp(equals + 1, "none")) {
    int64_t axis;
    DP_TRY(dp_cli_int("split", equals + 1, -DP_MAX_RANK, DP_MAX_RANK - 1, &axis));
    split.axis = (int)axis;
  }
  DP_PUSH(p->arena, p->splits, p->n_splits, split);
  return DP_OK;
}

// The options that say what the plan is for.
static dp_status take_training(parsing *p, int key, char *text) {
  dp_options *o = &p->options->compile;
  const char *word = NULL;
  switch (key) {
    case KEY_BATCH:
      return dp_cli_int("batch", text, 1, INT32_MAX, &o->batch);
    case KEY_LOSS:
      o->loss = text;
      return DP_OK;
    case KEY_OPTIMIZER:
      o->optimizer = text;
      return DP_OK;
    case KEY_MODE:
      o->mode = text;
      return DP_OK;
    case KEY_FREEZE:
      DP_PUSH(p->arena, p->freeze, p->n_freeze, text);
      return DP_OK;
    case KEY_TRAIN:
      DP_PUSH(p->arena, p->train, p->n_train, text);
      return DP_OK;
    case KEY_AS_EXPORTED:
      o->as_exported = true;
      return DP_OK;
    case KEY_PRECISION:
      DP_TRY(choose("precision", text, WORDS("fp32", "fp64"), &word));
      o->precision = !strcmp(word, "fp64") ? DP_FLOAT64 : DP_FLOAT32;
      return DP_OK;
    case KEY_BATCHNORM:
      o->batchnorm = text;
      return DP_OK;
    case KEY_SPLIT:
      return take_split(p, text);
    case KEY_MICROBATCHES:
      return dp_cli_int("microbatches", text, 1, INT32_MAX, &o->microbatches);
    case KEY_SCHEDULE:
      o->schedule = text;
      return DP_OK;
    case KEY_ZERO_STAGE:
      return dp_cli_int("zero-stage", text, 1, 3, &o->zero_stage);
    default:
      return DP_OK;
  }
}

static dp_status take(parsing *p, int key, char *text) {
  dp_options *o = &p->options->compile;
  int64_t number;
  const char *word;
  switch (key) {
    case 'o':
      p->options->output = text;
      return DP_OK;
    case KEY_STRATEGY:
      o->strategy = text;
      return DP_OK;
    case KEY_DEVICES:
      return dp_cli_int("devices", text, 1, INT32_MAX, &o->devices);
    case KEY_MESH:
      return dp_dpc_options_mesh(p->arena, text, &o->mesh);
    case KEY_TARGET:
      DP_TRY(choose("target", text, WORDS("cpu", "cuda"), &word));
      return strcmp(word, "cpu") ? dp_fail(EX_UNAVAILABLE, "--target=cuda is not built: plans are for CPUs") : DP_OK;
    case KEY_THREADS:
      DP_TRY(dp_cli_int("threads", text, 1, 256, &number));
      o->threads = (int)number;
      return DP_OK;
    case KEY_ISA:
      return choose("isa", text, WORDS("avx2", "avx512"), &o->isa);
    case KEY_MEMORY:
      return dp_cli_bytes("memory", text, &o->memory_bytes);
    case KEY_WHY:
      o->why = true;
      return DP_OK;
    case KEY_PRINT_AFTER:
      o->print_after = text;
      return DP_OK;
    case KEY_STOP_AFTER:
      o->stop_after = text;
      return DP_OK;
    case ARGP_KEY_ARG:
      if (p->options->model)
        return dp_fail(EX_USAGE, "one model is compiled at a time: '%s' and '%s' are given", p->options->model, text);
      p->options->model = text;
      return DP_OK;
    default:
      return take_training(p, key, text);
  }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  parsing *p = state->input;
  if (key >= ARGP_KEY_END) return ARGP_ERR_UNKNOWN;
  if (!p->status) p->status = take(p, key, text);
  return 0;
}

// MODEL with .bin in place of its ending.
static const char *default_output(dp_arena *arena, const char *model) {
  const char *slash = strrchr(model, '/'), *dot = strrchr(model, '.');
  bool has_ending = dot && dot > (slash ? slash + 1 : model);
  return dp_printf(arena, "%.*s.bin", has_ending ? (int)(dot - model) : (int)strlen(model), model);
}

static dp_status check(dp_arena *arena, dp_dpc_options *options) {
  if (!options->model) return dp_fail(EX_USAGE, "no model is given: dpc compile MODEL [-o PLAN] (see --help)");
  if (!options->output) options->output = default_output(arena, options->model);
  if (dp_cli_same_file(options->output, options->model))
    return dp_fail(EX_CONFIG, "the plan %s would overwrite the model: name another file with -o", options->output);
  return DP_OK;
}

dp_status dp_dpc_options_parse(dp_arena *arena, int argc, char **argv, dp_dpc_options *options) {
  static const struct argp argp = {
      .options = table,
      .parser = parse,
      .args_doc = "MODEL",
      .doc =
          "Makes a plan of a model: its training, evaluation and inference on one device or many, every step and every "
          "byte.\v"
          "Examples:\n"
          "  dpc compile digits.dpt --batch=64 -o plan.bin\n"
          "  dpc compile digits.dpt --strategy=data --devices=4 --batch=64\n"
          "  dpc compile digits.dpt --strategy=pipeline --devices=4 --microbatches=8 --batch=64 --why\n"
          "  dpc compile digits.dpt --mesh=data=2,pipe=2,tensor=2 --batch=64\n"
          "  dpc compile digits.dpt --batch=64 --memory=512M\n"
          "  dpc compile net.pb --batch=64 --loss='mse(y,t)' --optimizer='sgd(lr=0.1)'\n"
          "  dpc compile net.pb --batch=64 --optimizer='adamw(lr=1e-3,clip_norm=1)'\n"
          "  dpc compile net.onnx --batch=64 --mode=infer\n"
          "  dpc compile net.pb --batch=64 --print-after=place --stop-after=place",
  };
  *options = (dp_dpc_options){.compile = {.target = &dp_target_cpu}};
  parsing p = {.arena = arena, .options = options};
  dp_status status = dp_cli_parse(&argp, argc, argv, &p);
  if (p.status) {
    dp_status_free(status);
    return p.status;
  }
  DP_TRY(status);
  options->compile.freeze = p.freeze;
  options->compile.n_freeze = p.n_freeze;
  options->compile.train = p.train;
  options->compile.n_train = p.n_train;
  options->compile.splits = p.splits;
  options->compile.n_splits = p.n_splits;
  return check(arena, options);
}
