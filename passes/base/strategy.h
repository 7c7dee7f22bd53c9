// What a strategy is: one const struct in one file of passes/strategy/, and one line of passes/strategy/list.h.
//
// A strategy decides where values are and nothing of what is computed. What it decides is data: passes read the fields
// of compile->strategy, and no pass and no tool knows a strategy by its name.
#ifndef DP_PASSES_BASE_STRATEGY_H
#define DP_PASSES_BASE_STRATEGY_H

#include "passes/base/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

// What the devices of an axis may share, so that each has a part of it.
enum {
  DP_SHARES_PARAMETERS = 1 << 0,
  DP_SHARES_GRADIENTS = 1 << 1,  // those of each micro-batch, before they are added up
  DP_SHARES_STATE = 1 << 2,      // the optimizer's; a gradient is summed up only where the state is that takes it
};

typedef struct {
  unsigned splits;         // DP_SHARES_*: what lies in parts
  unsigned gathers_again;  // of that, what is gathered anew for each use and freed after it
} dp_shares;

enum { DP_STRATEGY_MAX_STAGES = 3 };

struct dp_strategy {
  const char *name;
  const char *what;  // a phrase for --help
  bool planned;      // not built yet: who asks for it is told so, with EX_UNAVAILABLE
  // The mesh axis that it splits over, which --devices=N alone makes; NULL: it takes the mesh as it is.
  const char *axis;
  // --mesh alone asks for it when the mesh has its axis; of several the one of the lowest number. 0: never
  int implied;
  // What takes its place on several devices, as it is for one; NULL: it is for any number.
  const struct dp_strategy *several;
  bool splits_samples;  // inputs are split along their samples on axis `data`; else only those that --split names
  bool finds_stages;    // of an axis `pipe`, around those that are annotated; else nodes are where annotations say
  int n_stages;         // by --zero-stage, from 1; the first is the default. 0: the option does not go with it
  dp_shares stages[DP_STRATEGY_MAX_STAGES];
  // Annotates variables with what it asks for beyond samples and stages; NULL: nothing. Annotations of the user stand.
  dp_status (*annotate)(dp_compile *compile);
};

// What is shared on the strategy's axis at the --zero-stage that was asked for.
dp_shares dp_strategy_shares(const dp_strategy *strategy, const dp_options *options);
// The mesh axis on which something is shared; -1: nothing is, or the mesh does not have it.
int dp_strategy_shared_axis(const dp_compile *compile);

#ifdef __cplusplus
}
#endif
#endif
