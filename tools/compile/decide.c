// The options that decide what a plan is. See decide.h.
#include "tools/compile/decide.h"

#include <stdio.h>
#include <string.h>

#include "ir/base/file.h"
#include "ir/base/suggest.h"
#include "passes/strategy/table.h"
#include "tools/backends.h"
#include "tools/cli.h"
#include "tools/compile/dpc.h"

enum {
  KEY_STRATEGY = 512,
  KEY_DEVICES,
  KEY_MESH,
  KEY_TARGET,
  KEY_BATCH,
  KEY_DIM,
  KEY_LOSS,
  KEY_OPTIMIZER,
  KEY_METRICS,
  KEY_MODE,
  KEY_FREEZE,
  KEY_GROUP,
  KEY_TRAIN,
  KEY_AS_EXPORTED,
  KEY_NO_FUSE,
  KEY_LAYOUT,
  KEY_FAST_MATH,
  KEY_REPRODUCIBLE,
  KEY_RECOMPUTE,
  KEY_OFFLOAD,
  KEY_PRECISION,
  KEY_KEEP_FP32,
  KEY_COMM_PRECISION,
  KEY_BATCHNORM,
  KEY_CLIP_GRAD_AT_BOUND,
  KEY_THREADS,
  KEY_ISA,
  KEY_CALIBRATION,
  KEY_SPLIT,
  KEY_MICROBATCHES,
  KEY_SCHEDULE,
  KEY_ZERO_STAGE,
  KEY_NORMALIZE,
  KEY_MEMORY,
};

