// Hashes of nodes, also for other passes that look for equal ones.
#ifndef DP_PASSES_SIMPLIFY_CSE_H
#define DP_PASSES_SIMPLIFY_CSE_H

#include "ir/graph/graph.h"

// dp_hash64 for what lasts, dp_hash_table for tables.
typedef uint64_t dp_cse_hash(const void *data, size_t bytes);

uint64_t dp_cse_mix(dp_cse_hash *of, uint64_t hash, uint64_t word);
uint64_t dp_cse_hash_attr(dp_cse_hash *of, const dp_attr *attr);

#endif
