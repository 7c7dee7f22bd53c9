// See options.h.
#include "tools/run/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/file.h"
#include "runtime/data/data.h"
#include "tools/report/runs.h"
#include "tools/run/resume.h"
#include "tools/weights/newest.h"

enum {
  KEY_DATA = 256,
  KEY_EVAL_DATA,
  KEY_EPOCHS,
  KEY_STEPS,
  KEY_SHUFFLE,
  KEY_SEED,
  KEY_DROP_LAST,
  KEY_SAVE,
  KEY_METRICS,
  KEY_TRACE,
  KEY_THREADS,
  KEY_EXPLAIN,
  KEY_MAKE_CODE,
  KEY_QUIET,
  KEY_STOP_ON_NAN,
  KEY_DEVICE,
  KEY_TIMEOUT,
  KEY_MAP,
  KEY_INFER,
  KEY_OUTPUT,
  KEY_SAVE_EVERY,
  KEY_SAVE_SYNC,
  KEY_KEEP,
  KEY_RESUME,
  KEY_ALLOW_CHANGE,
  KEY_LR,
  KEY_SCHEDULE,
  KEY_VALIDATION,
  KEY_AUGMENT,
  KEY_WORKERS,
  KEY_PREFETCH,
  KEY_BAD_RECORDS,
  KEY_BENCH_DATA,
  KEY_RUN,
};

