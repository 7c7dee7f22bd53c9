// See loader.h.
#include "runtime/data/loader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data/workers.h"

enum { MAX_AT_ONCE = 64 };  // samples that a worker takes at a time

// What one worker needs for a sample.
typedef struct {
  char *raw;      // (MAX_AT_ONCE samples) as the file has them
  char *sample;   // (one) converted
  char *scratch;  // (one) for augmenting
} room;

struct dp_loader {
  int n_inputs;
  dp_loader_input *inputs;
  dp_loader_options options;
  int64_t all, samples, steps;  // samples: of the part
  int64_t *members;             // (samples) the part in file order; NULL: all
  int64_t shuffled_epoch;       // the epoch of `order`; -1: none yet
  int64_t *order;               // (samples) places in the part
  int n_rooms;
  room *rooms;          // (n_rooms)
  dp_workers *workers;  // NULL: the thread that fills
  void **whole;         // (n_inputs) whole tensors; NULL: the input has samples
  atomic_bool *broken;  // (samples) places that were skipped
  pthread_mutex_t mutex;
};

// ---- creating -------------------------------------------------------------------------------------------------------

static dp_status count_samples(const dp_loader_input *inputs, int n_inputs, int64_t *samples) {
  const dp_loader_input *first = NULL;
  for (int i = 0; i < n_inputs; i++) {
    const dp_loader_input *input = &inputs[i];
    if (input->batch_dim < 0) continue;
    if (first && first->data.extents[0] != input->data.extents[0])
      return dp_fail(EX_DATAERR, "'%s' has %lld samples but '%s' has %lld", first->name,
                     (long long)first->data.extents[0], input->name, (long long)input->data.extents[0]);
    if (!first) first = input;
  }
  *samples = 1;
  if (!first) return DP_OK;
  if (!first->data.extents[0]) return dp_fail(EX_DATAERR, "'%s' has no samples", first->name);
  *samples = first->data.extents[0];
  return DP_OK;
}

static dp_status no_memory(void) { return dp_fail(DP_EX_MEMORY, "no memory for the data loader"); }

static dp_status choose_part(dp_loader *l) {
  const dp_loader_options *o = &l->options;
  l->samples = dp_part_count(o->part, o->validation, l->all);
  if (!l->samples)
    return dp_fail(EX_DATAERR, "--validation=%g of %lld samples leaves none to %s", o->validation, (long long)l->all,
                   o->part == DP_PART_VALIDATION ? "evaluate" : "train on");
  l->order = malloc((size_t)l->all * sizeof *l->order);
  if (!l->order) return dp_fail(DP_EX_MEMORY, "no memory for the order of %lld samples", (long long)l->all);
  for (int64_t i = 0; i < l->all; i++) l->order[i] = i;
  if (o->part == DP_PART_ALL) return DP_OK;
  l->members = malloc((size_t)l->all * sizeof *l->members);
  if (!l->members) return no_memory();
  dp_part_choose(o->part, o->validation, o->seed, l->all, l->members);
  return DP_OK;
}

static dp_status read_whole(dp_loader *l) {
  for (int i = 0; i < l->n_inputs; i++) {
    const dp_fitted *data = &l->inputs[i].data;
    if (l->inputs[i].batch_dim >= 0) continue;
    const int64_t n = dp_data_samples(data->data);
    char *scratch = malloc((size_t)n * dp_data_sample_bytes(data->data) + 1);
    l->whole[i] = malloc((size_t)n * dp_fitted_sample_bytes(data) + 1);
    dp_status status = scratch && l->whole[i] ? dp_fitted_read(data, 0, n, scratch, l->whole[i]) : no_memory();
    free(scratch);
    DP_TRY(status);
  }
  return DP_OK;
}

// Of n samples that follow each other, how many are read at once: every worker gets several such runs.
static int64_t at_once(const dp_loader *l, int64_t n) {
  return dp_min_i64(MAX_AT_ONCE, dp_max_i64(1, n / (4 * l->n_rooms)));
}

static int64_t most_at_once(const dp_loader *l) { return at_once(l, l->options.batch); }

