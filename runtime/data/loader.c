// See loader.h. The permutation is a Fisher-Yates shuffle with counter-based random numbers (Philox), so it does not
// depend on who asks for it, or when.
#include "runtime/data/loader.h"

#include <stdlib.h>
#include <string.h>

#include "ir/base/philox.h"

struct dp_loader {
  int n_inputs;
  dp_loader_input *inputs;
  dp_loader_options options;
  int64_t samples, steps;
  int64_t shuffled_epoch;  // the epoch of `order`; -1: none yet
  int64_t *order;          // (samples)
};

static dp_status count_samples(const dp_loader_input *inputs, int n_inputs, int64_t *samples) {
  const dp_loader_input *first = NULL;
  for (int i = 0; i < n_inputs; i++) {
    if (inputs[i].batch_dim < 0) continue;
    if (first && first->tensor.extents[0] != inputs[i].tensor.extents[0])
      return dp_fail(EX_DATAERR, "'%s' has %lld samples but '%s' has %lld", first->name,
                     (long long)first->tensor.extents[0], inputs[i].name, (long long)inputs[i].tensor.extents[0]);
    if (!first) first = &inputs[i];
  }
  *samples = 1;
  if (!first) return DP_OK;
  if (!first->tensor.extents[0]) return dp_fail(EX_DATAERR, "'%s' has no samples", first->name);
  *samples = first->tensor.extents[0];
  return DP_OK;
}

dp_status dp_loader_create(const dp_loader_input *inputs, int n_inputs, const dp_loader_options *options,
                           dp_loader **loader) {
  int64_t samples = 0;
  DP_TRY(count_samples(inputs, n_inputs, &samples));
  dp_loader *l = calloc(1, sizeof *l);
  if (!l) return dp_fail(DP_EX_MEMORY, "no memory for the data loader");
  l->inputs = malloc((size_t)n_inputs * sizeof *inputs);
  l->order = malloc((size_t)samples * sizeof *l->order);
  if (!l->inputs || !l->order) {
    dp_loader_destroy(l);
    return dp_fail(DP_EX_MEMORY, "no memory for the order of %lld samples", (long long)samples);
  }
  memcpy(l->inputs, inputs, (size_t)n_inputs * sizeof *inputs);
  l->n_inputs = n_inputs;
  l->options = *options;
  l->samples = samples;
  l->steps = options->drop_last ? samples / options->batch : (samples + options->batch - 1) / options->batch;
  l->shuffled_epoch = -1;
  for (int64_t i = 0; i < samples; i++) l->order[i] = i;
  *loader = l;
  return DP_OK;
}

void dp_loader_destroy(dp_loader *loader) {
  if (!loader) return;
  free(loader->inputs);
  free(loader->order);
  free(loader);
}

int dp_loader_inputs(const dp_loader *loader) { return loader->n_inputs; }

int64_t dp_loader_samples(const dp_loader *loader) { return loader->samples; }

int64_t dp_loader_steps(const dp_loader *loader) { return loader->steps; }

uint64_t dp_loader_hash(const dp_loader *loader) {
  uint64_t sum = 0;
  for (int i = 0; i < loader->n_inputs; i++) {
    const dp_loader_input *input = &loader->inputs[i];
    const dp_tensor *t = &input->tensor;
    const uint64_t parts[] = {dp_hash64(input->name, strlen(input->name)), (uint64_t)t->dtype,
                              dp_hash64(t->extents, (size_t)t->rank * sizeof *t->extents),
                              dp_hash64(t->data, t->bytes)};
    sum += dp_hash64(parts, sizeof parts);
  }
  return sum;
}

static void shuffle(dp_loader *loader, int64_t epoch) {
  if (loader->shuffled_epoch == epoch) return;
  const uint32_t key[2] = {(uint32_t)loader->options.seed, (uint32_t)(loader->options.seed >> 32)};
  const uint32_t name = dp_hash_name("dp.shuffle");
  for (int64_t i = 0; i < loader->samples; i++) loader->order[i] = i;
  for (int64_t i = loader->samples - 1; i > 0; i--) {
    const uint32_t counter[4] = {(uint32_t)epoch, name, (uint32_t)i, (uint32_t)(i >> 32)};
    uint32_t random[4];
    dp_philox4x32_10(counter, key, random);
    uint64_t r = (uint64_t)random[1] << 32 | random[0];
    int64_t j = (int64_t)(((unsigned __int128)r * (uint64_t)(i + 1)) >> 64);
    int64_t swap = loader->order[i];
    loader->order[i] = loader->order[j];
    loader->order[j] = swap;
  }
  loader->shuffled_epoch = epoch;
}

// Copies one sample: `outer` runs of `inner` bytes, which are n runs apart in the batch.
static void put_sample(const dp_loader_input *input, int64_t sample, int64_t at, int64_t n, char *target) {
  const dp_tensor *t = &input->tensor;
  size_t outer = 1, inner = dp_type_bytes(t->dtype);
  for (int d = 0; d < t->rank - 1; d++) {
    if (d < input->batch_dim)
      outer *= (size_t)t->extents[d + 1];
    else
      inner *= (size_t)t->extents[d + 1];
  }
  const char *source = (const char *)t->data + (size_t)sample * outer * inner;
  for (size_t o = 0; o < outer; o++) memcpy(target + (o * (size_t)n + (size_t)at) * inner, source + o * inner, inner);
}

int64_t dp_loader_fill(dp_loader *loader, int64_t position, void *const *targets) {
  int64_t epoch = position / loader->steps, step = position % loader->steps;
  if (loader->options.shuffle) shuffle(loader, epoch);
  int64_t first = step * loader->options.batch, n = dp_min_i64(loader->options.batch, loader->samples - first);
  for (int i = 0; i < loader->n_inputs; i++) {
    const dp_loader_input *input = &loader->inputs[i];
    if (input->batch_dim < 0) {
      memcpy(targets[i], input->tensor.data, input->tensor.bytes);
      continue;
    }
    for (int64_t s = 0; s < n; s++) put_sample(input, loader->order[first + s], s, n, targets[i]);
  }
  return n;
}
