// A primitive over many samples, computed in chunks, so that the copies in oneDNN's layouts stay in the caches and in little
// scratch. A chunk has a power of two samples: few primitives make up any count, and the scratch for a count and every
// smaller one is known, the most that the powers of two up to it take.
#ifndef DP_BACKENDS_CPU_ONEDNN_CHUNKS_H
#define DP_BACKENDS_CPU_ONEDNN_CHUNKS_H

#include "backends/cpu/onednn/primitive.h"

typedef struct dp_chunks dp_chunks;

// Whether oneDNN has the primitive.
bool dp_chunks_exist(const dp_primitive_spec *primitive);
uint64_t dp_chunks_scratch_bytes(const dp_primitive_spec *primitive);
dp_status dp_chunks_create(const dp_primitive_spec *primitive, dp_chunks **chunks) DP_MUST_USE;
void dp_chunks_destroy(dp_chunks *chunks);  // NULL is allowed
dp_status dp_chunks_run(const dp_chunks *chunks, const dp_primitive_data *data, void *scratch) DP_MUST_USE;

#endif
