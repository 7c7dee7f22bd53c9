// Packing blocks. See pack.h.
//
// Blocks are placed one by one at the lowest offset that is free of all blocks they overlap in time, larger ones first,
// by three measures of size. This is repeated a number of times with the highest-reaching block moved to the front; the
// lowest top wins. For very many blocks this would take too long: they are placed in order of time instead
// (pack_time.c).
#include "passes/memory/pack.h"

#include <stdlib.h>
#include <string.h>

enum {
  MAX_BY_SIZE = 4096,    // blocks for which all pairs are compared
  MAX_TRIES = 48,        // from each initial order
  MAX_PAIRS = 16 << 20,  // compared in those tries
};

// ---- the bound ------------------------------------------------------------------------------------------------------

static int main_stream(int32_t count, const dp_pack_block *blocks) {
  int32_t written[DP_PACK_STREAMS] = {0};
  int most = 0;
  for (int32_t i = 0; i < count; i++) written[blocks[i].stream]++;
  for (int s = 0; s < DP_PACK_STREAMS; s++)
    if (written[s] > written[most]) most = s;
  return most;
}

typedef struct {
  int32_t time;
  int64_t change;  // bytes; blocks that end come first
  bool here;       // a block written by the current stream
} event;

static int by_time(const void *a, const void *b) {
  const event *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  return (x->change > y->change) - (x->change < y->change);
}

// Other streams wait for fewer uses, but blocks whose uses they do not wait for need not overlap.
uint64_t dp_pack_bound(dp_arena *scratch, int32_t count, const dp_pack_block *blocks) {
  event *events = dp_alloc_n(scratch, 2 * (size_t)count + 1, sizeof *events);
  const int s = main_stream(count, blocks);
  int64_t most = 0, alive = 0;
  for (int32_t i = 0; i < count; i++) {
    // As the nodes of stream s see it: alive from the first write until they run after every use.
    int32_t end = blocks[i].free[s] > blocks[i].start ? blocks[i].free[s] : blocks[i].start;
    events[2 * i] = (event){blocks[i].start, (int64_t)blocks[i].bytes, blocks[i].stream == s};
    events[2 * i + 1] = (event){end, -(int64_t)blocks[i].bytes, false};
  }
  qsort(events, 2 * (size_t)count, sizeof *events, by_time);
  for (int32_t e = 0; e < 2 * count; e++) {
    alive += events[e].change;
    if (events[e].here && alive > most) most = alive;
  }
  return (uint64_t)most;
}

// ---- larger ones first ----------------------------------------------------------------------------------------------

typedef struct {
  dp_pack_block *block;
  double size;
} sized;

static int larger_first(const void *a, const void *b) {
  const sized *x = a, *y = b;
  if (x->size != y->size) return x->size > y->size ? -1 : 1;
  return (x->block > y->block) - (x->block < y->block);
}

static double size_by(const dp_pack_block *b, int notion) {
  double bytes = (double)b->bytes, life = dp_pack_end(b) - b->start;
  return notion == 0 ? bytes : notion == 1 ? life : bytes * life;
}

// placed: scratch for all of them, kept in order of offset.
static uint64_t pack_by_size(int32_t count, const sized *order, dp_pack_block **placed) {
  uint64_t top = 0;
  for (int32_t i = 0; i < count; i++) {
    dp_pack_block *b = order[i].block;
    uint64_t offset = 0;
    int32_t k = 0;
    for (; k < i; k++) {
      if (placed[k]->offset + placed[k]->bytes <= offset || dp_pack_apart(placed[k], b)) continue;
      if (placed[k]->offset >= offset + b->bytes) break;
      offset = placed[k]->offset + placed[k]->bytes;
    }
    b->offset = offset;
    if (offset + b->bytes > top) top = offset + b->bytes;
    for (k = i; k > 0 && placed[k - 1]->offset > offset; k--) placed[k] = placed[k - 1];
    placed[k] = b;
  }
  return top;
}

// ---- the best of several --------------------------------------------------------------------------------------------

typedef struct {
  int32_t count;
  dp_pack_block *blocks, **placed;
  sized *order;
  uint64_t top, *offsets;  // the best so far
} search;

// Packs in the search's order and keeps the offsets if they are the best so far.
static void try_order(search *s) {
  uint64_t top = pack_by_size(s->count, s->order, s->placed);
  if (top >= s->top) return;
  s->top = top;
  for (int32_t i = 0; i < s->count; i++) s->offsets[i] = s->blocks[i].offset;
}

// Moves the highest-reaching block ahead of all the blocks before it.
static void promote_highest(search *s) {
  int32_t highest = 0;
  for (int32_t i = 1; i < s->count; i++) {
    const dp_pack_block *a = s->order[i].block, *b = s->order[highest].block;
    if (a->offset + a->bytes > b->offset + b->bytes) highest = i;
  }
  sized it = s->order[highest];
  memmove(&s->order[1], &s->order[0], (size_t)highest * sizeof *s->order);
  s->order[0] = it;
}

// A block that no later block overlaps on some stream is finished as far as that stream goes.
static void clamp(int32_t count, dp_pack_block *blocks) {
  int32_t past[DP_PACK_STREAMS] = {0};
  for (int32_t i = 0; i < count; i++)
    if (blocks[i].start >= past[blocks[i].stream]) past[blocks[i].stream] = blocks[i].start + 1;
  for (int32_t i = 0; i < count; i++)
    for (int s = 0; s < DP_PACK_STREAMS; s++)
      if (blocks[i].free[s] > past[s]) blocks[i].free[s] = past[s];
}

uint64_t dp_pack(dp_arena *scratch, uint32_t alignment, int32_t count, dp_pack_block *blocks) {
  size_t n = (size_t)count + 1;
  search s = {.count = count, .blocks = blocks, .top = UINT64_MAX};
  clamp(count, blocks);
  uint64_t bound = dp_pack_bound(scratch, count, blocks);
  if (!count) return 0;
  if (count > MAX_BY_SIZE) return dp_pack_time(scratch, alignment, count, blocks, bound);
  s.order = dp_alloc_n(scratch, n, sizeof *s.order);
  s.offsets = dp_alloc_n(scratch, n, sizeof *s.offsets);
  s.placed = dp_alloc_n(scratch, n, sizeof *s.placed);
  for (int notion = 0; notion < 3 && s.top > bound; notion++) {
    for (int32_t i = 0; i < count; i++) s.order[i] = (sized){&blocks[i], size_by(&blocks[i], notion)};
    qsort(s.order, (size_t)count, sizeof *s.order, larger_first);
    try_order(&s);
    int64_t tries = dp_min_i64(MAX_TRIES, MAX_PAIRS / ((int64_t)count * count));
    for (; tries > 0 && s.top > bound; tries--) {
      promote_highest(&s);
      try_order(&s);
    }
  }
  for (int32_t i = 0; i < count; i++) blocks[i].offset = s.offsets[i];
  return s.top;
}
