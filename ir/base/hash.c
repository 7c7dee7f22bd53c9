// XXH3 behind our own names.
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <xxhash.h>

#include "ir/base/base.h"

uint64_t dp_hash64(const void *data, size_t bytes) { return XXH3_64bits(data, bytes); }

uint32_t dp_hash_name(const char *name) { return (uint32_t)dp_hash64(name, strlen(name)); }

static uint64_t seed;

// Without the system's random numbers, the time and an address say something that files do not know.
static void draw_seed(void) {
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed) return;
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  const uint64_t words[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)(uintptr_t)&now};
  seed = dp_hash64(words, sizeof words);
}

uint64_t dp_hash_table(const void *data, size_t bytes) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, draw_seed);
  return XXH3_64bits_withSeed(data, bytes, seed);
}
