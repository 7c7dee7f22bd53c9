// XXH3 behind our own names.
#include <string.h>
#include <xxhash.h>

#include "ir/base/base.h"

uint64_t dp_hash64(const void *data, size_t bytes) { return XXH3_64bits(data, bytes); }

uint32_t dp_hash_name(const char *name) { return (uint32_t)dp_hash64(name, strlen(name)); }