static const struct argp_option table[] = {
    {0, 0, 0, 0, "Data", 1},
    {"data", KEY_DATA, "NAME=FILE[:PART]", 0,
     "Samples of the input NAME for training or inference, once for each input: IDX, .npy, .npz:ARRAY, "
     ".csv:COLUMN,COLUMN, FILE:cifar10, FILE:uint8 or FILE:uint16 (tokens), a folder of pictures or .tar, with labels "
     "in DIR:class "
     "and .tar:cls; also gzipped or in zstd; a pattern of several files. For an input without a sample axis, the file "
     "is the whole tensor",
     0},
    {"eval-data", KEY_EVAL_DATA, "NAME=FILE", 0, "The same for the evaluation after each epoch", 0},
    {"shuffle", KEY_SHUFFLE, 0, 0, "Shuffle the samples in each epoch, by seed and epoch (default: file order)", 0},
    {"validation", KEY_VALIDATION, "SHARE", 0,
     "Evaluate on this share of the samples, such as 0.1, chosen by the seed, and do not train on them", 0},
    {"augment", KEY_AUGMENT, "NAME=WHAT", 0,
     "Change pictures at random while training: flip, crop:PIXELS, resized:AREA (torchvision's RandomResizedCrop), or "
     "several with commas; once for each input",
     0},
    {"workers", KEY_WORKERS, "W", 0, "Threads that read and decode the data (default 1); batches do not depend on it",
     0},
    {"prefetch", KEY_PREFETCH, "D", 0,
     "Batches that are ready before they are trained on (default 1); each further one takes its bytes of memory", 0},
    {"bad-records", KEY_BAD_RECORDS, "fail|skip", 0,
     "fail (default): end at a record that cannot be read; skip: name it, and take the next one instead", 0},
    {"bench-data", KEY_BENCH_DATA, 0, 0,
     "Load the data as training would, print the rate, and exit; the plan says what the inputs are and how large a "
     "batch is",
     0},
    {"drop-last", KEY_DROP_LAST, 0, 0, "Skip a short last batch (default: it counts exactly)", 0},
    {0, 0, 0, 0, "Training", 2},
    {"epochs", KEY_EPOCHS, "E", 0, "Train E times over the data (default 1)", 0},
    {"steps", KEY_STEPS, "S", 0, "Train S steps, repeating the data as needed", 0},
    {"seed", KEY_SEED, "K", 0, "Seed of initial values, Dropout and shuffling (default 0)", 0},
    {"lr", KEY_LR, "X", 0, "Train with X for the lr of the plan's optimizer; schedule and groups go by it", 0},
    {"schedule", KEY_SCHEDULE, "SPEC", 0,
     "Train with this schedule of the learning rate instead of the plan's: 'cosine(total=800,warmup=5)', with what dpc "
     "compile --optimizer takes beside schedule=cosine",
     0},
    {"save", KEY_SAVE, "PATH", 0,
     "Write at the end, or when interrupted: to W.safetensors, the weights; to any other path, a folder, a checkpoint",
     0},
    {"save-every", KEY_SAVE_EVERY, "STEPS", 0, "Write a checkpoint after every STEPS steps too", 0},
    {"keep", KEY_KEEP, "K", 0, "Delete all but the newest K checkpoints (default: keep all)", 0},
    {"save-sync", KEY_SAVE_SYNC, 0, 0,
     "Write checkpoints between two steps, without a copy in memory and a thread that writes it", 0},
    {"resume", KEY_RESUME, "DIR", OPTION_ARG_OPTIONAL,
     "Go on from the newest whole checkpoint of DIR (default: the folder of --save); start if there is none", 0},
    {"allow-change", KEY_ALLOW_CHANGE, "WHAT", 0,
     "Let --resume go on although WHAT changed: batch, data, lr, metric, model, optimizer, order, schedule, seed; "
     "several with commas",
     0},
    {"stop-on-nan", KEY_STOP_ON_NAN, 0, 0, "Exit with 65 at the first loss that is not finite", 0},
    {0, 0, 0, 0, "Inference", 3},
    {"infer", KEY_INFER, 0, 0, "Run the network over the data, in file order, instead of training it", 0},
    {"output", KEY_OUTPUT, "NAME=FILE.npy", 0,
     "Write the output NAME to this file, samples first; once for each output", 0},
    {0, 0, 0, 0, "Execution", 4},
    {"threads", KEY_THREADS, "C", 0,
     "Worker threads (default: one for each core that the process may use); results do not depend on it", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0,
     "End with 76 if GPUs wait for each other for so long and nothing moves (default 600; 0: never)", 0},
    {"device", KEY_DEVICE, "BACKEND", 0,
     "Backend to run on (default: the plan's target); --device=cuda takes all GPUs, at most one for each device of the "
     "plan, --device=cuda:0,2 these, by number or UUID",
     0},
    {"map", KEY_MAP, "PLACES", 0,
     "For each device of the plan the place of its GPU in that list, from 0, like --map=0,0,1,1 (default: devices in "
     "even blocks)",
     0},
    {"make-code", KEY_MAKE_CODE, "DIR", 0,
     "Compile the functions that the plan needs into the folder DIR, and exit; --device=cuda:sm_80,sm_90 says for "
     "which GPUs, and none is needed. DP_CUDA_CODE=DIR then makes dprun take them from there; without it dprun looks "
     "for a folder cuda_code beside itself",
     0},
    {"run", KEY_RUN, "'PLAN ...'", 0,
     "Runs of several plans side by side, a process each: once for each, with a whole command line as text; no other "
     "option beside it",
     0},
    {0, 0, 0, 0, "Reporting", 5},
    {"metrics", KEY_METRICS, "FILE.jsonl", 0, "Write a line of JSON for each step and evaluation", 0},
    {"trace", KEY_TRACE, "FILE.json", 0,
     "Write what ran when on each device and stream, for Perfetto or chrome://tracing; also prints how much "
     "communication was hidden",
     0},
    {"explain", KEY_EXPLAIN, 0, 0,
     "Print each step of the plan with stream, waits and bytes, and exit; with --device=cuda also which functions, "
     "algorithms and engines that device would use",
     0},
    {"quiet", KEY_QUIET, 0, 0, "Print no progress, only the last line", 0},
    {0},
};

typedef struct {
  dp_arena *arena;
  dp_dprun_options *options;
  dp_status status;
} parsing;

static dp_status add_pair(parsing *p, const char *option, const char *text, dp_cli_pair **pairs, int *count) {
  dp_cli_pair pair;
  DP_TRY(dp_cli_pair_parse(p->arena, option, text, &pair));
  for (int i = 0; i < *count; i++)
    if (!strcmp((*pairs)[i].name, pair.name))
      return dp_fail(EX_USAGE, "--%s is given twice for '%s'", option, pair.name);
  DP_PUSH(p->arena, *pairs, *count, pair);
  return DP_OK;
}

static dp_status parse_seed(const char *text, uint64_t *seed) {
  char *end;
  errno = 0;
  *seed = strtoull(text, &end, 0);
  if (end == text || *end || errno || strchr(text, '-'))
    return dp_fail(EX_USAGE, "--seed=%s: expected a whole number from 0 to 2^64 - 1", text);
  return DP_OK;
}