static const struct argp_option table[] = {
    {0, 0, 0, 0, "Devices", 1},
    {"strategy", KEY_STRATEGY, "NAME", 0, "see docs/strategies.md", 0},
    {"devices", KEY_DEVICES, "N", 0, "Number of devices, along one mesh axis named after the strategy", 0},
    {"mesh", KEY_MESH, "AXIS=N,...", 0,
     "Devices along several axes: 'data' splits samples, 'tensor' splits parameters, 'pipe' splits the network into "
     "stages, 'context' sequences; --split and annotations may use other names",
     0},
    {"microbatches", KEY_MICROBATCHES, "M", 0,
     "Run each batch as M micro-batches and add up their gradients; results stay those of the whole batch (default: 4 "
     "for each stage of a pipeline, else 1)",
     0},
    {"schedule", KEY_SCHEDULE, "1f1b|gpipe", 0,
     "Order of work in a pipeline stage: 1f1b runs each backward pass as early as possible (default), gpipe runs them "
     "after all forward passes",
     0},
    {"zero-stage", KEY_ZERO_STAGE, "1|2|3", 0,
     "For --strategy=zero: split optimizer state (1), also gradients (2), also parameters (3); default 1", 0},
    {"target", KEY_TARGET, "BACKEND", 0,
     "Kind of device; cuda:sm_80,sm_90 only makes sure that plans can be made for these GPUs", 0},
    {"memory", KEY_MEMORY, "BYTES", 0,
     "Memory of each device; K, M, G and T are powers of 1024. dpc refuses a plan that needs more and says what would "
     "fit",
     0},
    {"threads", KEY_THREADS, "T", 0,
     "Maximum number of threads for one instruction (default: the cores that the process may use, shared by the "
     "devices)",
     0},
    {"isa", KEY_ISA, "SET", 0,
     "Instruction set to choose kernels for: avx2, avx512 or avx512_bf16 (default: this machine's)", 0},
    {"calibration", KEY_CALIBRATION, "FILE", 0,
     "Estimate times by what 'dpc calibrate' has measured, and record which algorithms libraries are to take", 0},
    {"no-fuse", KEY_NO_FUSE, 0, 0, "Leave every node an instruction of its own", 0},
    {"layout", KEY_LAYOUT, "auto|plain", 0,
     "Whether images around convolutions may lie as targets gain by: in 16 bits channels-last, NHWC, and their weights "
     "with them, or with --mode=infer in blocks of channels in float32 (auto, the default), or all tensors are "
     "row-major (plain)",
     0},
    {"fast-math", KEY_FAST_MATH, "tf32|winograd|tf32,winograd", OPTION_ARG_OPTIONAL,
     "Round more in float32 for more speed. tf32: GPUs may round operands of products and convolutions to TF32, ten "
     "bits of fraction; winograd: convolutions may be computed by Winograd's algorithm (default without =: tf32 for "
     "GPUs, winograd for the CPU)",
     0},
    {"reproducible", KEY_REPRODUCIBLE, 0, 0,
     "Add in rank order between GPUs too, and not as NCCL does: the same bits on any number of GPUs", 0},
    {"recompute", KEY_RECOMPUTE, "none|auto|GLOB", 0,
     "Compute again for the backward pass, instead of keeping them, the results of nodes whose name matches GLOB; "
     "auto: "
     "those that take the least time for what --memory asks (default: none)",
     0},
    {"offload", KEY_OFFLOAD, "none|optimizer|activations", 0,
     "Keep the optimizer's state, or values of the forward pass until the backward pass reads them, or both with a "
     "comma between, in memory of the host; for targets whose devices have their own (default: none)",
     0},
    {0, 0, 0, 0, "Training", 2},
    {"batch", KEY_BATCH, "B", 0, "Samples in a step, over all devices; needed if the model does not fix it", 0},
    {"dim", KEY_DIM, "NAME=N", 0,
     "Size of an open dim of an ONNX file other than the batch, for example seq=128; may be repeated", 0},
    {"loss", KEY_LOSS, "SPEC", 0,
     "softmax_cross_entropy(logits,label), nll, mse(pred,target), l1, smooth_l1, huber, bce_with_logits, kl_div, "
     "value(name), or a sum of them such as '0.5*mse(a,b) + value(c)', see docs/losses.md; default: the model's",
     0},
    {"optimizer", KEY_OPTIMIZER, "SPEC", 0,
     "sgd(...), adam(...), adamw(...), rmsprop(...), adagrad(...), adamax(...), nadam(...), radam(...), lion(...), "
     "lamb(...) or muon(...), see docs/optimizers.md; default: the model's",
     0},
    {"group", KEY_GROUP, "GLOBS: SETTINGS", 0,
     "Arguments of the optimizer for the parameters whose names match, for example '*.bias,*norm*: weight_decay=0' or "
     "'head.*: lr_scale=0.1'; may be repeated: a later one overrides",
     0},
    {"metrics", KEY_METRICS, "LIST", 0,
     "What is measured beside the loss, with commas: accuracy, top5, perplexity and confusion of a loss with classes, "
     "mse and mae of one of errors; gradients, for dprun --histograms; auto (default): accuracy of at most 1,024 "
     "classes; none: nothing while training",
     0},
    {"mode", KEY_MODE, "train|infer", 0,
     "train (default): train, evaluate and infer; infer: only infer, without loss and optimizer", 0},
    {"freeze", KEY_FREEZE, "GLOB", 0, "Parameters not to train; may be repeated", 0},
    {"train", KEY_TRAIN, "GLOB", 0,
     "Parameters to train even if --freeze or the model says otherwise; for an ONNX file, any float initializer; may "
     "be repeated",
     0},
    {"as-exported", KEY_AS_EXPORTED, 0, 0,
     "Train the network of an ONNX file even if it differs from the one it was exported from (docs/onnx.md)", 0},
    {"split", KEY_SPLIT, "NAME=AXIS[@MESH]", 0,
     "The axis along which devices split the input NAME (default: its sample axis, if it has one), or none; in a model "
     "of fixed shapes, its sample axis; @MESH: over that axis of --mesh besides; may be repeated",
     0},
    {"normalize", KEY_NORMALIZE, "NAME=MEAN,STD", 0,
     "Make the float input NAME uint8 and begin the model with (x / D - MEAN) / STD, for NAME=/D,MEAN,STD; NAME=/D or "
     "NAME=MEAN,STD is part of that; one number, or with colons one for each channel; may be repeated",
     0},
    {"precision", KEY_PRECISION, "TYPE", 0,
     "fp32 (default); bf16 or fp16: products and what follows them in 16 bits (docs/precision.md); fp64: every float "
     "in "
     "float64",
     0},
    {"keep-fp32", KEY_KEEP_FP32, "GLOB", 0,
     "Nodes that compute in float32 whatever --precision=bf16 or fp16 says; may be repeated", 0},
    {"comm-precision", KEY_COMM_PRECISION, "fp32|bf16", 0, "What gradients are added up in over devices; default fp32",
     0},
    {"batchnorm", KEY_BATCHNORM, "sync|local", 0,
     "Statistics of BatchNormalization: over the whole batch (default), or over each device's samples", 0},
    {"clip-grad-at-bound", KEY_CLIP_GRAD_AT_BOUND, "HOW", 0,
     "Gradient of Clip where its operand is a bound: pass (default), as by PyTorch's clamp, or zero, as by its ReLU6 "
     "and "
     "hardtanh",
     0},
    {0},
};

