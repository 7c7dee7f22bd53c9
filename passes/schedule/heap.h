// A heap of nodes, private to the passes that order nodes: the next node is on top.
#ifndef DP_PASSES_SCHEDULE_HEAP_H
#define DP_PASSES_SCHEDULE_HEAP_H

#include "ir/base/base.h"

// Ordered by late, then key, then node.
typedef struct {
  double key;
  int32_t late, node;
} dp_heap_entry;

typedef struct {
  int32_t count;
  dp_heap_entry *entries;
} dp_heap;

void dp_heap_push(dp_arena *arena, dp_heap *heap, dp_heap_entry entry);
dp_heap_entry dp_heap_pop(dp_heap *heap);

#endif
