// What a file is, by its first bytes, for messages about files that were given in place of another kind.
#ifndef DP_IR_BASE_KIND_H
#define DP_IR_BASE_KIND_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *what;    // "weights (.safetensors)"
  const char *advice;  // where such a file goes, or how to make one that does; NULL: there is nothing to say
} dp_file_kind;

// NULL: not known. Looks at the first 4,096 bytes at most.
const dp_file_kind *dp_file_kind_of(const uint8_t *data, size_t bytes);
// EX_DATAERR "PATH: expected EXPECTED, but this is ...; ...", or "..., and this is none" where the kind is not known.
dp_status dp_file_kind_refuse(const char *path, const uint8_t *data, size_t bytes, const char *expected) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
