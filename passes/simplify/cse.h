// Hashes of nodes, also for other passes that look for equal ones.
#ifndef DP_PASSES_SIMPLIFY_CSE_H
#define DP_PASSES_SIMPLIFY_CSE_H

#include "ir/graph/graph.h"

uint64_t dp_cse_mix(uint64_t hash, uint64_t word);
uint64_t dp_cse_hash_attr(const dp_attr *attr);

#endif
