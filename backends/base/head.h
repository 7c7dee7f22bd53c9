// A region that is the head of a network (ir/kernel/head.h), cut into chunks of rows, for the kernels of all backends.
// Each chunk is a region of its own, with fewer rows; from the second on it adds to what the ones before it have
// summed. Chunks begin at multiples of 256 rows, so that their operands are aligned as those of the whole region are.
#ifndef DP_BACKENDS_BASE_HEAD_H
#define DP_BACKENDS_BASE_HEAD_H

#include "ir/kernel/head.h"
#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_HEAD_CHUNKS = 8 };  // at most, but for a multiple of the threads

typedef struct {
  int64_t rows;   // on this device
  int64_t chunk;  // rows of each but the last ones
  int64_t most;   // the most that a chunk has, here and in the same region with fewer rows
  int count;      // of chunks, at least 1: a multiple of the threads. The last ones may be empty
  int busy;       // threads with rows, at least 1: the first ones. Each has as many chunks
  int most_busy;  // the most of these, here and in the same region with fewer rows
  int n_sums;
  uint8_t standing[DP_HEAD_VALUES];  // dp_head_standing, by value
  bool of_product[DP_HEAD_VALUES];   // by value, of sums: a product makes it
} dp_head;

// False: the region is no head, or has too many members or values. fewest: rows of a chunk, a multiple of 256, if there
// are as many. Each chunk reads the weights and adds to their gradient, so its products must take much longer than
// that, which depends on its rows and the target alone.
bool dp_head_of(const dp_kernel_spec *region, int64_t fewest, dp_head *head);

static inline int64_t dp_head_first(const dp_head *head, int chunk) {
  return dp_min_i64(chunk * head->chunk, head->rows);
}
static inline int64_t dp_head_rows(const dp_head *head, int chunk) {
  return dp_head_first(head, chunk + 1) - dp_head_first(head, chunk);
}

// It stays where it is made.
typedef struct {
  dp_kernel_spec spec;
  dp_kernel_region region;
  dp_node add;
  dp_kernel_member members[2 * DP_HEAD_MEMBERS];
  dp_kernel_operand values[2 * DP_HEAD_VALUES];
  int32_t numbers[2 * DP_HEAD_MEMBERS * 2 * DP_MAX_OPERANDS];
} dp_head_chunk;

// The region of `rows` rows from `first` on. adds: its operands are followed by the sums so far. The new sums may lie
// on these where products make them.
void dp_head_chunk_make(const dp_kernel_spec *region, const dp_head *head, int64_t first, int64_t rows, bool adds,
                        dp_head_chunk *made);
// The addresses of the chunk's operands and results. before, sums: (n_sums) where the sums so far are, and where the
// new ones go. from: (2 DP_HEAD_VALUES), to: (DP_HEAD_VALUES)
void dp_head_chunk_ends(const dp_kernel_spec *region, const dp_head *head, int64_t first, const void *const *in,
                        void *const *out, void *const *before, void *const *sums, const void **from, void **to);

#ifdef __cplusplus
}
#endif
#endif
