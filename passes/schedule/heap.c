// See heap.h.
#include "passes/schedule/heap.h"

static bool is_before(const dp_heap_entry *a, const dp_heap_entry *b) {
  if (a->late != b->late) return a->late < b->late;
  if (a->key != b->key) return a->key < b->key;
  return a->node < b->node;
}

void dp_heap_push(dp_arena *arena, dp_heap *h, dp_heap_entry e) {
  DP_PUSH(arena, h->entries, h->count, e);
  for (int32_t i = h->count - 1; i > 0 && is_before(&e, &h->entries[(i - 1) / 2]); i = (i - 1) / 2) {
    h->entries[i] = h->entries[(i - 1) / 2];
    h->entries[(i - 1) / 2] = e;
  }
}

dp_heap_entry dp_heap_pop(dp_heap *h) {
  dp_heap_entry top = h->entries[0], e = h->entries[--h->count];
  int32_t i = 0;
  for (;;) {
    int32_t child = 2 * i + 1;
    if (child + 1 < h->count && is_before(&h->entries[child + 1], &h->entries[child])) child++;
    if (child >= h->count || !is_before(&h->entries[child], &e)) break;
    h->entries[i] = h->entries[child];
    i = child;
  }
  h->entries[i] = e;
  return top;
}
