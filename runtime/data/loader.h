// Builds batches from data sets: chooses the samples, and has workers read, convert and augment them where a step reads
// them.
//
// The order is file order, or with shuffle a permutation that depends only on seed and epoch. An epoch has ceil(samples
// / batch) steps, the last one short, or floor(samples / batch) with drop_last. Positions count steps over all epochs;
// past the end of the data they wrap around. A batch depends on none of what else is loaded, by how many workers, or
// when.
#ifndef DP_RUNTIME_DATA_LOADER_H
#define DP_RUNTIME_DATA_LOADER_H

#include "runtime/data/augment.h"
#include "runtime/data/data.h"
#include "runtime/data/order.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *name;
  int batch_dim;  // the input's dim of samples; -1: every batch gets the whole tensor
  dp_fitted data;
  const dp_augment *augment;  // NULL: none
} dp_loader_input;

typedef struct {
  int64_t batch;  // samples in a full batch
  bool shuffle, drop_last;
  uint64_t seed;
  dp_part part;       // the samples that the batches are made of
  double validation;  // the share of that part
  int workers;        // 0 and 1: the thread that fills
  // A sample with a broken record is replaced by the next whole one of the part, in file order, in all inputs.
  bool skip_broken;
  // Called once for each sample that is skipped, by any thread, one at a time. NULL: nobody is told.
  void (*skipped)(void *context, const char *message);
  void *context;
} dp_loader_options;

typedef struct dp_loader dp_loader;

// EX_DATAERR: the inputs have different numbers of samples, or none. If no input has a sample axis, the data set is one
// sample. The caller keeps data and augments alive as long as the loader.
dp_status dp_loader_create(const dp_loader_input *inputs, int n_inputs, const dp_loader_options *options,
                           dp_loader **loader) DP_MUST_USE;
void dp_loader_destroy(dp_loader *loader);
int dp_loader_inputs(const dp_loader *loader);
int64_t dp_loader_batch(const dp_loader *loader);  // samples in a full batch
// The bytes that a batch of n samples has in one input.
size_t dp_loader_input_bytes(const dp_loader *loader, int input, int64_t n);
int64_t dp_loader_samples(const dp_loader *loader);
int64_t dp_loader_steps(const dp_loader *loader);        // in an epoch; 0 when drop_last leaves none
size_t dp_loader_sample_bytes(const dp_loader *loader);  // that a sample has in all inputs with samples
// XXH3 over names, types, shapes, data, augments and part, in any order of inputs.
dp_status dp_loader_hash(const dp_loader *loader, uint64_t *hash) DP_MUST_USE;
// Writes the batch at `position` to targets[i], each dense in the input's shape for *n samples. EX_DATAERR: a broken
// record, which is named; EX_IOERR.
dp_status dp_loader_fill(dp_loader *loader, int64_t position, void *const *targets, int64_t *n) DP_MUST_USE;

// A thread that fills two sets of targets alternately, ahead of the consumer.
typedef struct dp_prefetch dp_prefetch;

// Prefetches the batches at positions [first, end). targets: n_inputs for slot 0, then n_inputs for slot 1. depth >= 1
// is how many batches are ready at most before the consumer asks: one in the targets, and depth - 1 in memory of its
// own, which another thread copies. DP_EX_MEMORY.
dp_status dp_prefetch_create(dp_loader *loader, void *const *targets, int64_t first, int64_t end, int depth,
                             dp_prefetch **prefetch) DP_MUST_USE;
// Waits for the next batch; returns its slot (position modulo 2) and its n. False after the last batch, and when one
// could not be filled.
bool dp_prefetch_next(dp_prefetch *prefetch, int *slot, int64_t *n);
// Why a batch could not be filled; once. Call it when dp_prefetch_next gave false.
dp_status dp_prefetch_failure(dp_prefetch *prefetch) DP_MUST_USE;
// Lets the slot be filled again. Call it once after each dp_prefetch_next, when the step has read the slot.
void dp_prefetch_release(dp_prefetch *prefetch);
void dp_prefetch_destroy(dp_prefetch *prefetch);

#ifdef __cplusplus
}
#endif
#endif