static dp_status parse_lr(const char *text, double *lr) {
  char *end;
  *lr = strtod(text, &end);
  if (end == text || *end || !isfinite(*lr) || *lr < 0)
    return dp_fail(EX_USAGE, "--lr=%s: expected a number, 0 or more", text);
  return DP_OK;
}

static dp_status parse_timeout(const char *text, double *seconds) {
  char *end;
  *seconds = strtod(text, &end);
  if (end == text || *end || !isfinite(*seconds) || *seconds < 0)
    return dp_fail(EX_USAGE, "--timeout=%s: expected a number of seconds, 0 or more", text);
  return DP_OK;
}

static dp_status parse_share(const char *text, double *share) {
  char *end;
  *share = strtod(text, &end);
  if (end == text || *end || !(*share > 0 && *share < 1))
    return dp_fail(EX_USAGE, "--validation=%s: expected a share of the samples between 0 and 1, such as 0.1", text);
  return DP_OK;
}

static dp_status parse_bad_records(const char *text, bool *skip) {
  *skip = !strcmp(text, "skip");
  if (*skip || !strcmp(text, "fail")) return DP_OK;
  return dp_fail(EX_USAGE, "--bad-records=%s: expected fail or skip", text);
}

// The names of a list with commas.
static dp_status allow_changes(const char *text, unsigned *allowed) {
  const char *names;
  char name[16];
  for (const char *at = text;; at++) {
    const size_t length = strcspn(at, ",");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), at);
    const unsigned change = dp_dprun_change_find(name, &names);
    if (!change) return dp_fail(EX_USAGE, "--allow-change=%s: expected some of %s", text, names);
    *allowed |= change;
    at += length;
    if (!*at) return DP_OK;
  }
}

static dp_status set_option(parsing *p, int key, char *text) {
  dp_dprun_options *o = p->options;
  switch (key) {
    case KEY_DATA:
      return add_pair(p, "data", text, &o->data, &o->n_data);
    case KEY_EVAL_DATA:
      return add_pair(p, "eval-data", text, &o->eval_data, &o->n_eval_data);
    case KEY_OUTPUT:
      return add_pair(p, "output", text, &o->outputs, &o->n_outputs);
    case KEY_INFER:
      o->infer = true;
      return DP_OK;
    case KEY_EPOCHS:
      return dp_cli_int("epochs", text, 0, INT32_MAX, &o->epochs);
    case KEY_STEPS:
      return dp_cli_int("steps", text, 0, INT64_MAX / 2, &o->steps);
    case KEY_SEED:
      return parse_seed(text, &o->seed);
    case KEY_LR:
      return parse_lr(text, &o->lr);
    case KEY_SCHEDULE:
      o->schedule = text;
      return dp_spec_schedule(p->arena, (dp_spec_origin){"--schedule", EX_USAGE}, text, &o->schedule_spec);
    case KEY_THREADS:
      return dp_cli_int("threads", text, 1, 1024, &o->threads);
    case KEY_SHUFFLE:
      o->shuffle = true;
      return DP_OK;
    case KEY_DROP_LAST:
      o->drop_last = true;
      return DP_OK;
    case KEY_SAVE:
      o->save = text;
      return DP_OK;
    case KEY_METRICS:
      o->metrics = text;
      return DP_OK;
    case KEY_TRACE:
      o->trace = text;
      return DP_OK;
    case KEY_MAKE_CODE:
      o->make_code = text;
      return dp_cli_check_folder("--make-code", text);
    case KEY_EXPLAIN:
      o->explain = true;
      return DP_OK;
    case KEY_QUIET:
      o->quiet = true;
      return DP_OK;
    case KEY_STOP_ON_NAN:
      o->stop_on_nan = true;
      return DP_OK;
    case KEY_TIMEOUT:
      return parse_timeout(text, &o->timeout);
    case KEY_DEVICE:
      return dp_cli_backend(p->arena, "device", text, &o->device, &o->devices);
    case KEY_MAP:
      o->map = text;
      return DP_OK;
    case KEY_SAVE_EVERY:
      return dp_cli_int("save-every", text, 1, INT64_MAX, &o->save_every);
    case KEY_KEEP:
      return dp_cli_int("keep", text, 1, INT32_MAX, &o->keep);
    case KEY_SAVE_SYNC:
      o->save_sync = true;
      return DP_OK;
    case KEY_RESUME:
      o->resume = text ? text : "";
      return *o->resume ? dp_cli_check_folder("--resume", text) : DP_OK;
    case KEY_VALIDATION:
      return parse_share(text, &o->validation);
    case KEY_AUGMENT:
      return add_pair(p, "augment", text, &o->augments, &o->n_augments);
    case KEY_WORKERS:
      return dp_cli_int("workers", text, 1, 1024, &o->workers);
    case KEY_PREFETCH:
      return dp_cli_int("prefetch", text, 1, 1024, &o->prefetch);
    case KEY_BAD_RECORDS:
      return parse_bad_records(text, &o->skip_broken);
    case KEY_BENCH_DATA:
      o->bench_data = true;
      return DP_OK;
    case KEY_RUN:
      return dp_fail(EX_USAGE,
                     "--run: begins a command line, with nothing but others beside it: dprun --run 'PLAN ...' "
                     "--run 'PLAN ...'");
    case KEY_ALLOW_CHANGE:
      return allow_changes(text, &o->allowed);
    case ARGP_KEY_ARG:
      if (o->plan) return dp_fail(EX_USAGE, "give only one plan, not '%s' and '%s'", o->plan, text);
      o->plan = text;
      return DP_OK;
    default:
      return DP_OK;
  }
}

