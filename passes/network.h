// What a plan's network is, whatever it was compiled for: by it a run that goes on knows that it trains the same one.
#ifndef DP_PASSES_NETWORK_H
#define DP_PASSES_NETWORK_H

#include "ir/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

// A hash of the source model's graphs: operators, attributes, names, the data of constants. Not of initial values,
// which training leaves behind, nor of the order of nodes.
uint64_t dp_network_hash(const dp_model *model);

#ifdef __cplusplus
}
#endif
#endif