static dp_status make_rooms(dp_loader *l) {
  size_t raw = 1, sample = 1;
  for (int i = 0; i < l->n_inputs; i++) {
    if (l->inputs[i].batch_dim < 0) continue;
    const size_t r = dp_data_sample_bytes(l->inputs[i].data.data), s = dp_fitted_sample_bytes(&l->inputs[i].data);
    if (r > raw) raw = r;
    if (s > sample) sample = s;
  }
  for (int w = 0; w < l->n_rooms; w++) {
    l->rooms[w] = (room){malloc((size_t)most_at_once(l) * raw), malloc(sample), malloc(sample)};
    if (!l->rooms[w].raw || !l->rooms[w].sample || !l->rooms[w].scratch) return no_memory();
  }
  return l->n_rooms > 1 ? dp_workers_create(l->n_rooms, &l->workers) : DP_OK;
}

static dp_status prepare(dp_loader *l, const dp_loader_input *inputs) {
  const dp_loader_options *o = &l->options;
  l->n_rooms = o->workers > 1 ? o->workers : 1;
  l->inputs = malloc((size_t)l->n_inputs * sizeof *inputs);
  l->whole = calloc((size_t)l->n_inputs, sizeof *l->whole);
  l->rooms = calloc((size_t)l->n_rooms, sizeof *l->rooms);
  if (!l->inputs || !l->whole || !l->rooms) return no_memory();
  memcpy(l->inputs, inputs, (size_t)l->n_inputs * sizeof *inputs);
  DP_TRY(choose_part(l));
  l->broken = calloc((size_t)l->samples, sizeof *l->broken);
  if (!l->broken) return no_memory();
  l->steps = o->drop_last ? l->samples / o->batch : (l->samples + o->batch - 1) / o->batch;
  DP_TRY(read_whole(l));
  return make_rooms(l);
}

dp_status dp_loader_create(const dp_loader_input *inputs, int n_inputs, const dp_loader_options *options,
                           dp_loader **loader) {
  int64_t samples = 0;
  DP_TRY(count_samples(inputs, n_inputs, &samples));
  dp_loader *l = calloc(1, sizeof *l);
  if (!l) return no_memory();
  l->n_inputs = n_inputs;
  l->options = *options;
  l->all = samples;
  l->shuffled_epoch = -1;
  pthread_mutex_init(&l->mutex, NULL);
  dp_status status = prepare(l, inputs);
  if (status) {
    dp_loader_destroy(l);
    return status;
  }
  *loader = l;
  return DP_OK;
}

void dp_loader_destroy(dp_loader *loader) {
  if (!loader) return;
  dp_workers_destroy(loader->workers);
  for (int w = 0; loader->rooms && w < loader->n_rooms; w++) {
    free(loader->rooms[w].raw);
    free(loader->rooms[w].sample);
    free(loader->rooms[w].scratch);
  }
  for (int i = 0; loader->whole && i < loader->n_inputs; i++) free(loader->whole[i]);
  pthread_mutex_destroy(&loader->mutex);
  free(loader->rooms);
  free(loader->whole);
  free(loader->inputs);
  free(loader->members);
  free(loader->order);
  free(loader->broken);
  free(loader);
}

int dp_loader_inputs(const dp_loader *loader) { return loader->n_inputs; }

int64_t dp_loader_batch(const dp_loader *loader) { return loader->options.batch; }

size_t dp_loader_input_bytes(const dp_loader *loader, int input, int64_t n) {
  const dp_loader_input *one = &loader->inputs[input];
  return (size_t)(one->batch_dim < 0 ? dp_data_samples(one->data.data) : n) * dp_fitted_sample_bytes(&one->data);
}

int64_t dp_loader_samples(const dp_loader *loader) { return loader->samples; }

int64_t dp_loader_steps(const dp_loader *loader) { return loader->steps; }

size_t dp_loader_sample_bytes(const dp_loader *loader) {
  size_t bytes = 0;
  for (int i = 0; i < loader->n_inputs; i++)
    if (loader->inputs[i].batch_dim >= 0) bytes += dp_fitted_sample_bytes(&loader->inputs[i].data);
  return bytes;
}

