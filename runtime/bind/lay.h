// Layouts of tensors that the host or other devices know as plain.
#ifndef DP_RUNTIME_BIND_LAY_H
#define DP_RUNTIME_BIND_LAY_H

#include "ir/graph/placement.h"
#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

// The shard as one of a plain tensor whose dims come in the order in which they lie. Of rank 4 unless it is plain;
// blocks of channels are dims of their own. Weights in blocks are whole on each device, so theirs stay in any order.
dp_local dp_lay_local(const dp_local *local, dp_layout layout);

// Copies all elements of a tensor with four dims, each of element_bytes: from the plain order to NHWC, or back. The two
// do not overlap.
void dp_lay_to_nhwc(size_t element_bytes, const int64_t extents[4], const void *plain, void *nhwc);
void dp_lay_to_plain(size_t element_bytes, const int64_t extents[4], const void *nhwc, void *plain);

// The same to and from DP_LAYOUT_OIHW16I32O.
void dp_lay_to_weight_blocks(size_t element_bytes, const int64_t extents[4], const void *plain, void *blocks);
void dp_lay_from_weight_blocks(size_t element_bytes, const int64_t extents[4], const void *blocks, void *plain);

#ifdef __cplusplus
}
#endif
#endif
