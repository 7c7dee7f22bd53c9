// See order.h.
#include "runtime/data/order.h"

#include <math.h>
#include <stdlib.h>

#include "ir/base/philox.h"

void dp_order_random(uint64_t seed, uint32_t epoch, uint32_t name, uint64_t at, uint32_t out[4]) {
  dp_philox_block(seed, epoch, name, at, out);
}

void dp_order_permute(uint64_t seed, int64_t epoch, const char *name, int64_t count, int64_t *order) {
  const uint32_t hash = dp_hash_name(name);
  for (int64_t i = 0; i < count; i++) order[i] = i;
  for (int64_t i = count - 1; i > 0; i--) {
    uint32_t random[4];
    dp_order_random(seed, (uint32_t)epoch, hash, (uint64_t)i, random);
    const uint64_t r = (uint64_t)random[1] << 32 | random[0];
    const int64_t j = (int64_t)(((unsigned __int128)r * (uint64_t)(i + 1)) >> 64);
    const int64_t swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
}

static int compare(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

int64_t dp_part_count(dp_part part, double share, int64_t samples) {
  const int64_t validation = (int64_t)nearbyint(share * (double)samples);
  return part == DP_PART_ALL ? samples : part == DP_PART_VALIDATION ? validation : samples - validation;
}

void dp_part_choose(dp_part part, double share, uint64_t seed, int64_t samples, int64_t *order) {
  const int64_t validation = dp_part_count(DP_PART_VALIDATION, share, samples);
  dp_order_permute(seed, 0, "dp.validation", samples, order);
  if (part == DP_PART_TRAINING)
    for (int64_t i = validation; i < samples; i++) order[i - validation] = order[i];
  qsort(order, (size_t)dp_part_count(part, share, samples), sizeof *order, compare);
}
