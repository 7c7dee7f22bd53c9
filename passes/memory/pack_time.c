// Packing very many blocks. See pack.h.
//
// Blocks are placed in order of time, in the smallest arena that fits them: long-lived ones from the bottom, almost as
// on a stack, the others from the top. A block's bytes are free again when all streams are past its uses. Where that is
// much too late, as with streams of transfers that are past them only a task later, either each stream's blocks get an
// arena of their own, or each stream has its own view of what is free, which takes more time.
#include <stdlib.h>
#include <string.h>

#include "passes/memory/pack.h"

enum { MAX_STEPS = 1 << 30 };  // of the streams' own views

static const int32_t lives[] = {8, 64, 512};  // what counts as long-lived; tried in turn

// ---- one view for all streams ---------------------------------------------------------------------------------------

typedef struct {
  uint64_t offset, bytes;
} hole;

typedef struct {
  int32_t count;
  hole *holes;  // by offset; no two are adjacent
} holes;

static void remove_hole(holes *h, int32_t i) {
  memmove(&h->holes[i], &h->holes[i + 1], (size_t)(--h->count - i) * sizeof *h->holes);
}

static void give_back(holes *h, uint64_t offset, uint64_t bytes) {
  int32_t low = 0, high = h->count;
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (h->holes[middle].offset < offset)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < h->count && offset + bytes == h->holes[low].offset) {
    bytes += h->holes[low].bytes;
    remove_hole(h, low);
  }
  if (low > 0 && h->holes[low - 1].offset + h->holes[low - 1].bytes == offset) {
    h->holes[low - 1].bytes += bytes;
    return;
  }
  memmove(&h->holes[low + 1], &h->holes[low], (size_t)(h->count++ - low) * sizeof *h->holes);
  h->holes[low] = (hole){offset, bytes};
}

// The lowest or highest hole that fits; false when there is none.
static bool take_hole(holes *h, uint64_t bytes, bool high, uint64_t *offset) {
  int32_t i = high ? h->count - 1 : 0, step = high ? -1 : 1;
  while (i >= 0 && i < h->count && h->holes[i].bytes < bytes) i += step;
  if (i < 0 || i == h->count) return false;
  hole *it = &h->holes[i];
  *offset = high ? it->offset + it->bytes - bytes : it->offset;
  it->bytes -= bytes;
  if (!high) it->offset += bytes;
  if (!it->bytes) remove_hole(h, i);
  return true;
}

// starts, ends: the blocks by their first and by their last time. Those that live longer than `life` go to the bottom
// of an arena of so many bytes, the rest to its top.
static bool place_by_time(int32_t count, dp_pack_block *const *starts, dp_pack_block *const *ends, holes *h,
                          uint64_t bytes, int32_t life) {
  h->count = 1;
  h->holes[0] = (hole){0, bytes};
  for (int32_t i = 0, done = 0; i < count; i++) {
    for (; done < count && dp_pack_end(ends[done]) <= starts[i]->start; done++)
      give_back(h, ends[done]->offset, ends[done]->bytes);
    bool high = dp_pack_end(starts[i]) - starts[i]->start <= life;
    if (!take_hole(h, starts[i]->bytes, high, &starts[i]->offset)) return false;
  }
  return true;
}

static int by_start(const void *a, const void *b) {
  const dp_pack_block *x = *(dp_pack_block *const *)a, *y = *(dp_pack_block *const *)b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return (x > y) - (x < y);
}

static int by_end(const void *a, const void *b) {
  const dp_pack_block *x = *(dp_pack_block *const *)a, *y = *(dp_pack_block *const *)b;
  if (dp_pack_end(x) != dp_pack_end(y)) return dp_pack_end(x) < dp_pack_end(y) ? -1 : 1;
  return (x > y) - (x < y);
}

static uint64_t pack_by_ends(uint32_t alignment, int32_t count, dp_pack_block *const *starts,
                             dp_pack_block *const *ends, holes *h, uint64_t bound) {
  uint64_t room = 0;  // beyond the bound; at the sum of all blocks they must fit
  for (;; room = room ? 2 * room : dp_align_up(bound / 256 + 1, alignment))
    for (size_t k = 0; k < DP_COUNT(lives); k++)
      if (place_by_time(count, starts, ends, h, bound + room, lives[k])) return bound + room;
}

// ---- a view for each stream -----------------------------------------------------------------------------------------

// The ranges that a stream must avoid, by offset; some have become free meanwhile.
typedef struct {
  int32_t count, when_cleared;
  dp_pack_block **blocks;
} view;

static void clear_view(view *v, int stream, int32_t now) {
  int32_t n = 0;
  for (int32_t i = 0; i < v->count; i++)
    if (v->blocks[i]->free[stream] > now) v->blocks[n++] = v->blocks[i];
  v->count = v->when_cleared = n;
}

// The lowest or highest offset where it fits below `top`; false when there is none.
static bool find_offset(const view *v, dp_pack_block *b, uint64_t top, bool high) {
  uint64_t end = 0;
  bool found = false;
  for (int32_t i = 0; i <= v->count && !(found && !high); i++) {
    uint64_t next = i < v->count ? v->blocks[i]->offset : top;
    if (next >= end + b->bytes) {
      b->offset = high ? next - b->bytes : end;
      found = true;
    }
    if (i < v->count && v->blocks[i]->offset + v->blocks[i]->bytes > end)
      end = v->blocks[i]->offset + v->blocks[i]->bytes;
  }
  return found;
}

static void insert_block(view *v, dp_pack_block *b) {
  int32_t low = 0, high = v->count;
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (v->blocks[middle]->offset < b->offset)
      low = middle + 1;
    else
      high = middle;
  }
  memmove(&v->blocks[low + 1], &v->blocks[low], (size_t)(v->count++ - low) * sizeof *v->blocks);
  v->blocks[low] = b;
}

