// Recognises a file by its first bytes, for messages about a file of the wrong kind.
#ifndef DP_IR_BASE_KIND_H
#define DP_IR_BASE_KIND_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *what;    // "weights (.safetensors)"
  const char *advice;  // what to do with such a file, or how to get the right one; NULL: no advice
} dp_file_kind;

// NULL: unknown. Looks at the first 4,096 bytes at most.
const dp_file_kind *dp_file_kind_of(const uint8_t *data, size_t bytes);
// EX_DATAERR "PATH: expected EXPECTED, but this is ...; ...", or that the kind is unknown.
dp_status dp_file_kind_refuse(const char *path, const uint8_t *data, size_t bytes, const char *expected) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
