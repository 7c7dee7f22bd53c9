// Packing of blocks with lifetimes into one arena, private to the pass `memory`.
#ifndef DP_PASSES_MEMORY_PACK_H
#define DP_PASSES_MEMORY_PACK_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_PACK_STREAMS = 5 };

// A stretch of bytes. Times are places in the order in which nodes are issued.
typedef struct {
  uint64_t bytes;                 // a multiple of the alignment, as offsets are
  int32_t start;                  // the node that writes it first
  int stream;                     // that node's
  int32_t free[DP_PACK_STREAMS];  // by stream: from which time on its nodes come after every use of the block
  uint64_t offset;                // found by dp_pack
} dp_pack_block;

// Whether one of the two is done with before the other is written.
static inline bool dp_pack_apart(const dp_pack_block *a, const dp_pack_block *b) {
  return b->start >= a->free[b->stream] || a->start >= b->free[a->stream];
}

// Sets offsets so that blocks which are not apart do not overlap; the top of them all. In time that grows little faster
// than the count.
uint64_t dp_pack(dp_arena *scratch, uint32_t alignment, int32_t count, dp_pack_block *blocks);
// What packing is measured against: the most bytes that are alive at once, for a node that writes a block, of the
// stream that writes most: those that were written and that it does not come after all uses of.
uint64_t dp_pack_bound(dp_arena *scratch, int32_t count, const dp_pack_block *blocks);

// pack_time.c: the same for very many blocks. bound: what dp_pack_bound says.
uint64_t dp_pack_time(dp_arena *scratch, uint32_t alignment, int32_t count, dp_pack_block *blocks, uint64_t bound);

// From which time on nothing comes before a use of the block.
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
