// Packs blocks with lifetimes into one arena; private to the pass `memory`.
#ifndef DP_PASSES_MEMORY_PACK_H
#define DP_PASSES_MEMORY_PACK_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_PACK_STREAMS = 6 };

// A range of bytes. Times are positions in the order in which nodes are issued.
typedef struct {
  uint64_t bytes;                 // a multiple of the alignment, as offsets are
  int32_t start;                  // the node that writes it first
  int stream;                     // that node's
  int32_t free[DP_PACK_STREAMS];  // by stream: the time from which its nodes run after every use of the block
  uint64_t offset;                // set by dp_pack
} dp_pack_block;

// Whether the uses of one block end before the other is written.
static inline bool dp_pack_apart(const dp_pack_block *a, const dp_pack_block *b) {
  return b->start >= a->free[b->stream] || a->start >= b->free[a->stream];
}

// Sets offsets so that blocks whose lifetimes overlap do not overlap in bytes; returns the end of the highest, in
// bytes. Slightly more than linear time in the count.
uint64_t dp_pack(dp_arena *scratch, uint32_t alignment, int32_t count, dp_pack_block *blocks);
// The bound that packing is measured against, in bytes: the largest sum of blocks alive at once, at a node that writes
// a block. Alive means written, and by the writer's stream not known to be done.
uint64_t dp_pack_bound(dp_arena *scratch, int32_t count, const dp_pack_block *blocks);

// pack_time.c: the same for very many blocks. bound: the result of dp_pack_bound.
uint64_t dp_pack_time(dp_arena *scratch, uint32_t alignment, int32_t count, dp_pack_block *blocks, uint64_t bound);

// The time from which nothing precedes a use of the block.
static inline int32_t dp_pack_end(const dp_pack_block *b) {
  int32_t end = b->start + 1;
  for (int s = 0; s < DP_PACK_STREAMS; s++)
    if (b->free[s] > end) end = b->free[s];
  return end;
}

#ifdef __cplusplus
}
#endif
#endif