// Finds `text` in `words`, which ends with NULL.
static dp_status choose(const char *option, const char *text, const char *const *words, const char **chosen) {
  dp_suggest suggest = dp_suggest_begin(text);
  char hint[128], all[128] = "";
  for (size_t at = 0; *words; words++) {
    if (!strcmp(text, *words)) {
      *chosen = *words;
      return DP_OK;
    }
    dp_suggest_offer(&suggest, *words);
    at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", at ? ", " : "", *words);
  }
  return dp_fail(EX_USAGE, "--%s=%s: there is no such choice; choose one of %s%s", option, text, all,
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

dp_status dp_dpc_decide_mesh(dp_arena *arena, const char *text, dp_mesh *mesh) {
  dp_mesh m = {0};
  for (const char *at = text;;) {
    size_t item = strcspn(at, ","), name = strcspn(at, "=");
    if (!name || name >= item || m.n_axes == DP_MAX_MESH - 1)
      return dp_fail(EX_USAGE, "--mesh=%s: expected at most %d items AXIS=N, separated by commas", text,
                     DP_MAX_MESH - 1);
    dp_mesh_axis axis = {.name = dp_strndup(arena, at, name)};
    DP_TRY(dp_cli_int("mesh", dp_strndup(arena, at + name + 1, item - name - 1), 1, INT32_MAX, &axis.size));
    m.axes[m.n_axes++] = axis;
    if (!at[item]) break;
    at += item + 1;
  }
  *mesh = m;
  return DP_OK;
}

static dp_status add_split(dp_dpc_decide *p, const char *text) {
  const char *equals = strrchr(text, '=');
  if (!equals || equals == text)
    return dp_fail(EX_USAGE,
                   "--split=%s: expected NAME=AXIS, NAME=AXIS@MESH_AXIS or NAME=none, for example --split tokens=1",
                   text);
  dp_split split = {dp_strndup(p->arena, text, (size_t)(equals - text)), DP_SPLIT_NONE, NULL};
  const size_t digits = strcspn(equals + 1, "@");
  if (strcmp(equals + 1, "none")) {
    int64_t axis;
    DP_TRY(dp_cli_int("split", dp_strndup(p->arena, equals + 1, digits), -DP_MAX_RANK, DP_MAX_RANK - 1, &axis));
    split.axis = (int)axis;
    if (equals[1 + digits]) split.on = dp_strdup(p->arena, equals + 1 + digits + 1);
  }
  DP_PUSH(p->arena, p->splits, p->options.n_splits, split);
  p->options.splits = p->splits;
  return DP_OK;
}

static dp_status set_precision(const char *option, const char *text, const char *const *words, dp_dtype *dtype) {
  const char *word;
  DP_TRY(choose(option, text, words, &word));
  *dtype = !strcmp(word, "fp64")   ? DP_FLOAT64
           : !strcmp(word, "bf16") ? DP_BFLOAT16
           : !strcmp(word, "fp16") ? DP_FLOAT16
                                   : DP_FLOAT32;
  return DP_OK;
}

// The options of the group "Training", and the strategy's own.
static dp_status set_training_option(dp_dpc_decide *p, int key, char *text) {
  dp_options *o = &p->options;
  switch (key) {
    case KEY_BATCH:
      return dp_cli_int("batch", text, 1, INT32_MAX, &o->batch);
    case KEY_DIM:
      DP_TRY(dp_dpc_import_dim(p->arena, text, &p->onnx));
      DP_PUSH(p->arena, p->dims, p->options.n_dims, text);
      p->options.dims = p->dims;
      return DP_OK;
    case KEY_LOSS:
      o->loss = text;
      return DP_OK;
    case KEY_OPTIMIZER:
      o->optimizer = text;
      return DP_OK;
    case KEY_METRICS:
      o->metrics = text;
      return DP_OK;
    case KEY_MODE:
      o->mode = text;
      return DP_OK;
    case KEY_GROUP:
      DP_PUSH(p->arena, p->groups, p->options.n_groups, text);
      p->options.groups = p->groups;
      return DP_OK;
    case KEY_FREEZE:
      DP_PUSH(p->arena, p->freeze, p->options.n_freeze, text);
      p->options.freeze = p->freeze;
      return DP_OK;
    case KEY_TRAIN:
      DP_PUSH(p->arena, p->train, p->options.n_train, text);
      p->options.train = p->train;
      return DP_OK;
    case KEY_NORMALIZE:
      DP_PUSH(p->arena, p->normalize, p->options.n_normalize, text);
      p->options.normalize = p->normalize;
      return DP_OK;
    case KEY_AS_EXPORTED:
      o->as_exported = true;
      return DP_OK;
    case KEY_RECOMPUTE:
      o->recompute = text;
      return DP_OK;
    case KEY_OFFLOAD:
      o->offload = text;
      return DP_OK;
    case KEY_FAST_MATH:
      o->fast_math = text ? text : "";
      return DP_OK;
    case KEY_REPRODUCIBLE:
      o->reproducible = true;
      return DP_OK;
    case KEY_NO_FUSE:
      o->no_fuse = true;
      return DP_OK;
    case KEY_LAYOUT:
      o->layout = text;
      return DP_OK;
    case KEY_PRECISION:
      return set_precision("precision", text, WORDS("fp32", "fp64", "bf16", "fp16"), &o->precision);
    case KEY_COMM_PRECISION:
      return set_precision("comm-precision", text, WORDS("fp32", "bf16"), &o->comm_precision);
    case KEY_KEEP_FP32:
      DP_PUSH(p->arena, p->keep_fp32, p->options.n_keep_fp32, text);
      p->options.keep_fp32 = p->keep_fp32;
      return DP_OK;
    case KEY_BATCHNORM:
      o->batchnorm = text;
      return DP_OK;
    case KEY_CLIP_GRAD_AT_BOUND:
      o->clip_grad_at_bound = text;
      return DP_OK;
    case KEY_SPLIT:
      return add_split(p, text);
    case KEY_MICROBATCHES:
      return dp_cli_int("microbatches", text, 1, INT32_MAX, &o->microbatches);
    case KEY_SCHEDULE:
      o->pipeline_schedule = text;
      return DP_OK;
    case KEY_ZERO_STAGE:
      return dp_cli_int("zero-stage", text, 1, 3, &o->zero_stage);
    default:
      return DP_OK;
  }
}

static dp_status set_target(dp_dpc_decide *p, const char *text) {
  const dp_backend_entry *entry;
  const char *kinds;
  DP_TRY(dp_cli_backend(p->arena, "target", text, &entry, &kinds));
  if (kinds && entry->check_kinds) {
    dp_status status = entry->check_kinds(kinds);
    if (status) return dp_status_context(status, "--target");
  }
  if (kinds && !entry->check_kinds)
    return dp_fail(EX_USAGE, "--target=%s: backend %s has no kinds of devices to choose from; give --target=%s", text,
                   entry->name, entry->name);
  p->options.target = entry->target;
  return DP_OK;
}

void dp_dpc_decide_fast_math(dp_options *options, const dp_target *target) {
  const char *own = target->fast_math[0];
  if (options->fast_math && !*options->fast_math) options->fast_math = own ? own : "tf32";
}

static dp_status set_option(dp_dpc_decide *p, int key, char *text) {
  dp_options *o = &p->options;
  int64_t number;
  switch (key) {
    case KEY_STRATEGY:
      o->strategy = text;
      return DP_OK;
    case KEY_DEVICES:
      return dp_cli_int("devices", text, 1, INT32_MAX, &o->devices);
    case KEY_MESH:
      return dp_dpc_decide_mesh(p->arena, text, &o->mesh);
    case KEY_TARGET:
      return set_target(p, text);
    case KEY_THREADS:
      DP_TRY(dp_cli_int("threads", text, 1, 256, &number));
      o->threads = (int)number;
      return DP_OK;
    case KEY_ISA:
      return choose("isa", text, WORDS("avx2", "avx512", "avx512_bf16"), &o->isa);
    case KEY_CALIBRATION:
      o->calibration = text;
      DP_TRY(dp_file_allow_pipe(text));
      return dp_dpc_calibration_read(p->arena, text, &p->calibration);
    case KEY_MEMORY:
      return dp_cli_bytes("memory", text, &o->memory_bytes);
    default:
      return set_training_option(p, key, text);
  }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  dp_dpc_decide *p = state->input;
  if (key < KEY_STRATEGY || key > KEY_MEMORY) return ARGP_ERR_UNKNOWN;
  if (!p->status) p->status = set_option(p, key, text);
  return 0;
}

// "single: one device; data: replicas that share each batch; ..."
static char *describe_strategies(const char *text) {
  char *doc = NULL;
  size_t bytes;
  FILE *out = open_memstream(&doc, &bytes);
  if (!out) return NULL;
  for (const dp_strategy *const *s = dp_strategies; *s; s++)
    if (!(*s)->planned) fprintf(out, "%s: %s; ", (*s)->name, (*s)->what);
  fputs(text, out);
  fclose(out);
  return doc;
}

static char *help(int key, const char *text, void *input) {
  (void)input;
  if (key == KEY_TARGET) return dp_cli_backend_help(text);
  return key == KEY_STRATEGY ? describe_strategies(text) : (char *)(uintptr_t)text;
}

const struct argp dp_dpc_decide_argp = {.options = table, .parser = parse, .help_filter = help};
