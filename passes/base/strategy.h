// What a strategy is: one const struct in one file of passes/strategy/, and one line of passes/strategy/list.h.
//
// A strategy decides where values are, never what is computed. Its decisions are data: passes read the fields of
// compile->strategy, and no pass or tool compares strategies by name.
#ifndef DP_PASSES_BASE_STRATEGY_H
#define DP_PASSES_BASE_STRATEGY_H

#include "passes/base/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

// What the devices of an axis may share, each holding a part.
enum {
  DP_SHARES_PARAMETERS = 1 << 0,
  DP_SHARES_GRADIENTS = 1 << 1,  // those of each micro-batch, before they are accumulated
  DP_SHARES_STATE = 1 << 2,      // the optimizer's; a gradient is then reduced only onto the device whose state it
                                 // updates
};

typedef struct {
  unsigned splits;         // DP_SHARES_*: held in parts
  unsigned gathers_again;  // the subset that is gathered anew for each use and freed after it
} dp_shares;

enum { DP_STRATEGY_MAX_ZERO_STAGES = 3 };

struct dp_strategy {
  const char *name;
  const char *what;  // a phrase for --help
  bool planned;      // not implemented yet: requesting it fails with EX_UNAVAILABLE
  // The mesh axis that it splits over; --devices=N alone makes a mesh with this axis. NULL: it uses the mesh as it is.
  const char *axis;
  // --mesh alone selects this strategy when the mesh has its axis; if several match, the lowest number wins. 0: never.
  int implied;
  // The strategy to use instead when there are several devices; NULL: this one works for any number.
  const struct dp_strategy *several;
  bool splits_samples;  // inputs are split along their samples on axis `data`; else only those that --split names
  bool finds_stages;    // partitions nodes over an axis `pipe`, respecting annotations; else nodes are where
                        // annotations say
  int n_zero_stages;    // of --zero-stage, from 1; the first is the default. 0: the option does not apply
  dp_shares zero_stages[DP_STRATEGY_MAX_ZERO_STAGES];
  // Annotates variables with what it needs beyond samples and stages; NULL: nothing. The user's annotations take
  // precedence.
  dp_status (*annotate)(dp_compile *compile);
};

// What is shared on the strategy's axis at the requested --zero-stage.
dp_shares dp_strategy_shares(const dp_strategy *strategy, const dp_options *options);
// The mesh axis on which something is shared; -1: nothing is shared, or the mesh lacks the axis.
int dp_strategy_shared_axis(const dp_compile *compile);

#ifdef __cplusplus
}
#endif
#endif
