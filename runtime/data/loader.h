// Builds batches from whole data sets: chooses the samples and copies them to where a step reads them.
//
// The order is file order, or with shuffle a permutation that depends only on seed and epoch. An epoch has ceil(samples
// / batch) steps, the last one short, or floor(samples / batch) with drop_last. Positions count steps over all epochs;
// past the end of the data they wrap around.
#ifndef DP_RUNTIME_DATA_LOADER_H
#define DP_RUNTIME_DATA_LOADER_H

#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *name;
  int batch_dim;     // the input's dim of samples; -1: every batch gets the whole tensor
  dp_tensor tensor;  // from dp_data_fit: samples first
} dp_loader_input;

typedef struct {
  int64_t batch;  // samples in a full batch
  bool shuffle, drop_last;
  uint64_t seed;
} dp_loader_options;

typedef struct dp_loader dp_loader;

// EX_DATAERR: the inputs have different numbers of samples, or none. If no input has a sample axis, the data set is one
// sample. The caller keeps the tensors alive as long as the loader.
dp_status dp_loader_create(const dp_loader_input *inputs, int n_inputs, const dp_loader_options *options,
                           dp_loader **loader) DP_MUST_USE;
void dp_loader_destroy(dp_loader *loader);
int dp_loader_inputs(const dp_loader *loader);
int64_t dp_loader_samples(const dp_loader *loader);
int64_t dp_loader_steps(const dp_loader *loader);  // in an epoch; 0 when drop_last leaves none
uint64_t dp_loader_hash(const dp_loader *loader);  // XXH3 over names, types, shapes and data, in any order of inputs
// Writes the batch at `position` to targets[i], each dense in the input's shape for n samples. Returns n.
int64_t dp_loader_fill(dp_loader *loader, int64_t position, void *const *targets);

// A thread that fills two sets of targets alternately, one step ahead of the consumer.
typedef struct dp_prefetch dp_prefetch;

// Prefetches the batches at positions [first, end). targets: n_inputs for slot 0, then n_inputs for slot 1.
// DP_EX_MEMORY.
dp_status dp_prefetch_create(dp_loader *loader, void *const *targets, int64_t first, int64_t end,
                             dp_prefetch **prefetch) DP_MUST_USE;
// Waits for the next batch; returns its slot (position modulo 2) and its n. False after the last batch.
bool dp_prefetch_next(dp_prefetch *prefetch, int *slot, int64_t *n);
// Lets the slot be filled again. Call it once after each dp_prefetch_next, when the step has read the slot.
void dp_prefetch_release(dp_prefetch *prefetch);
void dp_prefetch_destroy(dp_prefetch *prefetch);

#ifdef __cplusplus
}
#endif
#endif