static char *help(int key, const char *text, void *input) {
  (void)input;
  return key == KEY_DEVICE ? dp_cli_backend_help(text) : (char *)(uintptr_t)text;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  parsing *p = state->input;
  if (key == ARGP_KEY_INIT) {
    state->child_inputs[0] = &p->options->watch;
    state->child_inputs[1] = &p->options->generate;
    state->child_inputs[2] = &p->options->init;
  }
  if (key >= ARGP_KEY_END) return ARGP_ERR_UNKNOWN;
  if (!p->status) p->status = set_option(p, key, text);
  return 0;
}

typedef struct {
  dp_arena *arena;
  int count;
  dp_cli_file *files;
} file_list;

static void add_file(file_list *l, const char *option, const char *path, bool written) {
  const dp_cli_file file = {option, path, written};
  DP_PUSH(l->arena, l->files, l->count, file);
}

static void add_data(file_list *l, const char *option, int n_pairs, const dp_cli_pair *pairs) {
  for (int i = 0; i < n_pairs; i++) {
    const char **paths;
    const int n = dp_data_paths(l->arena, pairs[i].file, &paths);
    for (int k = 0; k < n; k++) add_file(l, dp_printf(l->arena, "%s %s", option, pairs[i].name), paths[k], false);
  }
}

void dp_dprun_options_files(dp_arena *arena, const dp_dprun_options *o, dp_cli_file **files, int *count) {
  file_list l = {.arena = arena};
  add_file(&l, "the plan", o->plan, false);
  add_file(&l, "the plan's tensors", dp_printf(arena, "%s.safetensors", o->plan), false);
  // Of a folder one file is read (tools/weights/load.h).
  add_file(&l, "--init", o->init.path && dp_weights_is_folder(o->init.path) ? NULL : o->init.path, false);
  add_data(&l, "--data", o->n_data, o->data);
  add_data(&l, "--eval-data", o->n_eval_data, o->eval_data);
  for (int i = 0; i < o->n_outputs; i++)
    add_file(&l, dp_printf(arena, "--output %s", o->outputs[i].name), o->outputs[i].file, true);
  if (o->generate.count >= 0) {
    if (!strcmp(o->generate.prompt, "-")) add_file(&l, "--prompt", "-", false);
    add_file(&l, "--generate", "-", true);
  }
  add_file(&l, "--save", o->save, true);
  if (o->checkpoints) add_file(&l, "--save (its runs)", dp_printf(arena, "%s/%s", o->save, DP_RUNS_FILE), true);
  add_file(&l, "--metrics", o->metrics, true);
  add_file(&l, "--trace", o->trace, true);
  // Its files have names of their own, so it may share a folder with others.
  if (o->watch.tensorboard) add_file(&l, "--tensorboard", dp_printf(arena, "%s/events", o->watch.tensorboard), true);
  *files = l.files;
  *count = l.count;
}

// What the command line itself names may be a pipe; what it finds by a pattern may not.
static dp_status allow_pipes(dp_arena *arena, const dp_dprun_options *o) {
  DP_TRY(dp_file_allow_pipe(o->plan));
  DP_TRY(dp_file_allow_pipe(o->init.path));
  for (int i = 0; i < o->n_data; i++) DP_TRY(dp_file_allow_pipe(dp_data_path(arena, o->data[i].file)));
  for (int i = 0; i < o->n_eval_data; i++) DP_TRY(dp_file_allow_pipe(dp_data_path(arena, o->eval_data[i].file)));
  return DP_OK;
}

