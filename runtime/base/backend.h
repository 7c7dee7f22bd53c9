// What the runtime needs from a backend: memory, kernels, and optionally a detector that watches each step's bytes.
#ifndef DP_RUNTIME_BASE_BACKEND_H
#define DP_RUNTIME_BASE_BACKEND_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

// A range of bytes that a step reads or writes.
typedef struct {
  const char *first;
  uint64_t bytes;
  bool written;
} dp_range;

typedef struct dp_backend {
  const char *name;                                       // "cpu"
  const dp_target *target;                                // its kernels, by the names that plans use
  bool computes;                                          // false: kernels, copies and reductions are skipped
  void *(*allocate)(uint64_t bytes, uint64_t alignment);  // zeroed; NULL when out of memory
  void (*release)(void *memory, uint64_t bytes);
  uint64_t (*resident)(const void *memory,
                       uint64_t bytes);  // how many bytes occupy physical memory now; NULL: all of them
  // Called around every part of every step, by the worker that runs it; NULL: nothing to call. `detector` comes from
  // detector_create, one for each session. All parts of a step pass the same `ranges`.
  void *(*detector_create)(void);
  void (*detector_destroy)(void *detector);
  dp_status (*enter)(void *detector, const dp_range *ranges, int count, int parts);
  void (*leave)(void *detector, const dp_range *ranges, int count);
} dp_backend;

#ifdef __cplusplus
}
#endif
#endif