// Like `fits`, with the streams' views.
static bool place_by_views(int32_t count, dp_pack_block *const *starts, view *views, uint64_t bytes, int32_t life,
                           int64_t *steps) {
  for (int s = 0; s < DP_PACK_STREAMS; s++) views[s].count = views[s].when_cleared = 0;
  for (int32_t i = 0; i < count && *steps < MAX_STEPS; i++) {
    dp_pack_block *b = starts[i];
    clear_view(&views[b->stream], b->stream, b->start);
    *steps += 2 * views[b->stream].count;
    if (!find_offset(&views[b->stream], b, bytes, b->free[b->stream] - b->start <= life)) return false;
    for (int s = 0; s < DP_PACK_STREAMS; s++) {
      if (views[s].count > 2 * views[s].when_cleared + 64) clear_view(&views[s], s, b->start);
      if (b->free[s] > b->start) insert_block(&views[s], b);
    }
  }
  return *steps < MAX_STEPS;
}

// Sets offsets with a lower top than `most` if it finds them; otherwise leaves the offsets as they are.
static uint64_t pack_by_views(dp_arena *scratch, uint32_t alignment, int32_t count, dp_pack_block *const *starts,
                              uint64_t bound, uint64_t most) {
  size_t n = (size_t)count + 1;
  view views[DP_PACK_STREAMS];
  for (int s = 0; s < DP_PACK_STREAMS; s++) views[s].blocks = dp_alloc_n(scratch, n, sizeof *views[s].blocks);
  uint64_t *before = dp_alloc_n(scratch, n, sizeof *before);
  for (int32_t i = 0; i < count; i++) before[i] = starts[i]->offset;
  int64_t steps = 0;
  for (uint64_t room = 0; bound + room < most && steps < MAX_STEPS;
       room = room ? 2 * room : dp_align_up(bound / 64 + 1, alignment))
    for (size_t k = 0; k < DP_COUNT(lives); k++)
      if (place_by_views(count, starts, views, bound + room, lives[k], &steps)) return bound + room;
  for (int32_t i = 0; i < count; i++) starts[i]->offset = before[i];
  return most;
}

// ---- an arena for each stream ---------------------------------------------------------------------------------------

// One arena above the other; a block ends as the stream that writes it sees it. Sets offsets with a lower top than
// `most` if it finds them; otherwise leaves the offsets as they are.
static uint64_t pack_by_streams(dp_arena *scratch, uint32_t alignment, int32_t count, dp_pack_block *const *starts,
                                holes *h, uint64_t most) {
  size_t n = (size_t)count + 1;
  dp_pack_block *copies = dp_alloc_n(scratch, n, sizeof *copies);
  dp_pack_block **mine = dp_alloc_n(scratch, n, sizeof *mine), **ends = dp_alloc_n(scratch, n, sizeof *ends);
  uint64_t top = 0, *offsets = dp_alloc_n(scratch, n, sizeof *offsets);
  for (int s = 0; s < DP_PACK_STREAMS; s++) {
    int32_t of_stream = 0;
    for (int32_t i = 0; i < count; i++) {
      if (starts[i]->stream != s) continue;
      dp_pack_block *copy = mine[of_stream] = ends[of_stream] = &copies[of_stream];
      *copy = *starts[i];
      memset(copy->free, 0, sizeof copy->free);
      copy->free[s] = starts[i]->free[s];
      of_stream++;
    }
    if (!of_stream) continue;
    qsort(ends, (size_t)of_stream, sizeof *ends, by_end);
    const uint64_t base = top;
    top += pack_by_ends(alignment, of_stream, mine, ends, h, dp_pack_bound(scratch, of_stream, copies));
    for (int32_t i = 0, k = 0; i < count; i++)
      if (starts[i]->stream == s) offsets[i] = base + copies[k++].offset;
  }
  for (int32_t i = 0; i < count && top < most; i++) starts[i]->offset = offsets[i];
  return top < most ? top : most;
}

// ---- all of them ----------------------------------------------------------------------------------------------------

// The largest sum of blocks that are not free for all streams.
static uint64_t peak_of_ends(int32_t count, dp_pack_block *const *starts, dp_pack_block *const *ends) {
  uint64_t now = 0, peak = 0;
  for (int32_t i = 0, done = 0; i < count; i++) {
    for (; done < count && dp_pack_end(ends[done]) <= starts[i]->start; done++) now -= ends[done]->bytes;
    now += starts[i]->bytes;
    if (now > peak) peak = now;
  }
  return peak;
}

uint64_t dp_pack_time(dp_arena *scratch, uint32_t alignment, int32_t count, dp_pack_block *blocks, uint64_t bound) {
  size_t n = (size_t)count + 1;
  dp_pack_block **starts = dp_alloc_n(scratch, n, sizeof *starts), **ends = dp_alloc_n(scratch, n, sizeof *ends);
  holes h = {.holes = dp_alloc_n(scratch, n + 1, sizeof *h.holes)};
  for (int32_t i = 0; i < count; i++) starts[i] = ends[i] = &blocks[i];
  qsort(starts, (size_t)count, sizeof *starts, by_start);
  qsort(ends, (size_t)count, sizeof *ends, by_end);
  uint64_t top = pack_by_ends(alignment, count, starts, ends, &h, bound);
  if (top > bound + bound / 64) top = pack_by_streams(scratch, alignment, count, starts, &h, top);
  if (top <= bound + bound / 64) return top;
  // Where streams hardly differ in what they see as free, their views gain nothing.
  if (peak_of_ends(count, starts, ends) <= bound + bound / 64) return top;
  return pack_by_views(scratch, alignment, count, starts, bound, top);
}