// Checks that the files written have the ending of their format.
static dp_status check_endings(dp_arena *arena, const dp_dprun_options *o) {
  for (int i = 0; i < o->n_outputs; i++)
    DP_TRY(dp_cli_check_ending(dp_printf(arena, "--output %s", o->outputs[i].name), o->outputs[i].file, "a NumPy array",
                               ".npy", true));
  if (o->metrics) DP_TRY(dp_cli_check_ending("--metrics", o->metrics, "JSON lines", ".jsonl .json .txt", false));
  return o->trace ? dp_cli_check_ending("--trace", o->trace, "JSON", ".json .txt", false) : DP_OK;
}

static bool ends_with(const char *text, const char *ending) {
  const size_t length = strlen(text), more = strlen(ending);
  return length >= more && !strcmp(text + length - more, ending);
}

// Checks what is about checkpoints, and where --resume without a folder finds them.
static dp_status check_save(dp_dprun_options *o) {
  if (o->save && !strcmp(o->save, "-"))
    return dp_fail(EX_USAGE, "--save=-: weights cannot go to standard output: name a file");
  if (o->save && !*o->save) return dp_fail(EX_USAGE, "--save=: name a file or a folder");
  o->checkpoints = o->save && !ends_with(o->save, ".safetensors");
  const struct {
    bool given;
    const char *option;
  } of_checkpoints[] = {{o->save_every, "save-every"}, {o->keep, "keep"}, {o->save_sync, "save-sync"}};
  for (size_t i = 0; i < DP_COUNT(of_checkpoints) && !o->checkpoints; i++)
    if (of_checkpoints[i].given)
      return dp_fail(EX_USAGE,
                     "--%s is about checkpoints: add --save=FOLDER (a path that does not end with .safetensors)",
                     of_checkpoints[i].option);
  DP_TRY(dp_weights_options_check(&o->init));
  if (o->allowed && !o->resume) return dp_fail(EX_USAGE, "--allow-change needs --resume");
  if (!o->resume || *o->resume) return DP_OK;
  if (!o->checkpoints) return dp_fail(EX_USAGE, "--resume goes on from --save=FOLDER: add it, or give --resume=FOLDER");
  o->resume = o->save;
  return DP_OK;
}

bool dp_dprun_options_use_stdout(const dp_dprun_options *o) {
  return (o->metrics && !strcmp(o->metrics, "-")) || (o->trace && !strcmp(o->trace, "-"));
}

// Refuses options of training with --infer and --generate.
static dp_status check_infer(const dp_dprun_options *o) {
  const struct {
    bool given;
    const char *option;
  } training[] = {
      {o->n_eval_data, "eval-data"},   {o->epochs >= 0, "epochs"},    {o->steps >= 0, "steps"},
      {o->shuffle, "shuffle"},         {o->drop_last, "drop-last"},   {o->save, "save"},
      {o->stop_on_nan, "stop-on-nan"}, {o->resume, "resume"},         {o->validation > 0, "validation"},
      {o->n_augments, "augment"},      {o->bench_data, "bench-data"}, {o->lr >= 0, "lr"},
      {o->schedule, "schedule"},
  };
  const bool generate = o->generate.count >= 0;
  for (size_t i = 0; (o->infer || generate) && i < DP_COUNT(training); i++)
    if (training[i].given)
      return dp_fail(EX_CONFIG, "--%s does not go with %s", training[i].option,
                     generate ? "--generate, which reads a prompt and no data"
                              : "--infer, which runs over all the data once, in file order");
  if (generate && (o->n_data || o->n_outputs || o->infer))
    return dp_fail(EX_CONFIG, "--data, --output and --infer do not go with --generate, which reads a prompt");
  return DP_OK;
}