dp_status dp_loader_hash(const dp_loader *loader, uint64_t *hash) {
  const dp_loader_options *o = &loader->options;
  uint64_t sum = loader->members ? dp_hash64(loader->members, (size_t)loader->samples * sizeof *loader->members) : 0;
  for (int i = 0; i < loader->n_inputs; i++) {
    const dp_loader_input *input = &loader->inputs[i];
    const dp_fitted *f = &input->data;
    const dp_augment *a = input->augment;
    uint64_t data;
    DP_TRY(dp_data_hash(f->data, &data));
    const uint64_t parts[] = {dp_hash64(input->name, strlen(input->name)),
                              (uint64_t)f->dtype,
                              (uint64_t)f->data->dtype,
                              dp_hash64(f->extents, (size_t)f->rank * sizeof *f->extents),
                              data,
                              a && a->flip,
                              a ? (uint64_t)a->crop : 0,
                              o->skip_broken};
    sum += dp_hash64(parts, sizeof parts);
    if (a && a->area_max > 0) sum += dp_hash64((const double[]){a->area_min, a->area_max}, 2 * sizeof(double));
  }
  *hash = sum;
  return DP_OK;
}

// ---- filling --------------------------------------------------------------------------------------------------------

typedef struct {
  dp_loader *loader;
  int64_t epoch, first, n;
  int64_t at_once;  // samples of an item
  void *const *targets;
  // Under the loader's mutex.
  dp_status failure;
  int64_t failed_at;
} filling;

static int64_t sample_of(const dp_loader *l, int64_t place) { return l->members ? l->members[place] : place; }

// Whether samples follow each other in the batch as they do in the file.
static bool is_dense(const dp_loader_input *input) {
  for (int d = 0; d < input->batch_dim; d++)
    if (input->data.extents[d + 1] != 1) return false;
  return true;
}

// Copies one sample: `outer` runs of `inner` bytes, which are n runs apart in the batch.
static void put_sample(const dp_loader_input *input, const char *sample, int64_t at, int64_t n, char *target) {
  const dp_fitted *f = &input->data;
  size_t outer = 1, inner = dp_type_bytes(f->dtype);
  for (int d = 0; d < f->rank - 1; d++) {
    if (d < input->batch_dim)
      outer *= (size_t)f->extents[d + 1];
    else
      inner *= (size_t)f->extents[d + 1];
  }
  for (size_t o = 0; o < outer; o++) memcpy(target + (o * (size_t)n + (size_t)at) * inner, sample + o * inner, inner);
}

// Reads one sample of one input to its place in the batch.
static dp_status read_sample(const filling *f, const dp_loader_input *input, const room *own, int64_t sample,
                             int64_t at, char *target) {
  const size_t bytes = dp_fitted_sample_bytes(&input->data);
  const bool dense = is_dense(input);
  char *to = dense ? target + (size_t)at * bytes : own->sample;
  DP_TRY(dp_fitted_read(&input->data, sample, 1, own->raw, to));
  if (input->augment) dp_augment_run(input->augment, f->loader->options.seed, f->epoch, sample, to, own->scratch);
  if (!dense) put_sample(input, to, at, f->n, target);
  return DP_OK;
}

static dp_status read_inputs(const filling *f, const room *own, int64_t sample, int64_t at) {
  const dp_loader *l = f->loader;
  for (int i = 0; i < l->n_inputs; i++)
    if (l->inputs[i].batch_dim >= 0) DP_TRY(read_sample(f, &l->inputs[i], own, sample, at, f->targets[i]));
  return DP_OK;
}

static void tell_skipped(dp_loader *l, int64_t place, dp_status status) {
  pthread_mutex_lock(&l->mutex);
  if (!atomic_exchange(&l->broken[place], true) && l->options.skipped)
    l->options.skipped(l->options.context, dp_status_message(status));
  pthread_mutex_unlock(&l->mutex);
  dp_status_free(status);
}

