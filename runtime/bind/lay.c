// See lay.h.
#include "runtime/bind/lay.h"

#include <string.h>

static const int nhwc_order[] = {0, 2, 3, 1};

dp_local dp_lay_local(const dp_local *local, dp_layout layout) {
  if (layout == DP_LAYOUT_PLAIN || layout == DP_LAYOUT_OIHW16I32O) return *local;
  dp_local turned = {.rank = local->rank};
  if (dp_local_in_blocks(local, dp_layout_block(layout), &turned)) return turned;
  for (int i = 0; i < (int)DP_COUNT(nhwc_order); i++) dp_local_take_dim(&turned, i, local, nhwc_order[i]);
  return turned;
}

// Swaps the last two of three dims: from [images, rows, columns] to [images, columns, rows].
static void swap(size_t element_bytes, int64_t images, int64_t rows, int64_t columns, const char *from, char *to) {
  for (int64_t i = 0; i < images; i++)
    for (int64_t r = 0; r < rows; r++)
      for (int64_t c = 0; c < columns; c++, from += element_bytes)
        memcpy(to + (size_t)((i * columns + c) * rows + r) * element_bytes, from, element_bytes);
}

void dp_lay_to_nhwc(size_t element_bytes, const int64_t extents[4], const void *plain, void *nhwc) {
  swap(element_bytes, extents[0], extents[1], extents[2] * extents[3], plain, nhwc);
}

void dp_lay_to_plain(size_t element_bytes, const int64_t extents[4], const void *nhwc, void *plain) {
  swap(element_bytes, extents[0], extents[2] * extents[3], extents[1], nhwc, plain);
}

// A constant number of bytes makes the loop a fast one.
static inline void to_blocks(size_t bytes, const int64_t extents[4], const char *plain, char *blocks, bool back) {
  const int64_t taps = extents[2] * extents[3];
  for (int64_t o = 0; o < extents[0]; o++)
    for (int64_t i = 0; i < extents[1]; i++)
      for (int64_t tap = 0; tap < taps; tap++, plain += bytes) {
        char *in_block = blocks + (size_t)dp_weight_block_place(extents, o, i, tap) * bytes;
        memcpy(back ? (char *)(uintptr_t)plain : in_block, back ? in_block : plain, bytes);
      }
}

static void turn_blocks(size_t bytes, const int64_t extents[4], const char *plain, char *blocks, bool back) {
  if (bytes == sizeof(float))
    to_blocks(sizeof(float), extents, plain, blocks, back);
  else
    to_blocks(bytes, extents, plain, blocks, back);
}

void dp_lay_to_weight_blocks(size_t element_bytes, const int64_t extents[4], const void *plain, void *blocks) {
  turn_blocks(element_bytes, extents, plain, blocks, false);
}

void dp_lay_from_weight_blocks(size_t element_bytes, const int64_t extents[4], const void *blocks, void *plain) {
  turn_blocks(element_bytes, extents, plain, (char *)(uintptr_t)blocks, true);
}
