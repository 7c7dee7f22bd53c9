// Batches out of whole data sets: which samples in which order, and their bytes put where a step wants them.
//
// Order: file order, or with shuffle a permutation that depends on seed and epoch alone. An epoch has ceil(samples / batch)
// steps, the last one short, or floor with drop_last. Positions count steps over all epochs; steps beyond the data go round.
#ifndef DP_RUNTIME_DATA_LOADER_H
#define DP_RUNTIME_DATA_LOADER_H

#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *name;
  int batch_dim;     // where samples lie in the input; -1: every batch gets the whole tensor
  dp_tensor tensor;  // as dp_data_fit gives it: samples first
} dp_loader_input;

typedef struct {
  int64_t batch;  // the largest n
  bool shuffle, drop_last;
  uint64_t seed;
} dp_loader_options;

typedef struct dp_loader dp_loader;

// EX_DATAERR when the inputs disagree about the number of samples, or there are none. Where no input has samples along an
// axis, what is whole is one sample. The tensors stay the caller's.
dp_status dp_loader_create(const dp_loader_input *inputs, int n_inputs, const dp_loader_options *options,
                           dp_loader **loader) DP_MUST_USE;
void dp_loader_destroy(dp_loader *loader);
int dp_loader_inputs(const dp_loader *loader);
int64_t dp_loader_samples(const dp_loader *loader);
int64_t dp_loader_steps(const dp_loader *loader);  // an epoch; 0 when drop_last leaves nothing
// Writes the batch at `position` to targets[i], each dense in the input's shape at n. Returns n.
int64_t dp_loader_fill(dp_loader *loader, int64_t position, void *const *targets);

// A thread that fills two sets of targets in turn, one step ahead of the consumer.
typedef struct dp_prefetch dp_prefetch;

// Batches from position `first` to before `end`. targets: of slot 0 (n_inputs), then of slot 1.
dp_status dp_prefetch_create(dp_loader *loader, void *const *targets, int64_t first, int64_t end,
                             dp_prefetch **prefetch) DP_MUST_USE;
// Waits for the next batch: the slot it is in (position modulo 2) and its n. False after the last one.
bool dp_prefetch_next(dp_prefetch *prefetch, int *slot, int64_t *n);
// The step has read its slot, which may be filled again. Once after each dp_prefetch_next.
void dp_prefetch_release(dp_prefetch *prefetch);
void dp_prefetch_destroy(dp_prefetch *prefetch);

#ifdef __cplusplus
}
#endif
#endif
