// Runs a primitive over many samples in parts that threads compute side by side, each with scratch of its own and one
// thread in oneDNN (division.h). Whole samples go in chunks.
#ifndef DP_BACKENDS_CPU_ONEDNN_PARTS_H
#define DP_BACKENDS_CPU_ONEDNN_PARTS_H

#include "backends/cpu/onednn/primitive.h"

typedef struct dp_parts dp_parts;

// As in chunks.h; the number of parts is primitive->threads. What holds for a number of samples holds for smaller ones.
bool dp_parts_exist(const dp_primitive_spec *primitive);
uint64_t dp_parts_scratch_bytes(const dp_primitive_spec *primitive);
// The bytes of all of w in oneDNN's layout, of which each part reads its own; 0: it is plain, or a part wants another.
uint64_t dp_parts_packed_bytes(const dp_primitive_spec *primitive);
dp_status dp_parts_create(const dp_primitive_spec *primitive, dp_parts **parts) DP_MUST_USE;
void dp_parts_destroy(dp_parts *parts);  // NULL is allowed
dp_status dp_parts_pack(const dp_parts *parts, const void *w, void *packed, void *scratch) DP_MUST_USE;
// What thread `thread` of `threads` computes: part `thread`, or several where there are fewer threads than parts.
dp_status dp_parts_run(const dp_parts *parts, const dp_primitive_data *data, void *scratch, int thread,
                       int threads) DP_MUST_USE;

#endif
