// See options.h.
#include "tools/weights/options.h"

#include <string.h>

#include "ir/base/pair.h"

enum { KEY_INIT = 768, KEY_PREFIX, KEY_MAP, KEY_PARTIAL };

static const struct argp_option table[] = {
    {"init", KEY_INIT, "WEIGHTS", 0,
     "Load the weights of W.safetensors, which --save writes, of an index of several files "
     "(.safetensors.index.json), of the newest whole checkpoint in a folder of --save, or of one checkpoint, "
     "DIR/step-N",
     2},
    {"init-prefix", KEY_PREFIX, "P", 0, "Take P off the names in that file that begin with it", 0},
    {"init-map", KEY_MAP, "OLD=NEW", 0, "Load its tensor OLD as NEW; once for each tensor", 0},
    {"init-partial", KEY_PARTIAL, 0, 0, "Load what fits of it, and list the rest", 0},
    {0},
};

static dp_status add_rename(dp_weights_options *o, const char *text) {
  dp_cli_pair pair;
  if (!dp_pair_split(o->arena, text, &pair.name, &pair.file))
    return dp_fail(EX_USAGE, "--init-map '%s': expected OLD=NEW, for example --init-map backbone.fc.bias=fc.bias",
                   text);
  DP_PUSH(o->arena, o->renames, o->n_renames, pair);
  return DP_OK;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  dp_weights_options *o = state->input;
  switch (key) {
    case KEY_INIT:
      o->path = text;
      return 0;
    case KEY_PREFIX:
      o->prefix = text;
      return 0;
    case KEY_MAP:
      if (!o->status) o->status = add_rename(o, text);
      return 0;
    case KEY_PARTIAL:
      o->partial = true;
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

const struct argp dp_weights_argp = {.options = table, .parser = parse};

dp_status dp_weights_options_check(const dp_weights_options *o) {
  if (o->path || (!o->prefix && !o->n_renames && !o->partial)) return DP_OK;
  return dp_fail(EX_USAGE, "--init-prefix, --init-map and --init-partial are about --init=W.safetensors: add it");
}
