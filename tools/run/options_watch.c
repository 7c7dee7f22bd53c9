// See options_watch.h.
#include "tools/run/options_watch.h"

enum {
  KEY_BEST = 512,
  KEY_EARLY_STOP,
  KEY_TENSORBOARD,
  KEY_HISTOGRAMS,
  KEY_CHECK_NAN,
  KEY_JSON,
  KEY_VERBOSE,
};

static const struct argp_option table[] = {
    {0, 0, 0, 0, "Watching", 6},
    {"best", KEY_BEST, "METRIC", 0,
     "Keep the checkpoint with the best evaluation, whatever --keep says; DIR/best points to it. METRIC: loss, or what "
     "dpc compile --metrics measures",
     0},
    {"early-stop", KEY_EARLY_STOP, "EPOCHS", 0,
     "End training after so many evaluations in a row without a better one, by the metric of --best (default: loss)",
     0},
    {"tensorboard", KEY_TENSORBOARD, "DIR", 0,
     "Write event files for TensorBoard into this folder: losses, metrics and rates, and the options as text", 0},
    {"histograms", KEY_HISTOGRAMS, 0, 0,
     "Also write a histogram of each parameter after each epoch, and of its gradient in the last step if the plan was "
     "compiled with --metrics=gradients",
     0},
    {"check-nan", KEY_CHECK_NAN, 0, 0,
     "Exit with 65 at the first node that makes NaN or Inf, and name it with its operands' ranges; slow", 0},
    {"json", KEY_JSON, 0, 0, "Print the result as a line of JSON", 0},
    {"verbose", KEY_VERBOSE, 0, 0, "Also print what is run, on what, and on which data", 0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state) {
  dp_dprun_watch_options *o = state->input;
  switch (key) {
    case KEY_BEST:
      o->best = text;
      return 0;
    case KEY_EARLY_STOP:
      if (!o->status) o->status = dp_cli_int("early-stop", text, 1, INT32_MAX, &o->early_stop);
      return 0;
    case KEY_TENSORBOARD:
      o->tensorboard = text;
      return 0;
    case KEY_HISTOGRAMS:
      o->histograms = true;
      return 0;
    case KEY_CHECK_NAN:
      o->check_nan = true;
      return 0;
    case KEY_JSON:
      o->json = true;
      return 0;
    case KEY_VERBOSE:
      o->verbose = true;
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

const struct argp dp_dprun_watch_argp = {.options = table, .parser = parse};

dp_status dp_dprun_watch_options_check(const dp_dprun_watch_options *o, bool checkpoints, const char *instead,
                                       bool quiet) {
  const struct {
    bool given;
    const char *option;
  } training[] = {{o->best, "best"}, {o->early_stop, "early-stop"}, {o->tensorboard, "tensorboard"}};
  for (size_t i = 0; instead && i < DP_COUNT(training); i++)
    if (training[i].given) return dp_fail(EX_CONFIG, "--%s does not go with %s", training[i].option, instead);
  if (o->best && !checkpoints) return dp_fail(EX_USAGE, "--best keeps a checkpoint: add --save=FOLDER");
  if (o->histograms && !o->tensorboard) return dp_fail(EX_USAGE, "--histograms needs --tensorboard=DIR");
  if (o->tensorboard) DP_TRY(dp_cli_check_folder("--tensorboard", o->tensorboard));
  return o->verbose && quiet ? dp_fail(EX_CONFIG, "--verbose and --quiet exclude each other") : DP_OK;
}
