// Runs a primitive over many samples in chunks, so that copies in oneDNN's layouts stay in the cache and need little
// scratch. The number of samples in a chunk is a power of two: a few primitives then make up any number, and the
// scratch that suffices for a number and all smaller ones is the maximum over the powers of two up to it.
#ifndef DP_BACKENDS_CPU_ONEDNN_CHUNKS_H
#define DP_BACKENDS_CPU_ONEDNN_CHUNKS_H

#include "backends/cpu/onednn/primitive.h"

typedef struct dp_chunks dp_chunks;

// Whether oneDNN supports the primitive. In float32 it does so for any number of samples or for none; in bfloat16 the
// number matters.
bool dp_chunks_exist(const dp_primitive_spec *primitive);
uint64_t dp_chunks_scratch_bytes(const dp_primitive_spec *primitive);
// The bytes of w in the layout that the primitives of all chunks take it in, so that it is packed once for any number
// of samples up to the spec's; 0: it is plain, or they differ.
uint64_t dp_chunks_packed_bytes(const dp_primitive_spec *primitive);
dp_status dp_chunks_create(const dp_primitive_spec *primitive, dp_chunks **chunks) DP_MUST_USE;
void dp_chunks_destroy(dp_chunks *chunks);  // NULL is allowed
// As dp_primitive_pack.
dp_status dp_chunks_pack(const dp_chunks *chunks, const void *w, void *packed, void *scratch) DP_MUST_USE;
dp_status dp_chunks_run(const dp_chunks *chunks, const dp_primitive_data *data, void *scratch) DP_MUST_USE;

#endif
