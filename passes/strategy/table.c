// The table of strategies, and the choice among them. See table.h.
#include "passes/strategy/table.h"

#include <stdio.h>
#include <string.h>

#include "ir/base/suggest.h"

#define DP_STRATEGY(name) &dp_strategy_##name,
const dp_strategy *const dp_strategies[] = {
#include "passes/strategy/list.h"
    NULL,
};
#undef DP_STRATEGY

static dp_status refuse(const char *name) {
  dp_suggest suggest = dp_suggest_begin(name);
  char hint[96], words[256] = "";
  int at = 0;
  for (const dp_strategy *const *s = dp_strategies; *s; s++) {
    dp_suggest_offer(&suggest, (*s)->name);
    if (!(*s)->planned && at < (int)sizeof words)
      at += snprintf(words + at, sizeof words - (size_t)at, "%s%s", at ? ", " : "", (*s)->name);
  }
  dp_suggest_print(&suggest, hint, sizeof hint);
  if (*hint) return dp_fail(EX_USAGE, "--strategy=%s: there is no such choice%s", name, hint);
  return dp_fail(EX_USAGE, "--strategy=%s: there is no such choice; choose one of %s", name, words);
}

static dp_status find_strategy(const char *name, const dp_strategy **strategy) {
  for (const dp_strategy *const *s = dp_strategies; *s; s++) {
    if (strcmp((*s)->name, name)) continue;
    *strategy = *s;
    return (*s)->planned ? dp_fail(EX_UNAVAILABLE, "--strategy=%s is not implemented yet", name) : DP_OK;
  }
  return refuse(name);
}

dp_status dp_strategy_choose(const dp_options *options, const dp_strategy **strategy) {
  if (options->strategy) return find_strategy(options->strategy, strategy);
  *strategy = dp_strategies[0];
  if (dp_mesh_devices(&options->mesh) < 2) return DP_OK;
  for (const dp_strategy *const *s = dp_strategies; *s; s++) {
    if (!(*s)->implied || dp_mesh_find(&options->mesh, (*s)->axis) < 0) continue;
    if (!(*strategy)->implied || (*s)->implied < (*strategy)->implied) *strategy = *s;
  }
  return DP_OK;
}