// Reads the sample at a place of the part or, if that is broken and is to be skipped, the next that is not.
static dp_status read_place(const filling *f, const room *own, int64_t place, int64_t at) {
  dp_loader *l = f->loader;
  for (int64_t tried = 0; tried < l->samples; tried++, place = place + 1 == l->samples ? 0 : place + 1) {
    if (atomic_load(&l->broken[place])) continue;
    dp_status status = read_inputs(f, own, sample_of(l, place), at);
    if (!status || !l->options.skip_broken || dp_status_code(status) != EX_DATAERR) return status;
    tell_skipped(l, place, status);
  }
  return dp_fail(EX_DATAERR, "all %lld samples have broken records", (long long)l->samples);
}

// Whether places [at, at + count) of the batch are samples that follow each other, which can be read at once.
static bool is_run(const filling *f, int64_t at, int64_t count) {
  const dp_loader *l = f->loader;
  const int64_t first = sample_of(l, l->order[f->first + at]);
  if (l->options.skip_broken) return false;
  for (int64_t i = 1; i < count; i++)
    if (sample_of(l, l->order[f->first + at + i]) != first + i) return false;
  for (int i = 0; i < l->n_inputs; i++)
    if (l->inputs[i].batch_dim >= 0 && (l->inputs[i].augment || !is_dense(&l->inputs[i]))) return false;
  return true;
}

static dp_status read_run(const filling *f, const room *own, int64_t at, int64_t count) {
  const dp_loader *l = f->loader;
  const int64_t first = sample_of(l, l->order[f->first + at]);
  for (int i = 0; i < l->n_inputs; i++) {
    const dp_fitted *data = &l->inputs[i].data;
    char *target = (char *)f->targets[i] + (size_t)at * dp_fitted_sample_bytes(data);
    if (l->inputs[i].batch_dim >= 0) DP_TRY(dp_fitted_read(data, first, count, own->raw, target));
  }
  return DP_OK;
}

static dp_status read_item(const filling *f, const room *own, int64_t at, int64_t count) {
  if (count > 1 && is_run(f, at, count)) return read_run(f, own, at, count);
  for (int64_t i = at; i < at + count; i++) DP_TRY(read_place(f, own, f->loader->order[f->first + i], i));
  return DP_OK;
}

// The failure of the earliest place is the one that is told.
static void fill_item(void *context, int worker, int64_t item) {
  filling *f = context;
  const int64_t at = item * f->at_once;
  dp_status status = read_item(f, &f->loader->rooms[worker], at, dp_min_i64(f->at_once, f->n - at));
  if (!status) return;
  pthread_mutex_lock(&f->loader->mutex);
  if (f->failure && f->failed_at < at) {
    dp_status_free(status);
  } else {
    dp_status_free(f->failure);
    f->failure = status;
    f->failed_at = at;
  }
  pthread_mutex_unlock(&f->loader->mutex);
}

static void shuffle(dp_loader *l, int64_t epoch) {
  if (!l->options.shuffle || l->shuffled_epoch == epoch) return;
  dp_order_permute(l->options.seed, epoch, "dp.shuffle", l->samples, l->order);
  l->shuffled_epoch = epoch;
}

dp_status dp_loader_fill(dp_loader *loader, int64_t position, void *const *targets, int64_t *n) {
  const int64_t step = position % loader->steps, batch = loader->options.batch;
  filling f = {.loader = loader, .epoch = position / loader->steps, .first = step * batch, .targets = targets};
  shuffle(loader, f.epoch);
  f.n = dp_min_i64(batch, loader->samples - f.first);
  f.at_once = at_once(loader, f.n);
  for (int i = 0; i < loader->n_inputs; i++)
    if (loader->whole[i]) memcpy(targets[i], loader->whole[i], dp_loader_input_bytes(loader, i, f.n));
  const int64_t items = (f.n + f.at_once - 1) / f.at_once;
  if (loader->workers)
    dp_workers_run(loader->workers, items, fill_item, &f);
  else
    for (int64_t i = 0; i < items && !f.failure; i++) fill_item(&f, 0, i);
  *n = f.n;
  return f.failure;
}
