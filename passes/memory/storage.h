// Where variables and the data exchanged by host and devices are stored; private to the passes `memory` and `emit`.
#ifndef DP_PASSES_MEMORY_STORAGE_H
#define DP_PASSES_MEMORY_STORAGE_H

#include "ir/graph/graph.h"

// Every range is at least one byte long, so that no two have the same offset.
static inline uint64_t dp_memory_padded(uint64_t bytes, uint32_t alignment) {
  return dp_align_up(bytes ? bytes : 1, alignment);
}

// Sets the size of every value in every graph, and offsets of variables, their updates, what kernels pack, and values
// in host memory.
void dp_memory_place_storages(dp_model *model, uint32_t alignment);

// Whether they are two stages' graphs of one program; such graphs are adjacent.
bool dp_memory_same_program(const dp_graph *a, const dp_graph *b);

#endif
