// The members of a region on chunks: a box of each value, chosen so that those of one chunk depend on nothing else. All
// members compute a chunk before the next one, from the cache. rows.c and channels.c choose the boxes.
//
// Members have the kernels that compute any part of them (member.h): the reference's, or fast ones. A member of types
// that kernels do not compute in, such as 16-bit floats, is computed in wider ones, and each of its results is rounded:
// chunk by chunk, with the bits that it has by itself.
#ifndef DP_BACKENDS_CPU_MEMBER_CHUNKS_H
#define DP_BACKENDS_CPU_MEMBER_CHUNKS_H

#include "backends/cpu/member.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_CHUNK_VALUES = 256 };  // of a region, at most

// What a region's chunks need memory for.
typedef struct {
  int64_t elements;    // of a value in the longest chunk, or more
  const bool *staged;  // (operands and results) it is copied to a slot, or from one; NULL: none is
} dp_member_chunk_sizes;

// Whether each member has such a kernel.
bool dp_member_chunks_match(const dp_kernel_spec *spec);
// The scratch of one thread.
uint64_t dp_member_chunks_scratch_bytes(const dp_kernel_spec *spec, const dp_member_chunk_sizes *sizes);

typedef struct dp_member_chunks dp_member_chunks;

// The extents of value v in a chunk, or in the last one, which may be shorter.
typedef dp_local dp_member_chunks_box(const void *context, const dp_local *local, int v, bool last);

// `fast`: kernels may depend on the instruction set. The caller releases *made.
dp_status dp_member_chunks_prepare(const dp_kernel_spec *spec, const dp_member_chunk_sizes *sizes, bool fast,
                                   dp_member_chunks_box *box, const void *context, dp_member_chunks **made) DP_MUST_USE;
void dp_member_chunks_release(dp_member_chunks *chunks);  // NULL: nothing

// Sets the addresses of the values that have slots, in the scratch of one thread.
void dp_member_chunks_place(const dp_member_chunks *chunks, const dp_kernel_region *region, char *scratch,
                            void **values);
// Computes member m. last: of the last chunk. values: addresses. scratch: of the thread.
dp_status dp_member_chunks_run(const dp_member_chunks *chunks, const dp_kernel_region *region, int m, bool last,
                               void *const *values, char *scratch) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