static dp_status check_options(dp_arena *arena, dp_dprun_options *o) {
  if (!o->plan) return dp_fail(EX_USAGE, "no plan given: dprun PLAN --data NAME=FILE ... (see --help)");
  if (o->epochs >= 0 && o->steps >= 0) return dp_fail(EX_CONFIG, "--epochs and --steps exclude each other");
  DP_TRY(dp_dprun_generate_options_check(&o->generate));
  DP_TRY(check_infer(o));
  if (o->infer && o->skip_broken)
    return dp_fail(EX_USAGE,
                   "--bad-records=skip does not go with --infer: the prediction for another record would stand in the "
                   "place of one that cannot be read");
  if (o->validation > 0 && o->n_eval_data)
    return dp_fail(EX_CONFIG, "--validation takes its samples from --data, and --eval-data names others: give one");
  if ((o->validation > 0 || o->n_augments || o->bench_data) && !o->n_data)
    return dp_fail(EX_USAGE, "--validation, --augment and --bench-data are about --data: add it");
  if (o->n_outputs && !o->infer) return dp_fail(EX_USAGE, "--output needs --infer");
  DP_TRY(check_save(o));
  const char *instead = o->generate.count >= 0 ? "--generate" : o->infer ? "--infer" : NULL;
  DP_TRY(dp_dprun_watch_options_check(&o->watch, o->checkpoints, instead, o->quiet));
  dp_cli_file *files;
  int n_files;
  DP_TRY(allow_pipes(arena, o));
  dp_dprun_options_files(arena, o, &files, &n_files);
  DP_TRY(dp_cli_files_check(files, n_files));
  return check_endings(arena, o);
}

dp_status dp_dprun_options_parse(dp_arena *arena, int argc, char **argv, dp_dprun_options *options) {
  static const struct argp_child children[] = {
      {&dp_dprun_watch_argp, 0, NULL, 0}, {&dp_dprun_generate_argp, 0, NULL, 0}, {&dp_weights_argp, 0, NULL, 0}, {0}};
  static const struct argp argp = {
      .options = table,
      .children = children,
      .parser = parse,
      .help_filter = help,
      .args_doc = "PLAN\nreport DIR",
      .doc =
          "Checks a plan, then runs it: trains, evaluates and writes the weights, or infers and writes the outputs.\v"
          "Examples:\n"
          "  dpc compile examples/mlp.dpt --batch=64 -o plan.bin\n"
          "  digits=examples/data/digits\n"
          "  dprun plan.bin --data image=$digits/train-images-idx3-ubyte \\\n"
          "    --data label=$digits/train-labels-idx1-ubyte --epochs=3 --shuffle \\\n"
          "    --save=mlp.safetensors --metrics=mlp.jsonl\n"
          "  dprun plan.bin --data image=$digits/train-images-idx3-ubyte \\\n"
          "    --data label=$digits/train-labels-idx1-ubyte --epochs=3 --shuffle \\\n"
          "    --save=run/ --save-every=20 --keep=3 --resume\n"
          "  dprun report run/ -o report.html\n"
          "  dprun plan.bin --infer --init=mlp.safetensors \\\n"
          "    --data image=$digits/test-images-idx3-ubyte --output logits=logits.npy\n"
          "  dprun plan.bin --explain\n"
          "  dprun --run \"plan.bin --infer --init=mlp.safetensors --output logits=y.npy \\\n"
          "    --data image=$digits/test-images-idx3-ubyte\" --run 'plan.bin --explain'\n"
          "\n"
          "A file named - is standard input or standard output, and a file that is read may be a pipe. SIGINT, "
          "SIGTERM, SIGHUP, SIGUSR1 and SIGXCPU end training "
          "after the current step; a second one ends it at once.\n"
          "\n"
          "Exit codes are those of <sysexits.h>: 64 usage, 65 bad plan or data, 66 input missing, 69 not available "
          "here, 70 a mistake of dprun's own, 71 out of memory, 73 and 74 cannot write, 75 interrupted (after writing "
          "what --save asks for), 76 devices waited for each other in vain, 78 contradiction.",
  };
  argp_program_version = "dprun " DP_VERSION;
  *options = (dp_dprun_options){.epochs = -1,
                                .steps = -1,
                                .lr = -1,
                                .prefetch = 1,
                                .timeout = -1,
                                .init = {.arena = arena},
                                .generate = {.count = -1, .temperature = -1}};
  parsing p = {arena, options, DP_OK};
  dp_status status = dp_cli_parse(&argp, argc, argv, &p);
  dp_status mistakes[] = {p.status, options->watch.status, options->generate.status, options->init.status, status},
            first = DP_OK;
  for (size_t i = 0; i < DP_COUNT(mistakes); i++) {
    if (!first)
      first = mistakes[i];
    else
      dp_status_free(mistakes[i]);
  }
  DP_TRY(first);
  return check_options(arena, options);
}
