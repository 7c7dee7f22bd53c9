// See options_generate.h.
#include "tools/run/options_generate.h"

#include <math.h>
#include <stdlib.h>

enum {
  KEY_GENERATE = 768,
  KEY_PROMPT,
  KEY_TEMPERATURE,
  KEY_TOP_K,
  KEY_TOKENS,
};

static const struct argp_option table[] = {
    {0, 0, 0, 0, "Generating", 7},
    {"generate", KEY_GENERATE, "N", 0,
     "Write N tokens that follow the prompt to standard output, each drawn by the scores of a model that predicts the "
     "next token; the same --seed gives the same text",
     0},
    {"prompt", KEY_PROMPT, "TEXT", 0, "What the tokens follow; - is standard input", 0},
    {"temperature", KEY_TEMPERATURE, "T", 0,
     "Divide the scores by T (default 1): below 1, likely tokens become likelier; with 0, the likeliest is taken", 0},
    {"top-k", KEY_TOP_K, "K", 0, "Draw only among the K likeliest tokens (default: all)", 0},
    {"tokens", KEY_TOKENS, 0, 0,
     "Tokens are numbers: those of the prompt with white space or commas between, those written one in a line "
     "(default: they are bytes of text)",
     0},
    {0},
};

static dp_status parse_temperature(const char *text, double *temperature) {
  char *end;
  *temperature = strtod(text, &end);
  if (end == text || *end || !isfinite(*temperature) || *temperature < 0)
    return dp_fail(EX_USAGE, "--temperature=%s: expected a number, 0 or more", text);
  return DP_OK;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  dp_dprun_generate_options *o = state->input;
  switch (key) {
    case KEY_GENERATE:
      if (!o->status) o->status = dp_cli_int("generate", text, 0, INT64_MAX / 2, &o->count);
      return 0;
    case KEY_PROMPT:
      o->prompt = text;
      return 0;
    case KEY_TEMPERATURE:
      if (!o->status) o->status = parse_temperature(text, &o->temperature);
      return 0;
    case KEY_TOP_K:
      if (!o->status) o->status = dp_cli_int("top-k", text, 1, INT64_MAX, &o->top_k);
      return 0;
    case KEY_TOKENS:
      o->tokens = true;
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

const struct argp dp_dprun_generate_argp = {.options = table, .parser = parse};

dp_status dp_dprun_generate_options_check(dp_dprun_generate_options *o) {
  if (o->count < 0 && (o->prompt || o->temperature >= 0 || o->top_k || o->tokens))
    return dp_fail(EX_USAGE, "--prompt, --temperature, --top-k and --tokens are about --generate=N: add it");
  if (o->count >= 0 && !o->prompt)
    return dp_fail(EX_USAGE, "--generate needs --prompt=TEXT, which the first token follows");
  if (o->temperature < 0) o->temperature = 1;
  return DP_OK;
}
